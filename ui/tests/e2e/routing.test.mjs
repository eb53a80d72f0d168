import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { armed, at, calls, start } from '../harness.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Runs `body` on the section about where commands run. */
async function routing(body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page: 'connections' } });
  await tab.waitForSelector(at('sessions'));
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

async function change(tab, work) {
  await tab.evaluate(work);
  await tab.evaluate(() => window.mock.emit({ kind: 'connections-changed' }));
}

const route = (agent) => `${at('route')}[data-agent="${agent}"]`;
const session = (name) => `${at('session')}[data-session="${name}"]`;

test('each agent says where its commands run and who says so', () =>
  routing(async (tab) => {
    const text = (agent) => tab.textContent(route(agent));
    assert.match(await text(''), /All agents[^]*a sandbox[^]*built in[^]*allowlist, ask on miss/);
    assert.match(await text('coder'), /the node Studio[^]*this agent/);
    assert.match(await text('main'), /this machine[^]*deny[^]*Choose what may run/);
    assert.match(await tab.textContent(at('routing-sandbox')), /Bubblewrap,\s+without the network/);
    await change(tab, () => {
      window.mock.routes.sandbox.missing = 'expected bwrap in /usr/bin, found none; install it';
      window.mock.routes.scopes[0].effective.problem = 'exec host=sandbox requires a sandbox runtime';
    });
    await tab.waitForSelector(at('routing-no-sandbox'));
    assert.match(await text(''), /requires a sandbox runtime/);
  }));

test('leaving the sandbox is confirmed before it holds, and staying is one click', () =>
  routing(async (tab) => {
    await tab.click(`${route('')} ${at('route-change')}`);
    await tab.check(`${at('route-host')} [value="gateway"]`);
    await tab.check(`${at('route-security')} [value="allowlist"]`);
    await tab.click(at('route-save'));
    await tab.waitForSelector(at('confirm-loosening'));
    assert.match(await tab.textContent(at('loosening')), /All agents: .*a sandbox.*this machine/);
    assert.ok(await tab.isDisabled(at('loosen-apply')), 'it arms only after it was in view');
    await tab.click(at('loosen-keep'));
    assert.match(await tab.textContent(route('')), /a sandbox/);
    await tab.click(`${route('')} ${at('route-change')}`);
    await tab.check(`${at('route-host')} [value="gateway"]`);
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(`${at('loosen-apply')}:not([disabled])`);
    await armed(tab, at('loosen-apply'));
    await tab.click(at('loosen-apply'));
    await tab.waitForSelector(at('confirm-loosening'), { state: 'detached' });
    await tab.waitForFunction((one) => document.querySelector(one)?.textContent?.includes('this machine'), route(''));
    const edits = (await calls(tab, 'setRoute')).map(([edit]) => edit);
    assert.deepEqual(
      edits.map(({ confirmed }) => confirmed),
      [false, false, true],
    );
    assert.deepEqual(edits[0].setting, { host: 'gateway', security: 'allowlist' });
    assert.equal(await tab.locator(at('route-dialog')).count(), 0);
  }));

test('another agent is bound to a node that is known', () =>
  routing(async (tab) => {
    await tab.click(at('route-add'));
    assert.ok(await tab.isDisabled(at('route-save')));
    await tab.fill(at('route-agent'), 'broken');
    await tab.selectOption(at('route-node'), 'b7e4');
    await tab.click(at('route-save'));
    assert.match(await tab.textContent(at('route-error')), /expected another one/);
    await tab.fill(at('route-agent'), ' writer ');
    await tab.click(at('route-save'));
    await tab.waitForSelector(at('route-dialog'), { state: 'detached' });
    await tab.waitForSelector(route('writer'));
    const edits = await calls(tab, 'setRoute');
    assert.deepEqual(edits.at(-1)[0], { baseHash: 'h1', agent: 'writer', setting: { node: 'b7e4' }, confirmed: false });
  }));

test('sessions with settings of their own are listed and revoked', () =>
  routing(async (tab) => {
    assert.match(
      await tab.textContent(session('release')),
      /main[^]*place: this machine[^]*until revoked[^]*asking: always[^]*next run only[^]*can only harden/,
    );
    await tab.click(`${session('agent:coder:night')} ${at('session-revoke')}`);
    await tab.waitForSelector(session('agent:coder:night'), { state: 'detached' });
    await tab.click(`${session('release')} ${at('session-revoke')}`);
    await tab.waitForSelector(`${at('loosen-apply')}:not([disabled])`);
    assert.match(await tab.textContent(at('loosening')), /Agent main · release: asking you goes from “always”/);
    await armed(tab, at('loosen-apply'));
    await tab.click(at('loosen-apply'));
    await tab.waitForSelector(session('release'), { state: 'detached' });
    assert.match(await tab.textContent(at('sessions')), /No session has settings of its own/);
  }));

test('a file that is not understood is said, and nothing can be changed', () =>
  routing(async (tab) => {
    await change(tab, () => {
      window.mock.routes.broken = 'tools.json: tools.exec.host: expected auto, got "moon"';
      window.mock.routes.scopes = [];
    });
    await tab.waitForSelector(at('routing-broken'));
    assert.ok(await tab.isDisabled(at('route-add')));
    assert.equal(await tab.locator(at('route')).count(), 0);
  }));

for (const options of [{ theme: 'light' }, { theme: 'dark' }, { language: 'ko', width: 420 }]) {
  test(`nothing is in the way of anybody: ${JSON.stringify(options)}`, () =>
    routing(async (tab) => {
      const check = async () => {
        await tab.evaluate(AXE);
        const found = await tab.evaluate(() => window.axe.run({ resultTypes: ['violations'] }));
        assert.deepEqual(
          found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`),
          [],
        );
      };
      await check();
      await tab.click(`${route('coder')} ${at('route-change')}`);
      await tab.waitForSelector(at('route-dialog'));
      await check();
    }, options));
}
