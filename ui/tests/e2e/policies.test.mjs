import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { armed, at, calls, start } from '../harness.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

const key = (gateway, node = null) => JSON.stringify([gateway, node]);

/** Runs `body` on a page with the documents of several machines. */
async function page(name, body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page: name } });
  await tab.waitForSelector(at('store'));
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

async function choose(tab, gateway, node) {
  await tab.selectOption(at('store'), key(gateway, node));
}

test('every document is listed with its state, this machine’s first, and the one that decides is marked', () =>
  page('policy', async (tab) => {
    const options = await tab.locator(`${at('store')} option`).allTextContents();
    assert.deepEqual(options, [
      'This machine',
      'studio',
      'studio › kitchen-pi',
      'studio › mac-mini',
      'studio › old-nas (not connected)',
      'harbor-office (not permitted)',
      'garage-pi (not connected)',
      'old-lab (off)',
    ]);
    const decides = () => tab.textContent(at('store-decides'));
    assert.match(await decides(), /Decides: what runs on this machine/);
    await choose(tab, 'studio');
    assert.match(await decides(), /gateway’s own machine[^]*stricter of both/);
    await choose(tab, 'studio', 'kitchen-pi');
    assert.match(await decides(), /Decides: what runs on this node[^]*stricter of both/);
    await choose(tab, 'studio', 'mac-mini');
    assert.match(await decides(), /Not certain:[^]*not known/);
    await choose(tab, 'studio', 'old-nas');
    assert.match(await decides(), /may allow more/);
  }));

test('a document is chosen with the keyboard alone', () =>
  page('policy', async (tab) => {
    await tab.focus(at('store'));
    await tab.keyboard.press('ArrowDown');
    await tab.waitForSelector(`${at('store-decides')}[data-reach="gateway-host"]`);
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'store');
    await tab.keyboard.press('Tab');
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'store-again');
  }));

test('a change of a gateway’s policy goes there, and what loosens is confirmed first', () =>
  page('policy', async (tab) => {
    await choose(tab, 'studio');
    await tab.waitForSelector(`${at('result-security')}:has-text("allowlist")`);
    await tab.evaluate(
      () => (window.mock.loosens = [{ scope: '*', field: 'security', from: 'allowlist', to: 'full' }]),
    );
    await tab.check(`${at('scopes')} [value="*"]`);
    await tab.check(`${at('switch-security')} [value="full"]`);
    await tab.click(at('draft-apply'));
    await tab.waitForSelector(at('confirm-loosening'));
    assert.equal(await tab.textContent(at('loosen-of')), 'Document of studio');
    assert.match(await tab.textContent(at('loosening')), /All agents: anything may run\./);
    await armed(tab, at('loosen-apply'));
    await tab.click(at('loosen-apply'));
    await tab.waitForSelector(at('applied'));
    const edits = await calls(tab, 'editPolicy');
    assert.deepEqual(
      edits.map(([{ place, baseHash, confirmed }]) => [place, baseHash, confirmed]),
      [
        [{ gateway: 'studio' }, 'hash-studio', false],
        [{ gateway: 'studio' }, 'hash-studio', true],
      ],
    );
    assert.deepEqual(await calls(tab, 'editDocument'), []);
  }));

test('a draft survives a change by others and a look at another document', () =>
  page('policy', async (tab) => {
    await choose(tab, 'studio');
    await tab.check(`${at('switch-ask')} [value="always"]`);
    await tab.selectOption(at('store'), 'local');
    await tab.waitForSelector(at('draft'), { state: 'detached' });
    await choose(tab, 'studio');
    await tab.evaluate((key) => (window.mock.farReads[key].document.hash = 'newer'), key('studio'));
    await tab.click(at('draft-apply'));
    await tab.waitForSelector(at('document-error'));
    assert.match(await tab.textContent(at('document-error')), /changed meanwhile/);
    assert.match(await tab.textContent(at('draft')), /Defaults, Ask: not set → always/);
    await tab.click(at('draft-apply'));
    await tab.waitForSelector(at('applied'));
  }));

test('what cannot be had says why and what helps, and nothing is written', () =>
  page('policy', async (tab) => {
    for (const [place, kind, words] of [
      [['harbor-office'], 'not-permitted', /operator\.admin[^]*See approvals that agents raise/],
      [['garage-pi'], 'not-connected', /not connected[^]*Connections/],
      [['old-lab'], 'off', /switched off[^]*Connections/],
      [['studio', 'old-nas'], 'not-connected', /node is not connected to its gateway/],
    ]) {
      await choose(tab, ...place);
      await tab.waitForSelector(`${at('store-access-kind')}[data-kind="${kind}"]`);
      assert.match(await tab.textContent(at('store-access')), words);
      assert.equal(await tab.locator(at('switch-security')).count(), 0);
    }
    for (const [access, words] of [
      [{ kind: 'refused', text: 'no such method' }, /It says:[^]*no such method/],
      [{ kind: 'no-answer', seconds: 15 }, /within 15 s/],
      [{ kind: 'malformed', text: 'file: expected an object' }, /no document[^]*file: expected an object/],
      [{ kind: 'not-offered' }, /does not tell its policy/],
      [{ kind: 'gone' }, /no such gateway or node/],
    ]) {
      await tab.evaluate(
        ([key, access]) => (window.mock.farReads[key] = window.policies.unavailable(access)),
        [key('studio', 'old-nas'), access],
      );
      await tab.click(at('store-again'));
      await tab.waitForSelector(`${at('store-access-kind')}[data-kind="${access.kind}"]`);
      assert.match(await tab.textContent(at('store-access')), words);
    }
    await choose(tab, 'harbor-office');
    await tab.click(at('store-connections'));
    await tab.waitForSelector(at('own'));
  }));

test('a gateway that is lost leaves what it said last, and comes back by itself', () =>
  page('policy', async (tab) => {
    await choose(tab, 'studio');
    await tab.check(`${at('switch-ask')} [value="always"]`);
    const lose = (access) =>
      tab.evaluate(
        ([key, access]) => {
          window.mock.farReads[key].access = access;
          const [gateway] = window.mock.gateways.gateways;
          gateway.state =
            access.kind === 'open' ? { kind: 'connected', link: window.mock.link } : { kind: 'connecting' };
          window.mock.emit({ kind: 'connections-changed' });
        },
        [key('studio'), access],
      );
    await tab.evaluate((key) => {
      window.mock.link = window.mock.gateways.gateways[0].state.link;
      window.mock.kept = window.mock.farReads[key].document;
      window.mock.farReads[key].document = undefined;
    }, key('studio'));
    await lose({ kind: 'not-connected' });
    await tab.waitForSelector(at('store-access'));
    assert.match(await tab.textContent(at('store-access')), /what it said last/);
    assert.ok(await tab.isDisabled(at('draft-apply')));
    await tab.evaluate((key) => (window.mock.farReads[key].document = window.mock.kept), key('studio'));
    await lose({ kind: 'open' });
    await tab.waitForSelector(at('store-access'), { state: 'detached' });
    assert.ok(!(await tab.isDisabled(at('draft-apply'))));
  }));

test('rules of a node’s own kind, switched off ones, and a document without a hash can only be looked at', () =>
  page('policy', async (tab) => {
    await choose(tab, 'studio', 'mac-mini');
    assert.match(await tab.textContent(at('native')), /Where no rule fits: ask[^]*git status\*[^]*allow[^]*12 more/);
    assert.match(await tab.textContent(at('store-read-only')), /only be looked at/);
    for (const [kind, words] of [
      ['no-hash', /without a hash/],
      ['not-taken', /takes no changes/],
    ]) {
      await tab.evaluate(
        ([key, kind]) => (window.mock.farReads[key].readOnly = { kind }),
        [key('studio', 'kitchen-pi'), kind],
      );
      await choose(tab, 'studio', 'mac-mini');
      await choose(tab, 'studio', 'kitchen-pi');
      await tab.waitForSelector(`${at('store-read-only')}:has-text("${kind === 'no-hash' ? 'hash' : 'takes'}")`);
      assert.match(await tab.textContent(at('store-read-only')), words);
      assert.ok(await tab.isDisabled(`${at('switch-security')} [value="full"]`));
    }
    await tab.evaluate(
      (key) => {
        const text = {
          spans: [
            { kind: 'plain', text: 'off ' },
            { kind: 'escape', text: 'U+202E' },
          ],
        };
        window.mock.farReads[key] = {
          ...window.policies.unavailable({ kind: 'open' }),
          readOnly: { kind: 'disabled', text },
        };
      },
      key('studio', 'kitchen-pi'),
    );
    await tab.click(at('store-again'));
    await tab.waitForSelector(`${at('store-read-only')}:has-text("switched off")`);
    assert.match(await tab.textContent(at('store-read-only')), /off U\+202E/);
  }));

test('an unreadable document, a guess and this machine’s own are told as such', () =>
  page('policy', async (tab) => {
    await tab.evaluate((key) => {
      window.mock.farReads[key].builtInKnown = false;
      window.mock.farReads[key].isLocal = true;
    }, key('studio'));
    await choose(tab, 'studio');
    await tab.waitForSelector(at('store-guesses'));
    await tab.waitForSelector(at('store-is-local'));
    await tab.evaluate((key) => {
      window.mock.farReads[key].document.state = { kind: 'unreadable', problem: 'version: expected 1' };
    }, key('studio'));
    await tab.click(at('store-again'));
    await tab.waitForSelector(at('document-unreadable'));
    assert.match(await tab.textContent(at('document-unreadable')), /writes nothing there[^]*version: expected 1/);
    assert.ok(await tab.isDisabled(`${at('switch-security')} [value="full"]`));
  }));

test('names of another machine hide nothing and become no markup', () =>
  page('policy', async (tab) => {
    await tab.evaluate((key) => {
      window.mock.farReads[key] = window.policies.read(window.policies.hostile());
      const [first] = window.mock.farStores.stores;
      first.name = {
        spans: [
          { kind: 'plain', text: '<b>x</b>' },
          { kind: 'escape', text: 'U+202E' },
        ],
      };
      first.nodesUnknown = 'no';
    }, key('studio'));
    await choose(tab, 'studio');
    await tab.click(at('store-again'));
    await tab.waitForSelector(at('nodes-unknown'));
    await tab
      .locator(`${at('scopes')} input`)
      .last()
      .check();
    const text = await tab.textContent(at('content'));
    assert.match(text, /<b>x<\/b>U\+202E/);
    assert.ok(!/[\u202a-\u202e]/.test(text));
    assert.match(await tab.textContent(at('effective')), /Agent mа\[U\+0430\]inU\+202E<b>x<\/b>/);
    await tab.click(at('nav-allowlist'));
    await tab.waitForSelector(at('store'));
    await tab
      .locator(`${at('scopes')} input`)
      .nth(1)
      .check();
    const labels = await tab.locator(at('entry-edit')).first().getAttribute('aria-label');
    assert.match(labels, /U\+202E/);
    assert.ok(!/[\u202a-\u202e]/.test(await tab.textContent(at('content'))));
  }));

test('entries of a node are added, taken back, and tried on this machine’s document only', () =>
  page('allowlist', async (tab) => {
    await choose(tab, 'studio', 'kitchen-pi');
    await tab.waitForSelector(`${at('entry')}:has-text("ls")`);
    await tab.waitForSelector(at('no-test'));
    assert.equal(await tab.locator(at('test-panel')).count(), 0);
    await tab.click(at('entry-add'));
    await tab.fill(at('entry-pattern'), '/usr/bin/rg');
    await tab.click(at('entry-save'));
    await tab.waitForSelector(`${at('entry')}:has-text("/usr/bin/rg")`);
    await tab.click(at('undo'));
    await tab.waitForSelector(`${at('entry')}:has-text("/usr/bin/rg")`, { state: 'detached' });
    const places = (await calls(tab, 'editPolicy')).map(([{ place }]) => place);
    assert.deepEqual(places, Array(2).fill({ gateway: 'studio', node: 'kitchen-pi' }));
    await tab.selectOption(at('store'), 'local');
    await tab.waitForSelector(at('test-panel'));
    assert.ok(await tab.isDisabled(at('undo')), 'each document has its own steps back');
  }));

test('without other gateways there is nothing to choose', async () => {
  const start = { farStores: { stores: [], leftOut: 0 } };
  const tab = await browser.open('main', { width: 1160, height: 800, start, query: { page: 'policy' } });
  await tab.waitForSelector(at('effective'));
  await tab.waitForFunction(() => window.mock.calls.some(({ name }) => name === 'policies'));
  assert.equal(await tab.locator(at('stores')).count(), 0);
  await tab.done();
});

test('what runs beside the entries is shown for this machine alone', () =>
  page('policy', async (tab) => {
    const text = await tab.textContent(at('beside'));
    assert.match(text, /Every other agent[^]*head[^]*\/usr\/bin[^]*Covered by the interpreter’s entry/);
    assert.match(await tab.locator(at('beside-scope')).nth(1).textContent(), /coder[^]*None[^]*Asked about/);
    assert.match(await tab.textContent(at('beside-problems')), /Counts for nothing:[^]*rm counts for nothing/);
    await choose(tab, 'studio', 'kitchen-pi');
    await tab.waitForSelector(at('beside'), { state: 'detached' });
  }));
