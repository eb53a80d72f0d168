// What a reader of the screen says of the prompt, and what is drawn for those who need contrast.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { add, armed, at, left, shows, start, state } from '../harness.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

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

/** Regions around the element that interrupt whoever listens, by their role or their own word. */
function interrupting(tab, selector) {
  return tab.evaluate((selector) => {
    const found = [];
    for (let one = document.querySelector(selector); one; one = one.parentElement) {
      const role = one.getAttribute('role');
      const own = role === 'alert' || role === 'alertdialog' ? 'assertive' : null;
      if ((one.getAttribute('aria-live') ?? own) === 'assertive') found.push(one.outerHTML.slice(0, 80));
    }
    return found;
  }, selector);
}

test('a prompt is announced with its command, as the window’s title too', () =>
  prompt(['card', 'a'], async (tab) => {
    const card = tab.locator(at('card'));
    assert.equal(await card.getAttribute('role'), 'alertdialog');
    const described = await tab.textContent(`#${await card.getAttribute('aria-describedby')}`);
    assert.equal(described, 'git push --force origin main');
    assert.equal(await tab.textContent(at('spoken')), 'coder waits for an answer: git push --force origin main');
    assert.equal(await tab.title(), 'coder: git push');
    await tab.keyboard.press('Control+d');
    await state(tab, 'blank');
    assert.equal(await tab.title(), 'Countersign');
    assert.equal(await tab.textContent(at('spoken')), '');
  }));

test('a countdown interrupts nobody, also in the sheet, and its moments are said politely', () =>
  prompt(['card', 'a', { expiresAtMs: Date.now() + 300_000 }], async (tab) => {
    assert.deepEqual(await interrupting(tab, at('countdown')), []);
    assert.deepEqual(await interrupting(tab, at('spoken')), []);
    await left(tab, 10);
    await tab.waitForSelector(`${at('spoken')}:has-text("10 s left to decide")`);
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    assert.deepEqual(await interrupting(tab, `${at('sheet')} ${at('countdown')}`), []);
  }));

test('the end of the time is said, and what became of the request', () =>
  prompt(['card', 'a', { expiresAtMs: Date.now() + 300_000 }], async (tab) => {
    await left(tab, 0);
    await tab.waitForSelector(`${at('spoken')}:has-text("The time is over.")`);
    await tab.evaluate(() => window.mock.emit({ kind: 'card-closed', id: 'a', outcome: { kind: 'expired' } }));
    await tab.waitForSelector(`${at('spoken')}:has-text("Expired unanswered: it does not run")`);
  }));

/** The line around Deny, as it is drawn. */
function ring(tab) {
  return tab.$eval(at('deny'), (button) => getComputedStyle(button).outlineStyle);
}

test('Deny has its ring whatever brought the focus there, and only while that is there', () =>
  prompt(['harmless', 'a'], async (tab) => {
    assert.equal(await ring(tab), 'solid');
    await tab.click(at('copy'));
    assert.equal(await ring(tab), 'none', 'another button has the focus');
    await add(tab, 'card', 'b');
    await armed(tab);
    await tab.click(at('allow-once'));
    await shows(tab, 'b');
    assert.equal(await ring(tab), 'solid', 'after a click, on the next card');
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    await tab.click(at('sheet-back'));
    await tab.waitForSelector(at('sheet'), { state: 'detached' });
    await tab.waitForFunction(() => document.activeElement.dataset.testid === 'allow-more');
    assert.equal(await ring(tab), 'none', 'what opened the sheet has the focus back');
  }));

for (const theme of ['light', 'dark']) {
  test(`where the desktop asks for contrast, all text has seven to one, ${theme}`, async () => {
    for (const make of ['card', 'hostile', 'harmless', 'plugin', 'patch', 'proposal']) {
      await prompt(
        [make, 'a'],
        async (tab) => {
          if (make === 'harmless') {
            await tab.click(at('allow-more'));
            await tab.waitForSelector(at('sheet-breadth'));
          }
          await tab.evaluate(AXE);
          const low = await tab.evaluate(async () => {
            const { violations } = await window.axe.run(document, { runOnly: ['color-contrast-enhanced'] });
            return violations.flatMap(({ nodes }) => nodes.map(({ html, any }) => `${html} ${any[0]?.message}`));
          });
          assert.deepEqual(low, [], make);
        },
        { theme, contrast: 'more' },
      );
    }
  });
}
