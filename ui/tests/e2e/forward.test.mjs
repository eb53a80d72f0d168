import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { at, calls, start } from '../harness.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Runs `body` on the section about handing on. */
async function handOn(body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page: 'connections' } });
  await tab.waitForSelector(at('forward'));
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

async function change(tab, work, ...args) {
  await tab.evaluate(work, ...args);
  await tab.evaluate(() => window.mock.emit({ kind: 'connections-changed' }));
}

const target = (id) => `${at('target')}[data-id="${id}"]`;

test('targets say where they are and how it goes there', () =>
  handOn(async (tab) => {
    const text = (id) => tab.textContent(target(id));
    assert.match(
      await text('Team channel'),
      /Webhook[^]*hooks\.harbor\.example[^]*delivered[^]*signature[^]*214 delivered/,
    );
    assert.match(
      await text('Desk light'),
      /desk-light[^]*trying again[^]*--colour\namber[^]*3 waiting[^]*no such device/,
    );
    assert.match(await text('Harbor office'), /only a denial from there[^]*An allow given there did not count/);
    assert.match(await tab.textContent(at('forward-filters')), /Only agents main, coder/);
    await change(tab, () => {
      const [first] = window.mock.gateways.forward.targets;
      first.now = { ...first.now, failed: 4, dropped: 17, failure: { atMs: 1, text: 'got 404', retries: false } };
    });
    await tab.waitForSelector(`${target('Team channel')}[data-state="failed"]`);
    assert.match(await text('Team channel'), /4 given up[^]*17 dropped, too many waited[^]*given up; the next one/);
  }));

test('a webhook is added with a secret that never comes back', () =>
  handOn(async (tab) => {
    await tab.click(at('target-add'));
    assert.ok(await tab.isDisabled(at('target-save')));
    await tab.fill(at('target-name'), 'phone');
    await tab.fill(at('target-url'), 'https://push.example/x');
    await tab.check(`${at('target-auth')} [value="bearer"]`);
    assert.ok(await tab.isDisabled(at('target-save')), 'it is to be known by something');
    await tab.fill(at('target-secret-value'), 'hunter2');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('target-dialog'), { state: 'detached' });
    const place = { kind: 'webhook', url: 'https://push.example/x', auth: 'bearer' };
    assert.deepEqual(await calls(tab, 'saveForwardTarget'), [
      [{ name: 'phone', enabled: true, place, secret: { kind: 'set', value: 'hunter2' } }],
    ]);
    await tab.locator(at('target-edit')).last().click();
    assert.ok(await tab.isChecked(at('target-secret-keep')));
    assert.equal(await tab.locator(at('target-secret-value')).count(), 0);
    assert.ok(!(await tab.content()).includes('hunter2'));
    await tab.keyboard.press('Escape');
    await tab.waitForSelector(at('target-dialog'), { state: 'detached' });
  }));

test('what is wrong is said at its field, and the form stays', () =>
  handOn(async (tab) => {
    await tab.click(at('target-add'));
    await tab.fill(at('target-name'), 'light');
    await tab.check(`${at('target-kind')} [value="command"]`);
    await tab.fill(at('target-program'), 'notify-send');
    await tab.fill(at('target-arguments'), '--urgent\n a b ');
    await tab.click(at('target-save'));
    assert.match(await tab.textContent(at('target-wrong-program')), /Write the whole path of the program/);
    assert.equal(await tab.getAttribute(at('target-program'), 'aria-invalid'), 'true');
    assert.equal(await tab.locator(at('connections-error')).count(), 0);
    await tab.fill(at('target-program'), '/usr/bin/notify-send');
    await tab.click(at('target-save'));
    await tab.waitForSelector(at('target-dialog'), { state: 'detached' });
    const [, [edit]] = await calls(tab, 'saveForwardTarget');
    assert.deepEqual(edit.place, { kind: 'command', argv: ['/usr/bin/notify-send', '--urgent', ' a b '] });
  }));

test('a gateway may only deny unless it is said otherwise', () =>
  handOn(async (tab) => {
    await tab.click(at('target-add'));
    await tab.fill(at('target-name'), 'team');
    await tab.check(`${at('target-kind')} [value="gateway"]`);
    assert.ok(!(await tab.isChecked(at('target-may-allow'))));
    assert.match(await tab.textContent(at('target-dialog')), /can let commands run on this machine/);
    await tab.selectOption(at('target-gateway'), 'garage-pi');
    await tab.click(at('target-save'));
    await tab.waitForSelector(at('target-dialog'), { state: 'detached' });
    const [[edit]] = await calls(tab, 'saveForwardTarget');
    assert.deepEqual(edit.place, { kind: 'gateway', gateway: 'garage-pi', mayAllow: false });
  }));

test('a sample says what came of it', () =>
  handOn(async (tab) => {
    await tab.click(`${target('Team channel')} ${at('target-sample')}`);
    assert.match(await tab.textContent(`${target('Team channel')} ${at('target-sampled')}`), /arrived after 87 ms/);
    await tab.click(`${target('Desk light')} ${at('target-sample')}`);
    const failed = await tab.textContent(`${target('Desk light')} ${at('target-sampled')}`);
    assert.match(failed, /did not arrive:[^]*no such device/);
  }));

test('filters and mode are changed together, and the switch shows what holds when that failed', () =>
  handOn(async (tab) => {
    await tab.click(at('filter-edit'));
    await tab.fill(at('filter-agents'), 'coder\n\n');
    await tab.fill(at('filter-sessions'), '^agent:coder');
    await tab.check(`${at('filter-mode')} [value="session"]`);
    assert.match(await tab.textContent(at('filter-dialog')), /nothing is handed on/);
    await tab.click(at('filter-save'));
    await tab.waitForSelector(at('forward-session'));
    const settings = { mode: 'session', agentFilter: ['coder'], sessionFilter: ['^agent:coder'] };
    assert.deepEqual(await calls(tab, 'setForward'), [[{ enabled: true, ...settings }]]);
    await tab.evaluate(() => window.mock.fail('setForward', 'store', 'disk full'));
    await tab.click(`${at('forward-switch')} label:first-child`);
    assert.match(await tab.textContent(at('connections-error')), /disk full/);
    await tab.waitForSelector(`${at('forward-switch')} label:last-child input:checked`, { state: 'attached' });
    await tab.check(`${at('forward-switch')} [value="off"]`);
    await tab.waitForSelector(`${at('forward-filters')}:has-text("Nothing is handed on")`);
  }));

test('a target is removed only after a confirmation, and none is an invitation', () =>
  handOn(async (tab) => {
    for (let left = 3; left > 0; left -= 1) {
      await tab.locator(at('target-remove')).first().click();
      await tab.keyboard.press('Escape');
      assert.equal(await tab.locator(at('target')).count(), left);
      await tab.locator(at('target-remove')).first().click();
      await tab.click(at('remove-target-confirm'));
      await tab.waitForFunction(
        (left) => document.querySelectorAll('[data-testid="target"]').length === left - 1,
        left,
      );
    }
    assert.match(await tab.textContent(at('forward')), /No targets[^]*hears of every request/);
  }));

test('a file that cannot be understood is said, and nothing can be changed', () =>
  handOn(async (tab) => {
    await change(tab, () => {
      const broken = '/home/mina/.config/countersign/forward.json cannot be understood';
      window.mock.gateways.forward = { ...window.mock.gateways.forward, enabled: false, targets: [], broken };
    });
    await tab.waitForSelector(at('forward-broken'));
    for (const button of ['target-add', 'filter-edit']) assert.ok(await tab.isDisabled(at(button)));
  }));

test('everything is reached by keyboard and nothing is wider than the window', () =>
  handOn(
    async (tab) => {
      await tab.focus(at('target-add'));
      await tab.keyboard.press('Enter');
      await tab.waitForSelector(at('target-dialog'));
      assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'target-name');
      await tab.keyboard.press('Escape');
      await tab.focus(`${target('Team channel')} ${at('target-sample')}`);
      await tab.keyboard.press('Space');
      await tab.waitForSelector(at('target-sampled'));
      assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    },
    { width: 360, height: 300 },
  ));

test('neither the section nor its forms break a rule of accessibility', () =>
  handOn(async (tab) => {
    await tab.evaluate(AXE);
    const violations = (within) =>
      tab.evaluate(async (within) => (await window.axe.run(within)).violations.map(({ id }) => id), within);
    assert.deepEqual(await violations(at('forward')), []);
    for (const [button, dialog] of [
      [`${target('Team channel')} ${at('target-edit')}`, 'target-dialog'],
      [`${target('Desk light')} ${at('target-edit')}`, 'target-dialog'],
      [`${target('Harbor office')} ${at('target-edit')}`, 'target-dialog'],
      [at('filter-edit'), 'filter-dialog'],
    ]) {
      await tab.click(button);
      await tab.waitForSelector(at(dialog));
      assert.deepEqual(await violations(at(dialog)), [], button);
      await tab.keyboard.press('Escape');
      await tab.waitForSelector(at(dialog), { state: 'detached' });
    }
  }));
