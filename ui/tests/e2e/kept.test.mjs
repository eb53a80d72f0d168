import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { armed, at, calls, hold, start } from '../harness.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Runs `body` on the history after a run changed a folder in the way that `make` names. */
async function changed([make, ...rest], body, options = {}) {
  const { differs = {}, ...window } = options;
  const tab = await browser.open('main', { width: 1160, height: 800, ...window, query: { page: 'history' } });
  await tab.waitForSelector(at('history-row'));
  await tab.evaluate(
    ([make, rest, differs]) => window.kept.ran(window.mock, window.kept[make](...rest), differs),
    [make, rest, differs],
  );
  await tab.waitForSelector(at('changes'));
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

const open = async (tab) => {
  await tab.click(at('changes-open'));
  await tab.waitForSelector(at('change-row'));
};

const file = (tab, number) => tab.locator(`${at('change-row')}[data-number="${number}"]`);

const focus = (tab) => tab.evaluate(() => document.activeElement.dataset.testid);

/** What is wider than it should be, in pixels. */
const excess = (tab) =>
  tab.evaluate(() => {
    const content = document.querySelector('[data-testid="content"]');
    return [document.scrollingElement.scrollWidth - innerWidth, content.scrollWidth - content.clientWidth];
  });

/** Answers that all is to be put back, by a whole press of the pointer. */
async function confirm(tab) {
  await tab.click(at('changes-put-back-all'));
  await armed(tab, at('changes-put-back-confirm'));
  await tab.click(at('changes-put-back-confirm'));
  await tab.waitForSelector(at('put-back-result'));
}

test('what a run changed is said at its line, opens to files, and each file to what differs', () =>
  changed(
    ['build'],
    async (tab) => {
      const row = tab.locator(`${at('history-row')}[data-seq="18"]`);
      assert.match(await row.textContent(), /2 made, 4 changed, 2 deleted in\s+\/home\/mina\/src\/engine/);
      assert.match(await row.textContent(), /2 files are not in it/);
      assert.equal(await tab.locator(`${at('history-row')}[data-seq="20"]`).count(), 0);
      await open(tab);
      assert.equal(await tab.locator(at('change-row')).count(), 8);
      await file(tab, 2).locator(at('change-open')).click();
      const diff = file(tab, 2).locator(at('change-diff'));
      assert.match(
        await diff.textContent(),
        /2 unchanged lines[^]*removed: Run `make`\.[^]*added: It takes a minute\./,
      );
      for (const [number, words] of [
        [4, /Before\s*nothing\s*After\s*48\.2 kB that are no text/],
        [5, /Its content stayed as it was\./],
        [6, /Before\s*a link to out\/engine-2\.1\s*After\s*nothing/],
        [7, /Before\s*something that was not kept\s*After\s*812 MB, too large to compare/],
      ]) {
        await file(tab, number).locator(at('change-open')).click();
        assert.match(await file(tab, number).locator(at('change-diff')).textContent(), words);
      }
      assert.match(await file(tab, 5).textContent(), /moved from plan\.md to docs\/notes\/plan\.md/);
      assert.equal(await file(tab, 7).locator(at('change-put-back')).count(), 0);
      assert.match(await file(tab, 7).locator(at('change-stays')).textContent(), /cannot be put back/);
    },
    { differs: { leftOut: 2 } },
  ));

test('one file is put back, and what that changed is a new line', () =>
  changed(['build'], async (tab) => {
    await open(tab);
    const release = await hold(tab, 'putBack');
    const button = tab.getByRole('button', { name: 'Put back Makefile' });
    await button.click();
    await tab.waitForSelector(`${at('change-put-back')}[aria-disabled="true"]`);
    await file(tab, 0).locator(at('change-put-back')).dispatchEvent('click');
    await release();
    await file(tab, 1).locator(at('put-back-result')).waitFor();
    assert.match(await file(tab, 1).locator(at('put-back-result')).textContent(), /1 put back\./);
    assert.deepEqual(await calls(tab, 'putBack'), [[{ seq: 20, change: 1 }]]);
    const line = tab.locator(`${at('history-row')}[data-seq="21"]`);
    const words = await line.textContent();
    assert.match(words, /Put back[^]*1 made in\s+\/home\/mina\/src\/engine/);
    assert.match(words, /What \.\/scripts\/move-to-cargo\.sh --tidy had changed at .+, put back in the main window\./);
  }));

test('all is put back after it was asked once more, conflicts have their reasons, and it can be undone', () =>
  changed(['build', 'conflicts'], async (tab) => {
    await open(tab);
    await tab.click(at('changes-put-back-all'));
    assert.match(await tab.textContent(at('changes-ask')), /the 2 that were made are removed/);
    assert.equal(await focus(tab), 'changes-keep');
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('changes-put-back-all'));
    assert.equal(await focus(tab), 'changes-put-back-all');
    await tab.keyboard.press('Enter');
    await armed(tab, at('changes-put-back-confirm'));
    await tab.focus(at('changes-put-back-confirm'));
    await tab.keyboard.press('Enter');
    assert.deepEqual(await calls(tab, 'putBack'), []);
    await tab.keyboard.press('Control+Shift+Enter');
    const result = await tab.waitForSelector(at('put-back-result'));
    assert.match(await result.textContent(), /5 put back\.[^]*3 stay as they are:/);
    const reasons = await tab.locator(at('put-back-conflict')).allTextContents();
    for (const [index, words] of [
      /README\.md\s*— changed since/,
      /latest\s*— the system did not let it be done:\s+Permission denied/,
      /data\/world\.bin\s*— what was there, or what is there now, is not kept/,
    ].entries()) {
      assert.match(reasons[index], words);
    }
    assert.equal(await focus(tab), 'changes-put-back-all');
    assert.deepEqual(await calls(tab, 'putBack'), [[{ seq: 20 }]]);

    const undo = tab.locator(`${at('history-row')}[data-seq="21"]`);
    assert.match(await undo.textContent(), /1 made, 2 changed, 2 deleted/);
    await undo.locator(at('changes-open')).click();
    await undo.locator(at('changes-put-back-all')).click();
    await armed(tab, at('changes-put-back-confirm'));
    await undo.locator(at('changes-put-back-confirm')).click();
    await undo.locator(at('put-back-result')).waitFor();
    assert.match(await undo.locator(at('put-back-result')).textContent(), /5 put back\./);
    const again = await tab.waitForSelector(`${at('history-row')}[data-seq="22"]`);
    assert.match(await again.textContent(), /What had been put back at .+, put back again in the main window\./);
  }));

test('a question stays where it is and arms, however many lines come in above it', () =>
  changed(['build'], async (tab) => {
    const top = () => tab.locator(at('changes-ask')).evaluate((ask) => ask.getBoundingClientRect().top);
    await open(tab);
    await tab.click(at('changes-put-back-all'));
    const before = await top();
    for (let line = 0; line < 40; line++) {
      await tab.evaluate((line) => {
        const event = { kind: 'record', note: { kind: 'adopted', last: line } };
        window.mock.emit({ kind: 'history-appended', entry: { seq: 100 + line, atMs: Date.now(), event } });
      }, line);
      await tab.waitForSelector(`${at('history-row')}[data-seq="${100 + line}"]`);
      assert.ok(Math.abs((await top()) - before) < 1, `${await top()} after ${line + 1} lines, not ${before}`);
    }
    await armed(tab, at('changes-put-back-confirm'));
  }));

test('another delay counts from then on, and an observer that was let go keeps nothing from arming', () =>
  changed(['build'], async (tab) => {
    const confirm = at('changes-put-back-confirm');
    await open(tab);
    // A browser may hand over what an observer has queued after it was told to stop.
    await tab.evaluate(() => {
      window.late = [];
      window.IntersectionObserver = class extends IntersectionObserver {
        constructor(tell) {
          super(tell);
          this.tell = tell;
        }
        disconnect() {
          super.disconnect();
          window.late.push(() => this.tell([{ isIntersecting: false }], this));
        }
      };
    });
    await tab.click(at('changes-put-back-all'));
    await armed(tab, confirm);
    await tab.evaluate(() => {
      const { mock } = window;
      mock.emit({ kind: 'settings-changed', settings: { ...mock.settings, armDelayMs: 1_600 } });
    });
    await tab.waitForSelector(`${confirm}[data-armed="false"]`);
    await tab.evaluate(async () => {
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      for (let count = 0; count < 4; count++) await frame();
      for (const tell of window.late) tell();
    });
    await armed(tab, confirm);
  }));

test('the keyboard opens each level, and Escape closes one after the other', () =>
  changed(['build'], async (tab) => {
    await tab.focus(at('changes-open'));
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('change-row'));
    assert.equal(await tab.getAttribute(at('changes-open'), 'aria-expanded'), 'true');
    const toggle = file(tab, 2).locator(at('change-open'));
    await toggle.focus();
    await tab.keyboard.press('Enter');
    await file(tab, 2).locator(at('change-diff')).focus();
    await tab.keyboard.press('Escape');
    assert.equal(await tab.locator(at('change-diff')).count(), 0);
    assert.equal(await toggle.evaluate((button) => button === document.activeElement), true);
    await tab.focus(at('changes-put-back-all'));
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('changes-ask'));
    await tab.keyboard.press('Escape');
    await tab.waitForSelector(at('changes-put-back-all'));
    assert.equal(await focus(tab), 'changes-put-back-all');
    await tab.keyboard.press('Escape');
    assert.equal(await tab.locator(at('change-row')).count(), 0);
    assert.equal(await focus(tab), 'changes-open');
    assert.deepEqual(await calls(tab, 'putBack'), []);
  }));

/**
 * Runs `body` on the history after two runs of a session, with what the session changed as the newer one's row has it.
 */
async function session(body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page: 'history' } });
  await tab.waitForSelector(at('history-row'));
  await tab.evaluate(() => window.kept.ranTwice(window.mock));
  const of = (seq) => tab.locator(`${at('changes')}[data-seq="${seq}"][data-whole="session"]`);
  await of(23).waitFor();
  await body(tab, of);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

test('everything a session changed opens at each of its runs, and what somebody else changed is marked', () =>
  session(async (tab, of) => {
    assert.equal(
      await of(20)
        .locator(at('changes-open'))
        .textContent()
        .then((text) => text.trim()),
      'Everything this session changed here',
    );
    await of(20).locator(at('changes-open')).click();
    await of(20).locator(at('change-row')).first().waitFor();
    assert.match(
      await of(20).locator(at('changes-open')).textContent(),
      /changed here \(2 runs\): 2 made, 1 changed, 1 deleted in\s+\/home\/mina\/src\/engine/,
    );
    const readme = of(20).locator(`${at('change-row')}[data-number="1"]`);
    assert.match(await readme.locator(at('change-between')).textContent(), /Somebody else changed it between the runs/);
    assert.equal(await readme.locator(at('change-put-back')).count(), 0);
    await readme.locator(at('change-open')).click();
    assert.match(await readme.locator(at('change-diff')).textContent(), /added: Run `cargo build --release`/);
    assert.equal(await of(23).locator(at('change-row')).count(), 0, 'the other one is closed');
    assert.deepEqual(await calls(tab, 'keptDiff'), [
      [{ seq: 20, session: { first: 20, last: 23, runs: 2 }, change: 1 }],
    ]);
  }));

test('a session is put back by the keyboard after it was asked, and undone as one line', () =>
  session(async (tab, of) => {
    await of(23).locator(at('changes-open')).focus();
    await tab.keyboard.press('Enter');
    await of(23).locator(at('change-row')).first().waitFor();
    await of(23).locator(at('changes-put-back-all')).focus();
    await tab.keyboard.press('Enter');
    assert.match(
      await tab.textContent(at('changes-ask')),
      /Put back all that the session changed\?[^]*between the runs, or since, stays/,
    );
    assert.equal(await focus(tab), 'changes-keep');
    await tab.keyboard.press('Escape');
    assert.equal(await focus(tab), 'changes-put-back-all');
    assert.deepEqual(await calls(tab, 'putBack'), []);
    await tab.keyboard.press('Enter');
    await armed(tab, at('changes-put-back-confirm'));
    await tab.focus(at('changes-put-back-confirm'));
    await tab.keyboard.press('Control+Shift+Enter');
    await of(23).locator(at('put-back-result')).waitFor();
    const result = await of(23).locator(at('put-back-result')).textContent();
    assert.match(
      result,
      /3 put back\.[^]*1 stays as it is:[^]*README\.md\s*— somebody else changed it between the runs/,
    );
    assert.equal(await focus(tab), 'changes-put-back-all');
    assert.deepEqual(await calls(tab, 'putBack'), [[{ seq: 23, session: { first: 20, last: 23, runs: 2 } }]]);
    const undo = tab.locator(`${at('history-row')}[data-seq="24"]`);
    assert.match(
      await undo.textContent(),
      /What 2 runs of session\s+move-to-cargo\s+of\s+coder\s+had changed up to .+, put back in the main window/,
    );
    assert.equal(await undo.locator(`${at('changes')}[data-whole="session"]`).count(), 0);
    await undo.locator(at('changes-open')).click();
    await undo.locator(at('changes-put-back-all')).click();
    await armed(tab, at('changes-put-back-confirm'));
    await undo.locator(at('changes-put-back-confirm')).click();
    await undo.locator(at('put-back-result')).waitFor();
    assert.deepEqual((await calls(tab, 'putBack'))[1], [{ seq: 24 }]);
    await of(23).locator(at('changes-put-back-all')).focus();
    await tab.keyboard.press('Escape');
    assert.equal(await of(23).locator(at('change-row')).count(), 0);
    assert.equal(await focus(tab), 'changes-open');
  }));

test('a session of which less is kept than was read says so, and a new look shows what is left', () =>
  session(async (tab, of) => {
    await of(23).locator(at('changes-open')).click();
    await of(23).locator(at('change-row')).first().waitFor();
    await tab.evaluate(() => (window.mock.sessions[23] = window.kept.together({ first: 23, last: 23, runs: 1 }, 1)));
    await of(23).locator(at('change-put-back')).first().click();
    assert.match(await of(23).locator(at('change-error')).textContent(), /Some of it is not kept any more/);
    await of(23).locator(at('changes-open')).click();
    await of(23).locator(at('changes-open')).click();
    await of(23).locator(at('session-lost')).waitFor();
    assert.match(await of(23).textContent(), /\(1 run\)[^]*1 more run changed something that is not kept/);
    assert.equal(await of(23).locator(at('change-error')).count(), 0);
  }));

test('what a session changed fits and is accessible in every language, theme and width', async () => {
  for (const [language, theme, width] of [
    ['en', 'light', 360],
    ['zh', 'dark', 1160],
    ['ko', 'light', 360],
  ]) {
    await session(
      async (tab, of) => {
        await of(23).locator(at('changes-open')).click();
        await of(23).locator(at('change-row')).first().waitFor();
        await of(23).locator(at('changes-put-back-all')).click();
        await armed(tab, at('changes-put-back-confirm'));
        await tab.evaluate(AXE);
        const violations = () =>
          tab.evaluate(async () =>
            (await window.axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`),
          );
        assert.deepEqual(await violations(), [], `${language}, asked`);
        await of(23).locator(at('changes-put-back-confirm')).click();
        await of(23).locator(at('put-back-result')).waitFor();
        assert.deepEqual(await violations(), [], `${language}, done`);
        assert.ok(
          (await excess(tab)).every((pixels) => pixels <= 0),
          `${language} at ${width}`,
        );
      },
      { language, theme, width },
    );
  }
});

test('what nobody knows, what fails and what is empty is said', () =>
  changed(
    ['build'],
    async (tab) => {
      assert.match(
        await tab.textContent(at('changes-unknown')),
        /Nothing is known of what changed in\s+\/home\/mina\/src\/engine:\s+no space left/,
      );
      assert.equal(await tab.locator(at('changes-open')).count(), 0);
      await tab.evaluate(() => {
        const { kept, mock } = window;
        mock.changed(kept.line(40, Date.now(), { samples: [], more: 0 }, 'other'), { samples: [], more: 0 });
        mock.fail('keptChanges', 'internal', 'a1: no such state');
      });
      const row = tab.locator(`${at('history-row')}[data-seq="40"]`);
      await row.locator(at('changes-open')).click();
      assert.match(await row.locator(at('changes-error')).textContent(), /a1: no such state/);
      await row.locator(at('changes-open')).click();
      await row.locator(at('changes-open')).click();
      await row.getByText('Nothing differs.').waitFor();
    },
    { differs: { problem: 'no space left on the disk' } },
  ));

test('a difference that cannot be read says why, and the file can be put back all the same', () =>
  changed(['build'], async (tab) => {
    await open(tab);
    await tab.evaluate(() => window.mock.fail('keptDiff', 'internal', 'the object is damaged'));
    await file(tab, 0).locator(at('change-open')).click();
    assert.match(await file(tab, 0).locator(at('change-error')).textContent(), /the object is damaged/);
    await file(tab, 0).locator(at('change-put-back')).click();
    await file(tab, 0).locator(at('put-back-result')).waitFor();
  }));

test('a long list comes in parts, and says what is in none of them', () =>
  changed(['many'], async (tab) => {
    await open(tab);
    assert.equal(await tab.locator(at('change-row')).count(), 100);
    assert.match(await tab.textContent(at('changes-unlisted')), /and 4210 more that are not listed here/);
    await tab.click(at('changes-more'));
    assert.equal(await tab.locator(at('change-row')).count(), 200);
    await confirm(tab);
    assert.match(await tab.textContent(at('put-back-result')), /5210 put back\./);
  }));

test('hostile names and lines hide nothing and widen nothing at 360×300', async () => {
  for (const language of ['en', 'zh', 'ko']) {
    await changed(
      ['hostile'],
      async (tab) => {
        await open(tab);
        for (const opener of await tab.locator(at('change-open')).all()) await opener.click();
        await confirm(tab);
        const said = await tab.textContent(`${at('changes')}[data-seq="20"]`);
        assert.doesNotMatch(said, /[\u200b\u202e\u2066-\u2069\u0007]/);
        assert.match(said, /U\+202E/);
        assert.equal(await tab.locator(`${at('changes')} img`).count(), 0);
        for (const id of ['change-put-back', 'changes-put-back-all', 'put-back-conflict']) {
          for (const one of await tab.locator(at(id)).all()) {
            const box = await one.boundingBox();
            assert.ok(box.x >= 0 && box.x + box.width <= 360, `${language} ${id}: ${JSON.stringify(box)}`);
          }
        }
        const path = await file(tab, 0).locator(at('change-open')).boundingBox();
        assert.ok(path.width >= 180, `a path has only ${path.width} px`);
        assert.ok((await excess(tab)).every((pixels) => pixels <= 0));
      },
      { width: 360, height: 300, language, differs: { leftOut: 1 } },
    );
  }
});

for (const theme of ['light', 'dark']) {
  test(`no accessibility violation: what changed, ${theme}`, async () => {
    for (const language of ['en', 'zh', 'ko']) {
      await changed(
        ['build', 'conflicts'],
        async (tab) => {
          const violations = async () => {
            await tab.evaluate(AXE);
            return tab.evaluate(async () =>
              (await window.axe.run(document, { resultTypes: ['violations'] })).violations.map(
                ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`,
              ),
            );
          };
          await open(tab);
          for (const number of [2, 4]) {
            await file(tab, number).locator(at('change-open')).click();
            await file(tab, number).locator(at('change-diff')).waitFor();
          }
          await tab.click(at('changes-put-back-all'));
          assert.deepEqual(await violations(), [], `${language}, asked`);
          await tab.click(at('changes-keep'));
          await confirm(tab);
          assert.deepEqual(await violations(), [], `${language}, done`);
        },
        { theme, language, differs: { leftOut: 2 } },
      );
    }
  });
}
