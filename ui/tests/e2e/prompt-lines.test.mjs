import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, armed, at, places, shows, start, waited } from '../harness.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

async function prompt(make, body, options) {
  const tab = await browser.open('prompt', options);
  await add(tab, ...make);
  await shows(tab, make[1]);
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

/** What is drawn behind the text of each line, and the line's own text. */
function lines(tab) {
  return tab.$$eval(`${at('command')} .argument .line`, (all) =>
    all.map((line) => line.innerText + getComputedStyle(line, '::after').content.replaceAll(/["/ ]|none|normal/g, '')),
  );
}

test('a here-document is read as lines, without an alarm', () =>
  prompt(['hereDocument', 'a'], async (tab) => {
    const shown = await lines(tab);
    assert.equal(shown.length, 7);
    assert.equal(shown[0], "cat > docs/harbour.md <<'EOF'↵");
    assert.match(shown[2], /^→?\t?The pier is closed on Thursday\.␣␣↵$/);
    assert.equal(shown[4].trim(), '↵');
    assert.equal(shown[6], 'npm run --silent lint↵');
    assert.equal(await tab.locator(at('strange')).count(), 0);
    assert.equal(await tab.locator(`${at('command')} .escape`).count(), 0);
    assert.match(await tab.textContent(at('shell')), /bash\s*-lc/);
    const rows = await places(tab, `${at('command')} .argument .line`);
    assert.ok(
      rows.every((row, index) => index === 0 || row[1] >= rows[index - 1][1] + 10),
      'one below the other',
    );
  }));

test('what is wrapped is told from a line of its own', () =>
  prompt(['hereDocument', 'a'], async (tab) => {
    const long = tab.locator(`${at('command')} .line`, { hasText: 'Use dock 4' });
    const [first, second] = await long.evaluate((line) => {
      const range = document.createRange();
      range.selectNodeContents(line);
      return [...range.getClientRects()].map(({ left }) => left);
    });
    assert.ok(second > first + 5, `${first}, then ${second}`);
  }));

test('what hides something is still a code and still counted', () =>
  prompt(['hostileHereDocument', 'a'], async (tab) => {
    assert.match(await tab.textContent(at('strange')), /6 hidden characters and 1 look-alike letter/);
    const codes = await tab.locator(`${at('command')} .escape`).allTextContents();
    assert.deepEqual(codes, ['U+000D', 'U+202E', 'U+2066', 'U+2069', 'U+2066', 'U+200B']);
  }));

test('an argument with lines stays one box, and a name or a path with one alarms', () =>
  prompt(['linesInArguments', 'a'], async (tab) => {
    assert.deepEqual(await lines(tab), ['Fix␣the␣log-in↵', '↵', 'rm␣-rf␣/srv↵']);
    assert.equal(await tab.locator(at('argument')).count(), 8);
    assert.match(await tab.textContent(at('strange')), /2 hidden characters/);
  }));

test('a here-document of thousands of lines is complete, and allowed only at its end', () =>
  prompt(['longHereDocument', 'a', 4_000], async (tab) => {
    await tab.waitForSelector(at('command-end'), { state: 'attached' });
    assert.equal(await tab.locator(`${at('command')} .line`).count(), 4_002);
    await waited(tab);
    assert.equal(await tab.getAttribute(at('allow-once'), 'data-armed'), 'false');
    await tab.evaluate((end) => document.querySelector(end).scrollIntoView(), at('command-end'));
    await armed(tab);
  }));

test('a patch in a command stands beside its text as what it changes, and both are read before Allow', () =>
  prompt(
    ['patchInCommand', 'a'],
    async (tab) => {
      assert.match(await tab.textContent(at('verb')), /wants to run this itself/);
      assert.match((await lines(tab)).join(''), /\*\*\* Delete File: docs\/old\.md↵/);
      assert.equal(await tab.textContent(at('diff-patch')), 'What the patch in it says:');
      assert.equal(await tab.locator(at('diff')).count(), 2);
      await waited(tab);
      assert.equal(await tab.getAttribute(at('allow-once'), 'data-armed'), 'false');
      await tab.evaluate((end) => document.querySelector(end).scrollIntoView(), at('reading-end'));
      await armed(tab);
    },
    { width: 360, height: 300 },
  ));

test('the agent below the asking one, and what goes on in the background, are told in every language', async () => {
  for (const [language, expected] of [
    ['en', [/Sub-agent/, /goes on after the agent has its answer/]],
    ['zh', [/子智能体/, /仍会继续运行/]],
    ['ko', [/하위 에이전트/, /계속 실행됩니다/]],
  ]) {
    await prompt(
      ['ofSubAgent', 'a'],
      async (tab) => {
        const row = await tab.textContent('[data-fact="sub-agent"]');
        assert.match(row, /general-purpose\s*a2d16c525aa208a02/);
        assert.match(row, expected[0]);
        assert.match(await tab.textContent('[data-fact="background"]'), expected[1]);
      },
      { language },
    );
  }
});

test('a name of an agent below never passes for another text', () =>
  prompt(['ofHostileSubAgent', 'a'], async (tab) => {
    const row = tab.locator('[data-fact="sub-agent"]');
    assert.deepEqual(await row.locator('.escape').allTextContents(), ['U+202E']);
    const { width, height } = await row.boundingBox();
    assert.ok(width <= 560 && height <= 140, `${width} × ${height}`);
  }));

test('a file outside the agent’s folder is marked, and not as an alarm', () =>
  prompt(['outside', 'a'], async (tab) => {
    const note = tab.locator(`${at('diff-notes')} .attention`);
    assert.match(await note.textContent(), /outside the folder that the agent works in/);
    assert.equal(await tab.locator(`${at('diff-notes')} .danger`).count(), 0);
  }));
