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
