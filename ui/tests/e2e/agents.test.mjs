import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { armed, at, calls, hold, start } from '../harness.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const LANGUAGES = ['en', 'zh', 'ko'];

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Runs `body` on a page of the main window, on a machine with the agents that the sample of this name has. */
async function main(page, body, { sample = 'agents', ...options } = {}) {
  const { start: first, query, ...rest } = options;
  const tab = await browser.open('main', {
    width: 1160,
    height: 800,
    start: first,
    ...rest,
    query: { page, ...query },
  });
  await tab.waitForSelector(at('content'));
  if (sample !== 'agents') await machine(tab, sample, page);
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

/** Puts other agents on the machine, and waits until they were looked at where a page does that. */
async function machine(tab, sample, page) {
  await tab.evaluate((sample) => {
    window.mock.agentsView = window.agents[sample](Date.now());
    window.mock.calls = [];
    window.dispatchEvent(new Event('focus'));
  }, sample);
  if (page === 'agents') await tab.waitForFunction(() => window.mock.calls.some(({ name }) => name === 'agents'));
}

const card = (name) => `${at('agent')}[data-agent="${name}"]`;
const inCard = (name, id) => `${card(name)} ${at(id)}`;

async function violations(tab) {
  // Playwright's own evaluation is not bound by the page's policy.
  await tab.evaluate(AXE);
  return tab.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`);
  });
}

/** Nothing is wider than its place. */
async function assertFits(tab, told) {
  const wide = await tab.evaluate(() => {
    const content = document.querySelector('[data-testid="content"]');
    return [document.scrollingElement.scrollWidth - innerWidth, content.scrollWidth - content.clientWidth];
  });
  assert.ok(
    wide.every((excess) => excess <= 0),
    `${told}: ${wide}`,
  );
}

test('each agent says how it asks, what that covers, and what keeps it from that', () =>
  main('agents', async (tab) => {
    assert.equal(await tab.getAttribute(card('claude-code'), 'data-state'), 'asks');
    assert.match(await tab.textContent(inCard('claude-code', 'agent-way')), /since .*settings\.json/);
    assert.match(await tab.textContent(card('claude-code')), /those of sub-agents and MCP servers too/);
    assert.match(await tab.textContent(card('claude-code')), /4 minutes ago/);
    assert.equal(await tab.getAttribute(card('codex'), 'data-state'), 'silent');
    assert.match(await tab.textContent(inCard('codex', 'agent-trouble')), /Type \/hooks there/);
    assert.equal(await tab.getAttribute(card('gemini'), 'data-state'), 'idle');
    assert.match(await tab.textContent(card('gemini')), /0\.62\.0 \(tested: 0\.61\.0\)/);
    assert.match(await tab.textContent(at('agents-missing')), /Cursor, Zed/);
    await tab.click(at('openclaw-open'));
    await tab.waitForSelector(at('own'));
  }));

test('a change is written only as it was shown, and taken back the same way', () =>
  main('agents', async (tab) => {
    await tab.click(inCard('gemini', 'agent-connect'));
    await tab.waitForSelector(inCard('gemini', 'diff'));
    assert.deepEqual(await calls(tab, 'writeAgent'), []);
    await tab.check(`${at('agent-ways')} [value="hook+mcp"]`);
    await tab.waitForFunction(() => document.querySelectorAll('[data-testid="diff"]').length === 2);
    await tab.click(at('agent-write'));
    await tab.waitForSelector(inCard('gemini', 'agent-written'));
    assert.deepEqual(await calls(tab, 'previewAgent'), [
      [{ agent: 'gemini', change: { kind: 'connect', ways: ['hook'] } }],
      [{ agent: 'gemini', change: { kind: 'connect', ways: ['hook', 'mcp'] } }],
    ]);
    assert.deepEqual(await calls(tab, 'writeAgent'), [['preview-2']]);
    assert.match(await tab.textContent(at('agent-backup')), /settings\.json\.before-countersign/);
    assert.match(await tab.textContent(at('agent-written')), /If Gemini CLI runs now, start it again/);
    assert.equal(await tab.locator(inCard('gemini', 'agent-way')).count(), 2);
    // All that it can do it does.
    assert.equal(await tab.locator(inCard('gemini', 'agent-connect')).count(), 0);
    await tab.click(at('agent-undo'));
    await tab.waitForSelector(inCard('gemini', 'diff'));
    await tab.click(at('agent-write'));
    await tab.waitForSelector(`${card('gemini')}[data-state="idle"]`);
    assert.deepEqual((await calls(tab, 'previewAgent')).at(-1), [{ agent: 'gemini', change: { kind: 'take-back' } }]);
  }));

test('settings that changed meanwhile are shown anew and not written', () =>
  main('agents', async (tab) => {
    await tab.click(inCard('gemini', 'agent-connect'));
    await tab.waitForSelector(at('diff'));
    await tab.evaluate(() => window.mock.fail('writeAgent', 'stale', 'settings.json was changed meanwhile'));
    await tab.click(at('agent-write'));
    await tab.waitForSelector(at('agent-changed'));
    await tab.waitForSelector(at('diff'));
    assert.equal((await calls(tab, 'previewAgent')).length, 2);
    await tab.click(at('agent-write'));
    await tab.waitForSelector(at('agent-written'));
    assert.deepEqual(await calls(tab, 'writeAgent'), [['preview-1'], ['preview-2']]);
  }));

test('settings that are not understood stay as they are, with what could be put in by hand', () =>
  main('agents', async (tab) => {
    await tab.evaluate(() => {
      const why = '/home/mina/.gemini/settings.json is left as it is: expected JSON: EOF at line 3';
      window.mock.previews = [{ kind: 'left-alone', why, byHand: '{\n  "hooks": {}\n}\n' }];
    });
    await tab.click(inCard('gemini', 'agent-connect'));
    assert.match(await tab.textContent(at('agent-left-alone')), /stay as they are: .*expected JSON/);
    assert.match(await tab.textContent(at('agent-by-hand')), /"hooks"/);
    assert.equal(await tab.isDisabled(at('agent-write')), true);
    assert.deepEqual(await violations(tab), []);
    await tab.click(at('agent-cancel'));
    await tab.evaluate(() => window.mock.fail('previewAgent', 'internal', 'expected the command countersign'));
    await tab.click(inCard('gemini', 'agent-connect'));
    assert.match(await tab.textContent(at('agents-error')), /expected the command countersign/);
    assert.equal(await tab.locator(at('agent-change')).count(), 0);
  }));

test('everything works by keyboard, and Esc puts a change aside', () =>
  main('agents', async (tab) => {
    await tab.focus(inCard('gemini', 'agent-connect'));
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('diff'));
    const focus = () => tab.evaluate(() => document.activeElement?.closest('[data-testid]')?.dataset.testid);
    assert.equal(await focus(), 'agent-change');
    await tab.keyboard.press('Tab');
    assert.equal(await focus(), 'agent-ways');
    await tab.keyboard.press('ArrowRight');
    await tab.waitForFunction(() => window.mock.calls.filter(({ name }) => name === 'previewAgent').length === 2);
    await tab.keyboard.press('Tab');
    assert.equal(await focus(), 'agent-cancel');
    await tab.keyboard.press('Escape');
    await tab.waitForSelector(at('agent-change'), { state: 'detached' });
    assert.deepEqual(await calls(tab, 'writeAgent'), []);
    await tab.waitForFunction(() => document.activeElement?.dataset.testid === 'agent-connect');
    await tab.keyboard.press('Space');
    await tab.waitForSelector(`${at('agent-write')}:enabled`);
    await tab.focus(at('agent-cancel'));
    await tab.keyboard.press('Tab');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('agent-written'));
    // The keyboard goes on from what was said.
    await tab.keyboard.press('Tab');
    assert.equal(await focus(), 'agent-undo');
  }));

test('an empty inbox says whether anything is connected, and leads to what connects', async () => {
  await main('inbox', async (tab) => {
    await tab.waitForSelector(`${at('empty')}:has-text("2 agents are connected: Claude Code, Codex.")`);
  });
  await main(
    'inbox',
    async (tab) => {
      await tab.evaluate(() => {
        window.mock.gateways.gateways = [];
        window.mock.emit({ kind: 'connections-changed' });
      });
      // It looks again when it is empty again.
      await tab.click(at('nav-history'));
      await tab.click(at('nav-inbox'));
      await tab.waitForSelector(`${at('empty')}:has-text("Nothing is connected yet")`);
      await tab.click(at('inbox-connect'));
      await tab.waitForSelector(inCard('claude-code', 'agent-connect'));
    },
    { sample: 'fresh' },
  );
});

/** A window of which the first steps are due. */
const first = (body, options = {}) =>
  main(
    'inbox',
    async (tab) => {
      await tab.waitForSelector(at('first-steps'));
      await body(tab);
    },
    { ...options, start: { firstSteps: 'due', ...options.start } },
  );

/** Has this machine looked at again from the first step. */
async function anew(tab, sample) {
  await tab.evaluate((sample) => (window.mock.agentsView = window.agents[sample](Date.now())), sample);
  await tab.click(at('nav-history'));
  await tab.click(at('nav-inbox'));
  await tab.waitForSelector(at('first-steps'));
}

test('the first steps connect, switch everyday reading on and try it, with the mouse', () =>
  first(async (tab) => {
    await anew(tab, 'fresh');
    assert.match(await tab.textContent(at('step-position')), /1 of 3/);
    assert.equal(await tab.textContent(at('step-next')), 'Skip this step');
    await tab.click(inCard('claude-code', 'agent-connect'));
    await tab.waitForSelector(at('diff'));
    await tab.click(at('agent-write'));
    await tab.waitForSelector(at('agent-written'));
    assert.equal(await tab.textContent(at('step-next')), 'Next');
    await tab.click(at('step-next'));
    assert.match(await tab.textContent(at('step-position')), /2 of 3/);
    await tab.evaluate(
      () => (window.mock.loosens = [{ scope: '*', rule: 'preset', from: '', to: 'everyday: Everyday reading' }]),
    );
    await tab.click(`${at('preset-everyday')} label:last-child`);
    await armed(tab, at('loosen-apply'));
    await tab.click(at('loosen-apply'));
    await tab.waitForFunction(() => window.mock.calls.filter(({ name }) => name === 'editRules').length === 2);
    assert.deepEqual(
      (await calls(tab, 'editRules')).map(([params]) => params.confirmed),
      [false, true],
    );
    await tab.click(at('step-next'));
    assert.match(await tab.textContent(at('step-position')), /3 of 3/);
    assert.deepEqual(await calls(tab, 'trySample'), []);
    await tab.click(at('sample-send'));
    await tab.waitForSelector(at('sample-ran'));
    assert.match(await tab.textContent(at('sample-output')), /Linux mina/);
    await tab.click(at('step-next'));
    await tab.waitForSelector(at('empty'));
    assert.equal((await calls(tab, 'endFirstSteps')).length, 1);
    // They can be had again, and only when somebody wants them.
    await tab.click(at('nav-agents'));
    await tab.click(at('agents-steps'));
    await tab.waitForSelector(at('first-steps'));
  }));

test('each of the first steps can be left out by keyboard, and no key alone does anything', () =>
  first(async (tab) => {
    const focus = () => tab.evaluate(() => document.activeElement?.id);
    for (const step of ['who', 'harmless', 'try']) {
      await tab.waitForSelector(`${at('first-steps')}[data-step="${step}"]`);
      await tab.waitForFunction(() => document.activeElement?.id === 'step-title');
      await tab.keyboard.press('Enter');
      await tab.keyboard.press('Space');
      assert.equal(await focus(), 'step-title');
      await tab.keyboard.press('Escape');
    }
    await tab.waitForSelector(at('first-steps'), { state: 'detached' });
    const done = ['writeAgent', 'editRules', 'trySample', 'decide'];
    for (const name of done) assert.deepEqual(await calls(tab, name), []);
    assert.equal((await calls(tab, 'endFirstSteps')).length, 1);
  }));

test('Esc in a dialog or a change of the first steps closes that alone', () =>
  first(async (tab) => {
    await tab.click(inCard('gemini', 'agent-connect'));
    await tab.waitForSelector(at('diff'));
    await tab.keyboard.press('Escape');
    await tab.waitForSelector(at('agent-change'), { state: 'detached' });
    assert.match(await tab.textContent(at('step-position')), /1 of 3/);
    await tab.click(at('step-next'));
    await tab.evaluate(
      () => (window.mock.loosens = [{ scope: '*', rule: 'preset', from: '', to: 'everyday: Everyday reading' }]),
    );
    await tab.click(`${at('preset-everyday')} label:last-child`);
    await tab.waitForSelector(at('confirm-loosening'));
    await tab.keyboard.press('Escape');
    await tab.waitForSelector(at('confirm-loosening'), { state: 'detached' });
    assert.match(await tab.textContent(at('step-position')), /2 of 3/);
    await tab.click(at('step-back'));
    assert.match(await tab.textContent(at('step-position')), /1 of 3/);
    await tab.click(at('steps-skip-all'));
    await tab.waitForSelector(at('first-steps'), { state: 'detached' });
    assert.equal((await calls(tab, 'endFirstSteps')).length, 1);
  }));

test('a sample that is denied says so, and one that waits in a pause says where', () =>
  first(async (tab) => {
    await tab.click(at('step-next'));
    await tab.click(at('step-next'));
    await tab.evaluate(() => (window.mock.sample = { kind: 'not-run', outcome: { kind: 'denied' } }));
    await tab.click(at('sample-send'));
    await tab.waitForSelector(`${at('sample-not-run')}:has-text("It did not run: Denied.")`);
    await tab.click(at('pause'));
    await tab.waitForSelector(at('paused'));
    const release = await hold(tab, 'trySample');
    await tab.click(at('sample-send'));
    assert.match(await tab.textContent(at('sample-waits')), /waits in the inbox/);
    assert.deepEqual(await violations(tab), []);
    await release();
  }));

test('what asks for the person comes before the first steps', () =>
  first(async (tab) => {
    await tab.evaluate(() => {
      const loosenings = [{ scope: 'coder', field: 'ask', from: 'always', to: 'on-miss' }];
      const confirmation = { id: 'c', createdAtMs: Date.now(), expiresAtMs: Date.now() + 1_800_000, loosenings };
      window.mock.emit({ kind: 'confirmation-added', confirmation });
    });
    await tab.waitForSelector(at('confirmation'));
    assert.equal(await tab.locator(at('first-steps')).count(), 0);
    assert.deepEqual(await calls(tab, 'endFirstSteps'), []);
  }));

test('the first steps that cannot be noted as over say so', () =>
  first(async (tab) => {
    await tab.evaluate(() => window.mock.fail('endFirstSteps', 'internal', 'No space left on device'));
    await tab.click(at('steps-skip-all'));
    await tab.waitForSelector(`${at('said')}:has-text("they come again at the next start")`);
    assert.equal(await tab.locator(at('first-steps')).count(), 0);
  }));

for (const [width, height] of [
  [360, 300],
  [720, 480],
  [1160, 800],
]) {
  test(`agents and first steps fit ${width}×${height} with hostile content, in every language`, async () => {
    for (const language of LANGUAGES) {
      const size = { width, height, language };
      for (const sample of ['agents', 'hostile', 'none']) {
        await main(
          'agents',
          async (tab) => {
            await tab.waitForSelector(sample === 'none' ? at('empty') : card('codex'));
            await assertFits(tab, `${language} ${sample}`);
            if (sample === 'none') return;
            await tab.click(inCard(sample === 'agents' ? 'gemini' : 'codex', 'agent-connect'));
            await tab.waitForSelector(at('diff'));
            await assertFits(tab, `${language} ${sample}, a change`);
            const write = tab.locator(at('agent-write'));
            await write.scrollIntoViewIfNeeded();
            const box = await write.boundingBox();
            assert.ok(box.x >= 0 && box.x + box.width <= width, JSON.stringify(box));
          },
          { ...size, sample },
        );
      }
      await first(async (tab) => {
        for (const step of ['who', 'harmless', 'try']) {
          await tab.waitForSelector(`${at('first-steps')}[data-step="${step}"]`);
          await assertFits(tab, `${language} ${step}`);
          const box = await tab.locator(at('step-next')).boundingBox();
          assert.ok(box.y >= 0 && box.y + box.height <= height + 0.5, `${language} ${step}: ${JSON.stringify(box)}`);
          if (step === 'try') await tab.click(at('sample-send'));
          else await tab.click(at('step-next'));
        }
      }, size);
    }
  });
}

for (const theme of ['light', 'dark']) {
  test(`no accessibility violation: agents and first steps, ${theme}`, async () => {
    for (const language of LANGUAGES) {
      const look = { theme, language };
      for (const sample of ['agents', 'hostile', 'none', 'fresh']) {
        await main('agents', async (tab) => assert.deepEqual(await violations(tab), [], `${language} ${sample}`), {
          ...look,
          sample,
        });
      }
      await main(
        'agents',
        async (tab) => {
          await tab.click(inCard('gemini', 'agent-connect'));
          await tab.waitForSelector(at('diff'));
          assert.deepEqual(await violations(tab), [], `${language}, a change`);
          await tab.click(at('agent-write'));
          await tab.waitForSelector(at('agent-written'));
          assert.deepEqual(await violations(tab), [], `${language}, written`);
        },
        look,
      );
      await first(async (tab) => {
        for (const step of ['who', 'harmless', 'try']) {
          await tab.waitForSelector(`${at('first-steps')}[data-step="${step}"]`);
          assert.deepEqual(await violations(tab), [], `${language} ${step}`);
          if (step !== 'try') await tab.click(at('step-next'));
        }
      }, look);
    }
  });
}
