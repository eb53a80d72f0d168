import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { add, at, calls, shows, start } from '../harness.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Runs `body` on the sections about companion clients and pet servers. */
async function pets(body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page: 'connections' } });
  await tab.waitForSelector(at('pet-sources'));
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

async function change(tab, work, ...args) {
  await tab.evaluate(work, ...args);
  await tab.evaluate(() => window.mock.emit({ kind: 'connections-changed' }));
}

/** Keeps what is copied instead of the desktop's clipboard. */
const clipboard = (tab) =>
  tab.evaluate(() =>
    Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => (window.copied = text) } }),
  );

/** Presses Tab until the focus is at `id`; what it passed on the way. */
async function tabTo(tab, id, most = 40) {
  for (let count = 0; count < most; count += 1) {
    await tab.keyboard.press('Tab');
    if ((await tab.evaluate(() => document.activeElement?.dataset.testid)) === id) return;
  }
  assert.fail(`expected ${id} within ${most} steps of Tab`);
}

const DESK = 'agent:main:pet:mochi:desk';
const session = (id) => `${at('pet-session')}[data-id="${id}"]`;
const choice = (id) => `${at('pet-choice')}[data-id="${id}"]`;
const source = (id) => `${at('pet-source')}[data-id="${id}"]`;

test('the channel is off until it is turned on, and says what its token is good for', () =>
  pets(async (tab) => {
    await change(tab, () => {
      const { pets } = window.mock.gateways;
      pets.server = { enabled: false, tokenFile: pets.server.tokenFile, sessions: [] };
    });
    await tab.waitForSelector(`${at('pet-server')}[data-state="off"]`);
    const text = () => tab.textContent(at('pet-server'));
    assert.match(await text(), /No companion client can connect[^]*Whoever has its token may answer[^]*no others/);
    assert.equal(await tab.locator(`${at('pet-address')}, ${at('pet-sessions')}`).count(), 0);
    await tab.click(`${at('pet-switch')} label:last-child`);
    await tab.waitForSelector(`${at('pet-server')}[data-state="serving"]`);
    assert.deepEqual(await calls(tab, 'setPetServer'), [[true]]);
    assert.match(await text(), /open[^]*ws:\/\/127\.0\.0\.1:18790\/ws[^]*\?sessionId=[^]*pet-token/);
    assert.match(await tab.textContent(at('pet-sessions')), /None at the moment/);
    await tab.click(`${at('pet-switch')} label:first-child`);
    await tab.waitForSelector(`${at('pet-server')}[data-state="off"]`);
    assert.deepEqual(await calls(tab, 'setPetServer'), [[true], [false]]);
  }));

test('while the own gateway is off the channel says so instead of an address', () =>
  pets(async (tab) => {
    await change(tab, () => delete window.mock.gateways.pets.server.address);
    assert.match(await tab.textContent(at('pet-blocked')), /own gateway is not open/);
    assert.equal(await tab.locator(at('pet-address')).count(), 0);
    assert.match(await tab.textContent(at('pet-server')), /not open[^]*pet-token/);
  }));

test('address and token file are copied as they are shown', () =>
  pets(async (tab) => {
    await clipboard(tab);
    await tab.click(at('pet-copy-address'));
    assert.equal(await tab.evaluate(() => window.copied), await tab.textContent(at('pet-address')));
    await tab.click(at('pet-copy-token'));
    assert.equal(
      await tab.evaluate(() => window.copied),
      await tab.evaluate(() => window.mock.gateways.pets.server.tokenFile),
    );
  }));

test('a client shows what waits for it and can be disconnected', () =>
  pets(async (tab) => {
    assert.match(await tab.textContent(session(DESK)), /12 minutes ago · 1 call waits[^]*remembers 2 choices/);
    assert.match(await tab.textContent(session('tray-widget')), /nothing waits/);
    await tab.click(`${session(DESK)} ${at('pet-disconnect')}`);
    await tab.waitForSelector(session(DESK), { state: 'detached' });
    assert.deepEqual(await calls(tab, 'disconnectPet'), [[DESK]]);
    assert.equal(await tab.locator(at('pet-session')).count(), 1);
  }));

test('a remembered choice is a line, is whole on demand, and is taken back alone', () =>
  pets(async (tab) => {
    assert.match(await tab.textContent(choice('c-1')), /approved[^]*exec[^]*git status --short/);
    assert.match(await tab.textContent(choice('c-2')), /denied[^]*write_file[^]*today\.md/);
    assert.equal(await tab.locator(at('pet-choice-whole')).count(), 0);
    await tab.click(`${choice('c-2')} summary`);
    const whole = await tab.textContent(`${choice('c-2')} ${at('pet-choice-whole')}`);
    assert.equal(whole, '{"content":"buy milk\\n","path":"/home/mina/notes/today.md"}');
    await tab.click(`${choice('c-1')} ${at('pet-forget')}`);
    await tab.waitForSelector(choice('c-1'), { state: 'detached' });
    assert.deepEqual(await calls(tab, 'forgetPetChoice'), [[DESK, 'c-1']]);
    assert.equal(await tab.locator(`${choice('c-2')} ${at('pet-choice-whole')}`).count(), 1, 'the other stays open');
  }));

test('pet servers say how it goes there and what helps, in words for pet servers', () =>
  pets(async (tab) => {
    assert.match(
      await tab.textContent(source('Goose on the desk')),
      /connected[^]*goose:desk[^]*1 h 35 min[^]*2 questions[^]*kept[^]*stays on this machine/,
    );
    const workshop = tab.locator(source('Workshop'));
    assert.match(
      await workshop.textContent(),
      /Another program is connected there[^]*Trying again in[^]*409: Conflict/,
    );
    await change(tab, () => {
      const { sources } = window.mock.gateways.pets;
      sources[1].state = { kind: 'stopped', problem: { kind: 'secret-wrong' } };
      sources[2] = { ...sources[2], enabled: true, state: { kind: 'stopped', problem: { kind: 'secret-missing' } } };
    });
    await tab.waitForSelector(`${source('Old laptop')}[data-state="stopped"]`);
    assert.match(await workshop.textContent(), /It wants another token[^]*It is not tried again by itself/);
    const laptop = await tab.textContent(source('Old laptop'));
    assert.match(laptop, /It wants a token, and there is none here/);
    assert.doesNotMatch(laptop, /gateway|password/);
    await tab.click(`${source('Workshop')} ${at('source-retry')}`);
    await tab.waitForSelector(`${source('Workshop')}[data-state="connecting"]`);
    assert.deepEqual(await calls(tab, 'retryPetSource'), [['Workshop']]);
    await tab.click(`${source('Old laptop')} ${at('source-remedy-edit')}`);
    await tab.waitForSelector(at('source-dialog'));
  }));

test('a pet server is added with a token that never comes back', () =>
  pets(async (tab) => {
    await tab.click(at('source-add'));
    await tab.fill(at('source-name'), 'Cat');
    await tab.fill(at('source-url'), 'ws://127.0.0.1:9000');
    assert.ok(await tab.isDisabled(at('source-save')), 'a session is needed');
    await tab.fill(at('source-session'), ' cat-1 ');
    assert.ok(await tab.isChecked(at('source-token-clear')));
    await tab.check(at('source-token-set'));
    assert.ok(await tab.isDisabled(at('source-save')), 'so is the token');
    await tab.fill(at('source-token-value'), 'hunter2');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('source-dialog'), { state: 'detached' });
    const edit = { name: 'Cat', url: 'ws://127.0.0.1:9000', sessionId: 'cat-1', enabled: true };
    assert.deepEqual(await calls(tab, 'savePetSource'), [[{ ...edit, secret: { kind: 'set', value: 'hunter2' } }]]);
    await tab.locator(at('source-edit')).last().click();
    assert.ok(await tab.isChecked(at('source-token-keep')));
    assert.equal(await tab.locator(at('source-token-value')).count(), 0);
    assert.ok(!(await tab.content()).includes('hunter2'));
  }));

test('a pet server is changed, keeps its token unless told otherwise, and can be turned off', () =>
  pets(async (tab) => {
    await tab.click(`${source('Goose on the desk')} ${at('source-edit')}`);
    assert.equal(await tab.inputValue(at('source-session')), 'agent:main:pet:goose:desk');
    await tab.uncheck(at('source-enabled'));
    await tab.click(at('source-save'));
    await tab.waitForSelector(`${source('Goose on the desk')}[data-state="off"]`);
    await tab.click(`${source('Goose on the desk')} ${at('source-edit')}`);
    await tab.check(at('source-token-clear'));
    await tab.fill(at('source-url'), 'wss://goose.example');
    await tab.fill(at('source-pin'), 'ab'.repeat(32));
    await tab.click(at('source-save'));
    await tab.waitForSelector(at('source-dialog'), { state: 'detached' });
    const same = { id: 'Goose on the desk', name: 'Goose on the desk', sessionId: 'agent:main:pet:goose:desk' };
    assert.deepEqual(await calls(tab, 'savePetSource'), [
      [{ ...same, url: 'ws://127.0.0.1:8080/ws', enabled: false, secret: { kind: 'keep' } }],
      [{ ...same, url: 'wss://goose.example', pin: 'ab'.repeat(32), enabled: false, secret: { kind: 'clear' } }],
    ]);
    assert.match(await tab.textContent(source('Goose on the desk')), /Token\s*none[^]*only the one with abab abab/);
  }));

test('what is wrong is said at its field, and nothing that was typed is lost', () =>
  pets(async (tab) => {
    await tab.click(at('source-add'));
    await tab.fill(at('source-name'), 'Cat');
    await tab.fill(at('source-url'), 'ws://192.0.2.7');
    await tab.fill(at('source-session'), 'cat-1');
    await tab.check(at('source-token-set'));
    await tab.fill(at('source-token-value'), 'hunter2');
    await tab.click(at('source-save'));
    assert.match(await tab.textContent(at('source-wrong-address')), /Use an encrypted address/);
    assert.equal(await tab.getAttribute(at('source-url'), 'aria-invalid'), 'true');
    await tab.evaluate(() => window.mock.fail('savePetSource', 'store', 'disk full'));
    await tab.fill(at('source-url'), 'wss://192.0.2.7');
    await tab.click(at('source-save'));
    assert.match(await tab.textContent(at('source-error')), /disk full/);
    assert.equal(await tab.locator(at('connections-error')).count(), 0);
    assert.deepEqual(
      await Promise.all(['name', 'url', 'session', 'token-value'].map((key) => tab.inputValue(at(`source-${key}`)))),
      ['Cat', 'wss://192.0.2.7', 'cat-1', 'hunter2'],
    );
    await tab.click(at('source-save'));
    await tab.waitForSelector(at('source-dialog'), { state: 'detached' });
    assert.equal(await tab.locator(at('pet-source')).count(), 4);
  }));

for (const [work, button, left] of [
  ['setPetServer', `${at('pet-switch')} label:first-child`, `${at('pet-switch')} label:last-child input:checked`],
  ['disconnectPet', `${session(DESK)} ${at('pet-disconnect')}`, session(DESK)],
  ['forgetPetChoice', `${choice('c-1')} ${at('pet-forget')}`, choice('c-1')],
  ['retryPetSource', `${source('Workshop')} ${at('source-retry')}`, `${source('Workshop')}[data-state="waiting"]`],
]) {
  test(`when ${work} fails the reason is in view and what holds is still shown`, () =>
    pets(
      async (tab) => {
        await tab.evaluate((work) => window.mock.fail(work, 'store', 'disk full'), work);
        await tab.click(button);
        await tab.waitForSelector(at('connections-error'));
        assert.match(await tab.textContent(at('connections-error')), /disk full/);
        const inView = await tab.evaluate((selector) => {
          const { left, top, width, height } = document.querySelector(selector).getBoundingClientRect();
          const seen = document.elementFromPoint(left + width / 2, top + height / 2);
          return seen?.closest(selector) !== null;
        }, at('connections-error'));
        assert.ok(inView);
        await tab.waitForSelector(left, { state: 'attached' });
        await tab.click(`${at('connections-error')} button`);
        await tab.waitForSelector(at('connections-error'), { state: 'detached' });
      },
      { width: 720, height: 480 },
    ));
}

test('a pet server is removed only after a confirmation, and none is an invitation', () =>
  pets(async (tab) => {
    for (let left = 3; left > 0; left -= 1) {
      await tab.locator(at('source-remove')).first().click();
      assert.match(await tab.textContent(at('remove-source-dialog')), /not answered[^]*denies them/);
      await tab.keyboard.press('Escape');
      await tab.waitForSelector(at('remove-source-dialog'), { state: 'detached' });
      assert.equal(await tab.locator(at('pet-source')).count(), left);
      await tab.locator(at('source-remove')).first().click();
      await tab.click(at('remove-source-confirm'));
      await tab.waitForFunction(
        (left) => document.querySelectorAll('[data-testid="pet-source"]').length === left - 1,
        left,
      );
    }
    assert.match(await tab.textContent(at('pet-sources')), /No pet server[^]*waits in this inbox/);
    await tab.click(at('source-empty-add'));
    await tab.waitForSelector(at('source-dialog'));
  }));

test('a form whose pet server vanished meanwhile saves nothing', () =>
  pets(async (tab) => {
    await tab.click(`${source('Workshop')} ${at('source-edit')}`);
    await change(tab, () => window.mock.gateways.pets.sources.splice(1, 1));
    await tab.waitForSelector(at('source-gone'));
    assert.ok(await tab.isDisabled(at('source-save')));
  }));

test('a file that cannot be understood is said, and nothing can be changed', () =>
  pets(async (tab) => {
    await change(tab, () => {
      const { pets } = window.mock.gateways;
      const broken = '/home/mina/.config/countersign/pets.json cannot be understood';
      const server = { enabled: false, tokenFile: pets.server.tokenFile, sessions: [] };
      window.mock.gateways.pets = { server, sources: [], broken };
    });
    assert.match(await tab.textContent(at('pets-broken')), /pets\.json cannot be understood/);
    assert.ok(await tab.isDisabled(at('source-add')));
    for (const input of await tab.locator(`${at('pet-switch')} input`).all()) assert.ok(await input.isDisabled());
    assert.equal(await tab.locator(at('source-empty-add')).count(), 0);
  }));

for (const [width, height] of [
  [360, 300],
  [1160, 800],
]) {
  test(`what others call themselves stays inside the window and hides nothing, at ${width}×${height}`, () =>
    pets(
      async (tab) => {
        await change(tab, () => {
          const { pets } = window.mock.gateways;
          pets.server.sessions = [window.pets.hostileSession(Date.now())];
          pets.sources = [window.pets.hostileSource(Date.now())];
        });
        await tab.waitForSelector(choice('h-1'));
        const text = await tab.textContent(at('pet-sessions'));
        assert.match(text, /ForgetU\+202E .ll <b>of-the-long-name/);
        const said = await tab.textContent(`${source('hostile')} ${at('remedy-says')}`);
        assert.match(said, /^500: ForgetU\+202E/);
        assert.ok(!/[\u202a-\u202e\u0007]/.test(text + said));
        const heightOf = (selector) =>
          tab.locator(selector).evaluate((element) => element.getBoundingClientRect().height);
        for (const id of ['h-1', 'h-2']) {
          assert.ok((await heightOf(`${choice(id)} ${at('pet-choice-line')}`)) < 30, `${id} is one line`);
        }
        await tab.click(`${choice('h-1')} summary`);
        await tab.waitForSelector(`${choice('h-1')} ${at('pet-choice-whole')}`);
        assert.ok((await heightOf(`${choice('h-1')} ${at('pet-choice-whole')}`)) <= 250);
        assert.match(await tab.textContent(`${choice('h-1')} ${at('pet-choice-whole')}`), /U\+202E[^]*w w "\}$/);
        const outside = await tab.evaluate(() => {
          const parts = '[data-testid="pets"], [data-testid="pet-sources"]';
          const wrong = [];
          for (const element of document.querySelectorAll(`:is(${parts}) *:not(.spoken)`)) {
            const { left, right, width } = element.getBoundingClientRect();
            const clipped = element.closest('.line:not(.opened), .name');
            if (width > 0 && !clipped && (left < 0 || right > window.innerWidth + 0.5)) {
              wrong.push(`${element.tagName}.${element.className} ${left}..${right}`);
            }
          }
          const page = document.querySelector('[data-testid="content"]');
          if (page.scrollWidth > page.clientWidth) wrong.push(`page ${page.scrollWidth}`);
          return wrong;
        });
        assert.deepEqual(outside, []);
        for (const button of ['pet-disconnect', 'pet-forget', 'source-edit', 'source-remove', 'source-retry']) {
          await tab.locator(at(button)).first().click({ trial: true });
        }
        await tab.click(at('source-remove'));
        const dialog = await tab.locator(at('remove-source-dialog')).boundingBox();
        assert.ok(dialog.x >= 0 && dialog.x + dialog.width <= width && dialog.y + dialog.height <= height);
        await tab.locator(at('remove-source-confirm')).click({ trial: true });
      },
      { width, height },
    ));
}

test('everything is done without a pointer', () =>
  pets(
    async (tab) => {
      await tab.focus(`${at('pet-switch')} input:checked`);
      await tab.keyboard.press('ArrowLeft');
      await tab.waitForSelector(`${at('pet-server')}[data-state="off"]`);
      await tab.focus(`${at('pet-switch')} input:checked`);
      await tab.keyboard.press('ArrowRight');
      await tab.waitForSelector(`${at('pet-server')}[data-state="serving"]`);
      await change(tab, () => {
        const { pets, session, choice } = window.pets;
        const view = pets(Date.now());
        view.server.sessions = [session('a', Date.now(), { remembered: [choice('c-1', Date.now())] })];
        window.mock.gateways.pets = view;
      });
      await tab.waitForSelector(choice('c-1'));
      await tabTo(tab, 'pet-copy-token');
      await tabTo(tab, 'pet-disconnect', 2);
      await tab.keyboard.press('Tab');
      await tab.keyboard.press('Enter');
      await tab.waitForSelector(at('pet-choice-whole'));
      await tabTo(tab, 'pet-choice-whole', 1);
      await tabTo(tab, 'pet-forget', 1);
      await tab.keyboard.press('Enter');
      await tab.waitForSelector(choice('c-1'), { state: 'detached' });
      await tab.focus(at('pet-disconnect'));
      await tab.keyboard.press('Space');
      await tab.waitForSelector(at('pet-session'), { state: 'detached' });
      await tabTo(tab, 'source-add', 3);
      await tab.keyboard.press('Enter');
      await tab.waitForSelector(at('source-dialog'));
      assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'source-name');
      await tab.keyboard.type('Cat');
      await tabTo(tab, 'source-url', 1);
      await tab.keyboard.type('wss://cat.example');
      await tabTo(tab, 'source-session', 1);
      await tab.keyboard.type('cat-1');
      await tab.keyboard.press('Enter');
      await tab.waitForSelector(at('source-dialog'), { state: 'detached' });
      assert.equal(await tab.locator(at('pet-source')).count(), 4);
      await tab.locator(at('source-remove')).last().focus();
      await tab.keyboard.press('Enter');
      await tab.waitForSelector(at('remove-source-dialog'));
      assert.match(await tab.evaluate(() => document.activeElement.textContent), /Keep it/);
      await tabTo(tab, 'remove-source-confirm', 1);
      await tab.keyboard.press('Enter');
      await tab.waitForSelector(at('remove-source-dialog'), { state: 'detached' });
      assert.equal(await tab.locator(at('pet-source')).count(), 3);
    },
    { width: 360, height: 300 },
  ));

for (const theme of ['light', 'dark']) {
  test(`neither the sections nor their form break a rule of accessibility, ${theme}`, () =>
    pets(
      async (tab) => {
        await tab.evaluate(AXE);
        const violations = (within) =>
          tab.evaluate(async (within) => (await window.axe.run(within)).violations.map(({ id }) => id), within);
        await tab.click(`${choice('c-2')} summary`);
        await tab.waitForSelector(at('pet-choice-whole'));
        for (const part of ['pets', 'pet-sources']) assert.deepEqual(await violations(at(part)), [], part);
        await tab.click(`${source('Goose on the desk')} ${at('source-edit')}`);
        await tab.check(at('source-token-set'));
        assert.deepEqual(await violations(at('source-dialog')), []);
        await tab.keyboard.press('Escape');
        await tab.waitForSelector(at('source-dialog'), { state: 'detached' });
        await change(tab, () => {
          const { pets } = window.mock.gateways;
          pets.sources = [];
          pets.server = { enabled: true, tokenFile: pets.server.tokenFile, sessions: [] };
        });
        await tab.waitForSelector(at('source-empty-add'));
        for (const part of ['pets', 'pet-sources']) assert.deepEqual(await violations(at(part)), [], part);
      },
      { theme },
    ));
}

test('a pet server’s question says who asks, that an allow lets that program go on, and that nothing runs here', async () => {
  const tab = await browser.open('prompt', {});
  await add(tab, 'petQuestion', 'q');
  await shows(tab, 'q');
  assert.match(await tab.textContent(at('card-gateway')), /Goose on the desk/);
  assert.match(await tab.textContent('.from'), /agent:main:pet:goose:desk\s*· pet server/);
  const verb = await tab.textContent(at('verb'));
  assert.match(verb, /use the tool\s+exec\s+by itself at\s+Goose on the desk\s*, once you allow it\s*another program/);
  assert.doesNotMatch(verb, /machine/);
  assert.match(await tab.textContent(at('why')), /Another program asks[^]*pet server\s+Goose on the desk[^]*by itself/);
  assert.match(await tab.textContent(at('pet-note')), /Nothing runs here[^]*that program goes on/);
  assert.doesNotMatch(await tab.textContent(at('why')), /Policy:|gateway/);
  assert.deepEqual(tab.errors, []);
  await tab.done();
});

test('in the inbox a pet server’s question names that server, and one without a name its door', async () => {
  const tab = await browser.open('main', { width: 1160, height: 800, query: { page: 'inbox' } });
  await add(tab, 'petQuestion', 'named');
  await add(tab, 'petQuestion', 'unnamed', { gateway: undefined });
  const badge = (id) => tab.textContent(`${at('inbox-row')}[data-id="${id}"] ${at('card-gateway')}`);
  assert.match(await badge('named'), /pet server\s*Goose on the desk/);
  assert.match(await badge('unnamed'), /^\s*pet server\s*$/);
  assert.doesNotMatch(await tab.textContent(`${at('inbox-row')}[data-id="named"]`), /machine/);
  assert.deepEqual(tab.errors, []);
  await tab.done();
});
