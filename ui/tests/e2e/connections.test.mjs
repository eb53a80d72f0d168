import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { armed, at, calls, start } from '../harness.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Runs `body` on the page about connections. */
async function connections(body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page: 'connections' } });
  await tab.waitForSelector(at('own'));
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

/** Changes what there is and tells the page. */
async function change(tab, work, ...args) {
  await tab.evaluate(work, ...args);
  await tab.evaluate(() => window.mock.emit({ kind: 'connections-changed' }));
}

/** Lets devices wait: names of functions of tests/mock/connections.ts with the ids of their requests. */
async function wait(tab, ...devices) {
  await change(
    tab,
    (devices) => {
      const made = devices.map(([make, id]) => window.connections[make](id, Date.now()));
      window.mock.gateways.embedded.waiting.push(...made);
    },
    devices,
  );
  for (const [, id] of devices) await tab.waitForSelector(device(id));
}

const device = (id) => `${at('pairing')}[data-id="${id}"]`;
const gateway = (id) => `${at('gateway')}[data-id="${id}"]`;
const letIn = (id) => `${device(id)} ${at('pairing-let-in')}`;

test('a device that waits says who it is and what it could do, and is counted on every page', () =>
  connections(async (tab) => {
    await wait(tab, ['pairing', 'p-1']);
    const text = await tab.textContent(device('p-1'));
    assert.match(text, /Mina’s phone wants to be let in[^]*ios[^]*It was never here[^]*an operator/);
    assert.match(text, /answer it in your place[^]*operator\.approvals[^]*look at what is going on/);
    const first = await tab
      .locator(`${at('content')} section`)
      .first()
      .getAttribute('data-testid');
    assert.equal(first, 'waiting-devices', 'what waits comes first');
    await tab.click(at('nav-inbox'));
    assert.match(await tab.textContent(at('nav-devices')), /1 device waits to be let in/);
  }));

test('a device is let in only by a pointer and after the delay, and refused at once', () =>
  connections(async (tab) => {
    await wait(tab, ['pairing', 'p-1'], ['pairing', 'p-2']);
    assert.equal(await tab.getAttribute(letIn('p-1'), 'data-armed'), 'false');
    await tab.click(letIn('p-1'), { force: true });
    await armed(tab, letIn('p-1'));
    await tab.focus(letIn('p-1'));
    await tab.keyboard.press('Enter');
    await tab.keyboard.press('Space');
    assert.deepEqual(await calls(tab, 'answerPairing'), []);
    await tab.click(letIn('p-1'));
    await tab.waitForSelector(device('p-1'), { state: 'detached' });
    assert.match(await tab.textContent(at('devices')), /Mina’s phone/);
    await tab.click(`${device('p-2')} ${at('pairing-refuse')}`);
    await tab.waitForSelector(at('waiting-devices'), { state: 'detached' });
    assert.deepEqual(await calls(tab, 'answerPairing'), [
      ['p-1', true],
      ['p-2', false],
    ]);
  }));

test('a device that moves up or changes arms again, and so does one that comes into view', () =>
  connections(async (tab) => {
    await wait(tab, ['pairing', 'p-1'], ['pairing', 'p-2']);
    await armed(tab, letIn('p-2'));
    await change(tab, () => window.mock.gateways.embedded.waiting.shift());
    await tab.waitForSelector(`${letIn('p-2')}[data-armed="false"]`);
    await armed(tab, letIn('p-2'));
    await change(tab, () => window.mock.gateways.embedded.waiting[0].scopes.push('operator.admin'));
    await tab.waitForSelector(`${letIn('p-2')}[data-armed="false"]`);
    await armed(tab, letIn('p-2'));
    await tab.locator(at('gateway')).last().scrollIntoViewIfNeeded();
    await tab.waitForSelector(`${letIn('p-2')}[data-armed="false"]`, { state: 'attached' });
  }));

test('what a device calls itself never hides anything and never becomes markup', () =>
  connections(async (tab) => {
    await wait(tab, ['hostilePairing', 'p-1']);
    const text = await tab.textContent(device('p-1'));
    assert.match(text, /U\+202E[^]*<script>alert\(1\)<\/script>U\+0007[^]*Its key may have been copied/);
    assert.match(text, /something that this version does not know[^]*operator\.talk\.secrets/);
    assert.ok(!/[\u202a-\u202e\u0007]/.test(text));
  }));

test('the own gateway says where it is, and its port is checked before it is changed', () =>
  connections(async (tab) => {
    const own = () => tab.textContent(at('own'));
    assert.match(await own(), /open[^]*ws:\/\/127\.0\.0\.1:18790[^]*gateway\/token[^]*OPENCLAW_GATEWAY_TOKEN/);
    await tab.evaluate(() =>
      Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => (window.copied = text) } }),
    );
    await tab.click(at('own-copy-token'));
    assert.match(await tab.evaluate(() => window.copied), /countersign\/gateway\/token$/);
    for (const wrong of ['80', '70000', '', '1.5']) {
      await tab.fill(at('own-port'), wrong);
      assert.match(await own(), /whole number from 1024/);
      assert.ok(await tab.isDisabled(at('own-port-save')), wrong);
    }
    await tab.fill(at('own-port'), '19001');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(`${at('own-address')}:has-text("19001")`);
    assert.deepEqual(await calls(tab, 'setEmbedded'), [[{ enabled: true, port: 19_001 }]]);
    assert.equal(await tab.locator(at('own-port-save')).count(), 0);
  }));

test('beside a port that is not the one in use the page says why', () =>
  connections(async (tab) => {
    assert.equal(await tab.locator(at('own-port-other')).count(), 0);
    await change(tab, () => (window.mock.gateways.embedded.state = { kind: 'serving', url: 'ws://127.0.0.1:40321' }));
    assert.match(await tab.textContent(at('own-port-other')), /serves on 40321 now: .*COUNTERSIGN_GATEWAY_PORT/);
    assert.equal(await tab.inputValue(at('own-port')), '18790');
  }));

test('the own gateway goes off and on, and its switch shows what holds when that failed', () =>
  connections(async (tab) => {
    await tab.check(`${at('own-switch')} [value="off"]`);
    await tab.waitForSelector(`${at('own')}[data-state="off"]`);
    await tab.evaluate(() => window.mock.fail('setEmbedded', 'invalid', 'port 18790 is taken by pid 77'));
    await tab.click(`${at('own-switch')} label:last-child`);
    assert.match(await tab.textContent(at('connections-error')), /port 18790 is taken/);
    await tab.waitForFunction(() => document.querySelector('[data-testid="own-switch"] [value="off"]').checked);
    await change(tab, () => {
      window.mock.gateways.embedded.state = { kind: 'failed', problem: 'address in use' };
    });
    assert.match(await tab.textContent(at('own-failed')), /address in use[^]*another port/);
  }));

test('a device says whether it is connected and what it claims to take as a node', () =>
  connections(async (tab) => {
    const [node, tablet] = await tab.locator(at('device')).allTextContents();
    assert.match(
      node,
      /studio\s+node[^]*· connected[^]*Says it takes system\.run, system\.run\.prepare, system\.which/,
    );
    assert.match(tablet, /operator[^]*· not connected/);
    assert.doesNotMatch(tablet, /Says it takes/);
  }));

test('a device is removed only after a confirmation', () =>
  connections(async (tab) => {
    await tab.locator(at('device-remove')).last().click();
    assert.match(await tab.textContent(at('remove-device-dialog')), /Mina’s tablet[^]*ask to be let in again/);
    await tab.keyboard.press('Escape');
    assert.deepEqual(await calls(tab, 'removeDevice'), []);
    await tab.locator(at('device-remove')).last().click();
    await tab.click(at('remove-device-confirm'));
    await tab.waitForFunction(() => document.querySelectorAll('[data-testid="device"]').length === 1);
  }));

test('gateways say how they are, what they let us do and what is missing', () =>
  connections(async (tab) => {
    const text = (id) => tab.textContent(gateway(id));
    assert.match(
      await text('studio'),
      /connected[^]*2026\.9\.6, protocol 4[^]*640 µs[^]*2 requests[^]*operator\.admin/,
    );
    assert.match(
      await text('harbor-office'),
      /with gaps[^]*24 ms[^]*only to operator\.admin[^]*See approvals that agents/,
    );
    assert.match(await text('garage-pi'), /not connected[^]*openclaw devices approve 7d1c04aa-91f2/);
    assert.match(await tab.textContent(`${gateway('garage-pi')} ${at('remedy-then')}`), /Trying again in 1\d s/);
    assert.match(await text('old-lab'), /off/);
    assert.ok(
      await tab
        .locator(`${at('nav-connections')} svg`)
        .nth(1)
        .isVisible(),
      'a gap is marked in the sidebar',
    );
    await tab.click(`${gateway('garage-pi')} ${at('gateway-retry')}`);
    await tab.waitForSelector(`${gateway('garage-pi')}[data-state="connecting"]`);
    assert.deepEqual(await calls(tab, 'retryGateway'), [['garage-pi']]);
  }));

test('a certificate that is not the pinned one is shown beside it', () =>
  connections(async (tab) => {
    const digits = await tab.evaluate(() => [window.connections.hex('harbor'), window.connections.hex('other')]);
    await change(tab, () => {
      const { gateway, hex } = window.connections;
      const problem = { kind: 'pin-mismatch', found: hex('other') };
      window.mock.gateways.gateways = [gateway('g', { pin: hex('harbor'), state: { kind: 'stopped', problem } })];
    });
    await tab.waitForSelector(`${at('remedy')}[data-kind="pin-mismatch"]`);
    const shown = await tab.locator(at('remedy-pin')).allTextContents();
    assert.deepEqual(
      shown.map((text) => text.replaceAll(' ', '')),
      digits,
    );
    assert.match(await tab.textContent(at('remedy-then')), /not tried again by itself/);
  }));

test('a gateway is added with what was typed, and a refusal is said in the form', () =>
  connections(async (tab) => {
    await tab.click(at('gateway-add'));
    assert.ok(await tab.isDisabled(at('gateway-save')));
    await tab.fill(at('gateway-name'), ' quay ');
    await tab.fill(at('gateway-url'), 'ws://10.20.0.9:18789');
    await tab.fill(at('gateway-secret-value'), 's3cret');
    assert.equal(await tab.getAttribute(at('gateway-secret-value'), 'type'), 'password');
    assert.match(await tab.textContent(at('gateway-dialog')), /From release 2026\.5 on[^]*operator\.admin/);
    await tab.evaluate(() => {
      const mistake = { field: 'address', expected: { kind: 'encrypted' } };
      window.mock.fail('saveGateway', 'invalid', 'ws:// only reaches this machine; use wss://', mistake);
    });
    await tab.click(at('gateway-save'));
    assert.match(await tab.textContent(at('gateway-wrong-address')), /Use an encrypted address/);
    assert.equal(await tab.getAttribute(at('gateway-url'), 'aria-invalid'), 'true');
    assert.equal(await tab.locator(at('gateway-error')).count(), 0, 'it is said at its field');
    assert.equal(await tab.locator(at('connections-error')).count(), 0, 'it is said once');
    await tab.fill(at('gateway-url'), 'wss://10.20.0.9:18789');
    await tab.check(at('gateway-agents'));
    await tab.check(at('gateway-nodes'));
    await tab.fill(at('gateway-session'), 'deploy');
    await tab.focus(at('gateway-session'));
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('gateway-dialog'), { state: 'detached' });
    const [edit] = (await calls(tab, 'saveGateway')).at(-1);
    assert.deepEqual(edit, {
      name: 'quay',
      url: 'wss://10.20.0.9:18789',
      enabled: true,
      seesAgents: true,
      runsOnNodes: true,
      secretKind: 'token',
      secret: { kind: 'set', value: 's3cret' },
      sessionFilter: 'deploy',
    });
    assert.ok(!(await tab.content()).includes('s3cret'));
  }));

test('a secret is kept unless another is given, and is never shown', () =>
  connections(async (tab) => {
    await tab.click(`${gateway('harbor-office')} ${at('gateway-edit')}`);
    assert.ok(await tab.isChecked(at('gateway-secret-keep')));
    assert.equal(await tab.locator(at('gateway-secret-value')).count(), 0);
    await tab.fill(at('gateway-name'), 'harbour');
    await tab.click(at('gateway-save'));
    await tab.waitForSelector(`${gateway('harbor-office')}:has-text("harbour")`);
    await tab.click(`${gateway('harbor-office')} ${at('gateway-edit')}`);
    for (const kind of ['open-claw', 'clear']) await tab.check(at(`gateway-secret-${kind}`));
    await tab.check(`${at('gateway-secret-kind')} [value="password"]`);
    await tab.uncheck(at('gateway-enabled'));
    await tab.fill(at('gateway-pin'), '');
    await tab.click(at('gateway-save'));
    await tab.waitForSelector(`${gateway('harbor-office')}[data-state="off"]`);
    const [[first], [second]] = await calls(tab, 'saveGateway');
    assert.deepEqual([first.id, first.secret, first.pin.length], ['harbor-office', { kind: 'keep' }, 64]);
    assert.deepEqual([second.secret, second.secretKind, second.pin], [{ kind: 'clear' }, 'password', undefined]);
  }));

test('a gateway is removed only after a confirmation, and the last one leaves what to do next', () =>
  connections(async (tab) => {
    const count = () => tab.locator(at('gateway')).count();
    for (let left = 4; left > 0; left -= 1) {
      assert.equal(await count(), left);
      await tab.locator(at('gateway-remove')).first().click();
      await tab.click(at('remove-gateway-confirm'));
      await tab.waitForSelector(at('remove-gateway-dialog'), { state: 'detached' });
    }
    assert.match(await tab.textContent(at('empty')), /No other gateway[^]*Connect OpenClaw’s gateway/);
    await tab.click(at('empty-add'));
    await tab.waitForSelector(at('gateway-dialog'));
  }));

test('a form whose gateway vanished meanwhile saves nothing', () =>
  connections(async (tab) => {
    await tab.click(`${gateway('studio')} ${at('gateway-edit')}`);
    await change(tab, () => window.mock.gateways.gateways.shift());
    await tab.waitForSelector(at('gateway-gone'));
    assert.ok(await tab.isDisabled(at('gateway-save')));
  }));
