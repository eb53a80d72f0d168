import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, armed, at, calls, shows, start, state, waited } from '../harness.mjs';

const ALLOW = at('allow-once');

/** A line of a diff. */
const ROW = '.rows > .row';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

async function prompt([make, ...rest], body, options) {
  const tab = await browser.open('prompt', options);
  await add(tab, make, 'a', ...rest);
  await shows(tab, 'a');
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

const isArmed = async (tab) => (await tab.getAttribute(ALLOW, 'data-armed')) === 'true';

/** Scrolls what is read so that the top of `selector` is `above` pixels above the lower edge of the reading area. */
function bring(tab, selector, above) {
  return tab.evaluate(
    ([selector, above]) => {
      const body = document.querySelector('[data-testid="body"]');
      const top = document.querySelector(selector).getBoundingClientRect().top;
      body.scrollBy({ top: top - body.getBoundingClientRect().bottom + above });
      return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    },
    [selector, above],
  );
}

/** Every line: what becomes of it, its numbers, the sign that is drawn, and what a reader of the screen hears. */
function lines(tab) {
  return tab.locator(ROW).evaluateAll((rows) =>
    rows.map((row) => {
      const drawn = getComputedStyle(row, '::before').content;
      return [row.dataset.numbers, /[+−]/.exec(drawn)?.[0] ?? ' ', row.textContent];
    }),
  );
}

test('a tool says what it wants, and its caller only calls itself something', () =>
  prompt(['patch'], async (tab) => {
    assert.match(
      await tab.textContent(at('verb')),
      /wants to change 3 files on\s+this machine\s+with the tool\s+apply_patch/,
    );
    assert.match(await tab.textContent(at('client')), /calls itself claude-code 2\.1/);
    assert.equal(await tab.title(), 'coder: apply_patch');
    assert.match(await tab.textContent(at('command')), /A tool call, no command for a shell/);
    assert.match(await tab.textContent(at('countdown')), /then nothing is done/);
    assert.doesNotMatch(await tab.textContent(at('body')), /no environment overrides|no sudo/);
  }));

test('each line of a diff is told by its numbers, a sign, a colour and a word', () =>
  prompt(['edit'], async (tab) => {
    assert.deepEqual(await lines(tab), [
      ['12 12', ' ', 'export async function login(form: LoginForm): Promise<Session> {'],
      ['13 13', ' ', '  const session = await api.post(routes.login, form);'],
      ['14   ', '−', "removed:   location.href = '/';"],
      ['   14', '+', "added:   const next = new URLSearchParams(location.search).get('next');"],
      ['   15', '+', "added:   location.href = next?.startsWith('/') ? next : '/';␣␣␣"],
      ['15 16', ' ', '  return session;'],
      ['16 17', ' ', '}'],
      ['48 49', ' ', 'export function logout() {'],
      ['49   ', '−', 'removed: \tvoid api.post(routes.logout);'],
      ['   50', '+', 'added: \tawait api.post(routes.logout);'],
      ['50 51', ' ', '}'],
    ]);
    const grounds = await tab
      .locator(ROW)
      .evaluateAll((rows) => new Set(rows.map((row) => getComputedStyle(row).backgroundColor)).size);
    assert.equal(grounds, 3);
    assert.deepEqual(await tab.locator('.gap').allTextContents(), ['11 unchanged lines', '31 unchanged lines']);
    assert.match(await tab.textContent(at('diff-counts')), /\+3 −2\s*3 lines added, 2 lines removed/);
  }));

test('a tab keeps its width under an arrow of its own', () =>
  prompt(['edit'], async (tab) => {
    const tabs = await tab.locator('.tab').evaluateAll((tabs) =>
      tabs.map((tab) => {
        const { left, width } = tab.getBoundingClientRect();
        const { content, position, textIndent } = getComputedStyle(tab, '::before');
        const line = document.createRange();
        line.selectNodeContents(tab.parentElement);
        const text = tab.nextSibling;
        line.setStart(text, 0);
        return [
          content,
          position,
          textIndent,
          width > 20,
          Math.round(line.getBoundingClientRect().left - left - width),
        ];
      }),
    );
    assert.deepEqual(tabs, Array(2).fill(['"→"', 'absolute', '0px', true, 0]));
  }));

test('hidden characters and look-alikes in a diff are marked as everywhere, in its path too', () =>
  prompt(['create'], async (tab) => {
    const text = await tab.textContent(at('reading'));
    assert.match(text, /userU\+202E U\+2066\/\/ Check if adminU\+2069 U\+2066"/);
    assert.match(text, /return true;U\+200B/);
    assert.ok(!/[\u202a-\u202e\u200b\u2066-\u2069]/.test(text));
    assert.match(
      await tab.textContent(`${at('diff')} ${at('strange')}`),
      /5 hidden characters and 2 look-alike letters/,
    );
    assert.equal(await tab.locator(`${at('diff')} h3 .alike`).count(), 1);
    assert.equal(await tab.locator(`${ROW} .alike`).count(), 1);
  }));

for (const [make, said] of [
  ['create', /New file/],
  ['overwrite', /Replaces all of it[^]*\/locales\/de\.json/],
  ['remove', /Deletes\s*\/home\/mina\/src\/storefront\/docs\/old notes\.md/],
  ['move', /Moves\s*from\s*\S+\/src\/login\.ts\s*to\s*\S+\/src\/session\/login\.ts[^]*content stays as it is/],
  ['binary', /What is there is not text[^]*another name too[^]*ends of its lines change[^]*<svg/],
  ['hostileTool', /Adds at the end[^]*Other programs run what is in this file[^]*may be started[^]*has no line end/],
]) {
  test(`what happens to a file is said in words: ${make}`, () =>
    prompt([make], async (tab) => assert.match(await tab.textContent(at('reading')), said)));
}

test('what runs by itself is a warning', () =>
  prompt(['patch'], async (tab) => {
    const warning = tab.locator(`${at('diff-notes')} .attention`);
    assert.match(await warning.textContent(), /Other programs run what is in this file by themselves/);
    assert.equal(await warning.locator('svg').count(), 1);
  }));

for (const [width, height] of [
  [560, 600],
  [360, 300],
]) {
  const size = { width, height };

  test(`allow waits until the end of the last diff was in view, at ${width}×${height}`, () =>
    prompt(
      ['patch'],
      async (tab) => {
        // The end of the command comes into view, the last diff begins, its last line is there: none of it is enough.
        for (const [selector, above] of [
          [at('command-end'), 40],
          [`${at('diff')}:nth-of-type(3)`, 20],
          [at('reading-end'), -2],
        ]) {
          await bring(tab, selector, above);
          await waited(tab);
          assert.equal(await isArmed(tab), false, selector);
          const reason = await tab.getAttribute(ALLOW, 'aria-describedby');
          assert.match(await tab.textContent(`#${reason}`), /Read to the end/);
        }
        await bring(tab, at('reading-end'), 2);
        await armed(tab);
        assert.match(await tab.textContent(at('reading-more')), /You are at the end/);
      },
      { ...size },
    ));

  test(`no line of a diff is hidden, however long it is, at ${width}×${height}`, async () => {
    for (const make of ['patch', 'create', 'secretLines', 'hostileTool', 'binary']) {
      await prompt(
        [make],
        async (tab) => {
          const hidden = await tab.evaluate(() => {
            const body = document.querySelector('[data-testid="body"]');
            const area = body.getBoundingClientRect();
            const wrong = [];
            for (const row of document.querySelectorAll('.rows > .row')) {
              // The end of the line itself, wherever it wraps to.
              const range = document.createRange();
              range.selectNodeContents(row);
              range.collapse(false);
              row.scrollIntoView({ block: 'end' });
              body.scrollBy({ top: 60 });
              const box = row.getBoundingClientRect();
              const inside = box.left >= area.left && box.right <= area.right && row.scrollWidth <= row.clientWidth;
              const seen = document.elementFromPoint(box.left + box.width / 2, box.bottom - 4);
              if (!inside || box.height < 10 || !row.contains(seen)) wrong.push([row.textContent.slice(0, 60), box]);
            }
            return { wrong, sideways: [body.scrollWidth - body.clientWidth, document.body.scrollWidth - innerWidth] };
          });
          assert.deepEqual(hidden, { wrong: [], sideways: [0, 0] }, make);
        },
        { ...size },
      );
    }
  });
}

test('a long call scrolls as one with what it would do, and its own end is not the end', () =>
  prompt(['hostileTool'], async (tab) => {
    const scroll = tab.locator(`${at('command')} [role="region"]`);
    assert.equal(await scroll.evaluate((region) => getComputedStyle(region).overflowY), 'visible');
    await bring(tab, at('command-end'), 40);
    await waited(tab);
    assert.equal(await isArmed(tab), false);
    assert.equal(await tab.locator(at('command-more')).count(), 0);
    await tab.keyboard.press('End');
    await armed(tab);
  }));

test('parts that are still below are counted', () =>
  prompt(['patch'], async (tab) => {
    await bring(tab, `${at('diff')}:nth-of-type(1)`, 60);
    await tab.waitForSelector(`${at('reading-more')}:has-text("2 more parts below")`);
    await bring(tab, `${at('diff')}:nth-of-type(3)`, 60);
    await tab.waitForSelector(`${at('reading-more')}:has-text("It goes on below")`);
    assert.match(await tab.textContent(at('diff-summary')), /3 files,\s+\+5 −5/);
  }));

test('a change that cannot be shown whole cannot be allowed, and says so', () =>
  prompt(['incomplete', { decisions: ['allow-once', 'allow-always', 'deny'] }], async (tab) => {
    assert.match(await tab.textContent(at('diff-notes')), /cannot be shown whole, so it cannot be allowed/);
    assert.match(await tab.textContent(at('blocked')), /Allow is impossible: a change cannot be shown whole/);
    await tab.keyboard.press('End');
    await waited(tab);
    await tab.keyboard.press('Control+Shift+Enter');
    await tab.click(ALLOW, { force: true });
    await tab.click(at('allow-more'), { force: true });
    assert.equal(await tab.getAttribute(ALLOW, 'aria-disabled'), 'true');
    assert.equal(await tab.locator(at('sheet')).count(), 0);
    await tab.keyboard.press('Control+d');
    await state(tab, 'blank');
    assert.deepEqual(
      (await calls(tab, 'decide')).map(([params]) => params.decision),
      ['deny'],
    );
  }));

test('a diff is read to its end and allowed by keyboard alone', () =>
  prompt(['patch'], async (tab) => {
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'deny');
    await waited(tab);
    let pages = 0;
    for (; !(await isArmed(tab)) && pages < 20; pages += 1) {
      await tab.keyboard.press('PageDown');
      await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    }
    assert.ok(pages > 1 && pages < 20, String(pages));
    await tab.keyboard.press('Control+Shift+Enter');
    await state(tab, 'blank');
    assert.deepEqual(
      (await calls(tab, 'decide')).map(([params]) => params.decision),
      ['allow-once'],
    );
  }));

test('a secret in a line is masked until it is revealed by keyboard, and that starts the arming again', () =>
  prompt(['secretLines'], async (tab) => {
    assert.ok(!(await tab.content()).includes('ghp_x81jQm2'));
    await tab.keyboard.press('End');
    await armed(tab);
    for (let steps = 0; steps < 10; steps += 1) {
      if (await tab.evaluate(() => document.activeElement.dataset.testid === 'reading-reveal')) break;
      await tab.keyboard.press('Shift+Tab');
    }
    await tab.keyboard.press('Enter');
    assert.match(await tab.textContent(at('reading')), /added: ghp_x81jQm2/);
    assert.equal(await isArmed(tab), false);
    await tab.keyboard.press('Enter');
    assert.ok(!(await tab.content()).includes('ghp_x81jQm2'));
  }));

test('the heading of a file stays in view while its lines are read, unless it would leave no room for them', async () => {
  const stays = async (tab) => {
    await bring(tab, `${ROW}:nth-child(40)`, 10);
    const [heading, body] = await Promise.all([
      tab
        .locator(`${at('diff')} header`)
        .first()
        .boundingBox(),
      tab.locator(at('body')).boundingBox(),
    ]);
    return Math.abs(heading.y - body.y) < 2;
  };
  await prompt(['overwrite'], async (tab) => assert.equal(await stays(tab), true));
  await prompt(['overwrite'], async (tab) => assert.equal(await stays(tab), true), { width: 360, height: 300 });
  await prompt(
    ['hostileTool'],
    async (tab) => {
      await bring(tab, ROW, 30);
      const heading = await tab
        .locator(`${at('diff')} header`)
        .first()
        .boundingBox();
      const body = await tab.locator(at('body')).boundingBox();
      assert.ok(heading.y + heading.height < body.y + body.height - 29, 'the heading lies over the lines');
    },
    { width: 360, height: 300 },
  );
});

for (const count of [5_000, 10_000]) {
  test(`${count} lines are on the screen, complete, and arm only at their end`, async () => {
    const tab = await browser.open('prompt');
    await tab.evaluate(async (count) => {
      const card = window.cards.overwrite('a', Date.now(), count);
      const painted = new Promise((resolve) => (window.mock.cardPainted = async () => resolve() ?? 1));
      window.mock.emit({ kind: 'card-added', card });
      await painted;
    }, count);
    const all = await lines(tab);
    assert.equal(all.length, count);
    assert.match(all.at(-1)[2], new RegExp(`added:   "new-${count / 2 - 1}"`));
    await waited(tab);
    assert.equal(await isArmed(tab), false);
    await tab.keyboard.press('End');
    await armed(tab);
    // Lines above are laid out as they come near; the last one has to stay in view through that.
    await tab.waitForFunction((row) => {
      const last = [...document.querySelectorAll(row)].at(-1).getBoundingClientRect();
      const body = document.querySelector('[data-testid="body"]').getBoundingClientRect();
      return last.top >= body.top && last.bottom <= body.bottom;
    }, ROW);
    assert.deepEqual(tab.errors, []);
    await tab.done();
  });
}

test('parameters of a foreign tool are shown whole, as its caller wrote them', () =>
  prompt(['foreignTool'], async (tab) => {
    assert.match(await tab.textContent(at('verb')), /wants to use the tool\s+mcp__chat__post_message\s+on/);
    const text = tab.locator(`${at('reading-text')} .text`);
    assert.match(await text.innerText(), /^\{\n {2}"channel": "#harbour-staff",[^]*"silent": false\n\}$/);
    assert.match(await tab.textContent(`${at('reading-text')} ${at('strange')}`), /1 look-alike letter/);
    assert.match(await tab.textContent(at('why')), /hook of the agent asks for your word/);
    assert.doesNotMatch(await tab.textContent(at('why')), /Policy:/);
    await waited(tab);
    assert.equal(await isArmed(tab), false);
    await tab.keyboard.press('End');
    await armed(tab);
  }));

test('a task is shown in the words that are handed over, and arms only at its end', () =>
  prompt(
    ['handOver'],
    async (tab) => {
      assert.match(await tab.textContent(at('verb')), /hand over a task/);
      assert.match(await tab.textContent(at('reading-text')), /Look through the open issues[^]*Do not change any file/);
      await waited(tab);
      assert.equal(await isArmed(tab), false);
      await tab.keyboard.press('End');
      await armed(tab);
    },
    { width: 360, height: 300 },
  ));

test('a command that the agent runs itself says that nobody looks again', () =>
  prompt(['permit'], async (tab) => {
    assert.match(await tab.textContent(at('verb')), /wants to run this itself on\s+this machine, once you allow it/);
    assert.match(await tab.textContent(at('permit-note')), /Nobody compares what runs then with what you read/);
    assert.match(await tab.textContent(at('command')), /Program and 4 arguments, shown in full/);
    assert.equal(await tab.title(), 'coder: git push');
    assert.match(await tab.textContent(at('allow-more')), /^\s*Allow…/);
  }));

for (const [via, words] of [
  ['tool', /tool call/],
  ['hook', /hook of the agent/],
  ['pet', /pet server/],
]) {
  test(`a request through a ${via} names that door`, () =>
    prompt(['foreignTool', { via }], async (tab) => assert.match(await tab.textContent('.from'), words)));
}

test('the inbox tells tools from commands, and says what is odd about what they would do', async () => {
  const tab = await browser.open('main', { width: 1160, height: 800, query: { page: 'inbox' } });
  const wanted = {
    patch: /tool[^]*3 files,\s+\+5 −5[^]*runs by itself/,
    create: /tool[^]*hidden characters[^]*look-alike letters/,
    incomplete: /tool[^]*not shown whole/,
    foreignTool: /tool[^]*look-alike letters/,
    permit: /run by the agent/,
  };
  for (const make of Object.keys(wanted)) await add(tab, make, make);
  for (const [make, words] of Object.entries(wanted)) {
    const row = tab.locator(`${at('inbox-row')}[data-id="${make}"]`);
    assert.match(await row.textContent(), words, make);
  }
  assert.deepEqual(tab.errors, []);
  await tab.done();
});

test('the history says what became of tools, through which door, and shows them alone', async () => {
  const tab = await browser.open('main', { width: 1160, height: 800, query: { page: 'history' } });
  await tab.waitForSelector(at('history-row'));
  await tab.evaluate(() => {
    const { event } = window.mock.lines.find(({ event }) => event.kind === 'request');
    const line = (seq, differs) => ({ seq, atMs: Date.now(), requestId: `t-${seq}`, event: { ...event, ...differs } });
    for (const entry of [
      line(18, { card: 'tool', via: 'hook', outcome: { kind: 'allowed-once' } }),
      line(19, { card: 'tool', via: 'pet', outcome: { kind: 'denied' } }),
      line(20, { card: 'permit', via: 'hook', outcome: { kind: 'allowed-once' } }),
    ]) {
      window.mock.emit({ kind: 'history-appended', entry });
    }
  });
  const row = (seq) => tab.locator(`${at('history-row')}[data-seq="${seq}"]`);
  assert.match(await row(18).textContent(), /tool · hook of the agent[^]*left to the tool/);
  assert.match(await row(19).textContent(), /tool · pet server[^]*not done/);
  assert.match(await row(20).textContent(), /run by the agent · hook of the agent[^]*run by the asker/);
  await tab.check(`${at('groups')} [value="tools"]`);
  const seqs = await tab.locator(at('history-row')).evaluateAll((rows) => rows.map((row) => row.dataset.seq));
  assert.deepEqual(seqs, ['19', '18']);
  assert.deepEqual(tab.errors, []);
  await tab.done();
});
