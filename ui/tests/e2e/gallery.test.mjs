// What holds for every component in every state. Of what is right for single ones, the other tests tell.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { at, start } from '../harness.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Rules about the order of a page, of which here is a part hundreds of times. */
const OF_A_PAGE = ['heading-order', 'landmark-unique'];

/** All areas, and no navigation beside them. */
const WHOLE = { area: 'everything', framed: '1' };

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** What is wrong with states, a line each. */
function faults(tab) {
  return tab.$$eval(at('state'), (states) => {
    /** What a template leaves behind that was given nothing, or a catalogue whose sentence was not filled. */
    const UNFILLED = /\bundefined\b|\bNaN\b|\[object |(?<![$\\\w])\{[a-z]\w*\}|\bInvalid Date\b/;
    const drawn = 'svg, input, select, textarea, iframe';
    return states.flatMap((state) => {
      const { name, failed } = state.dataset;
      const found = [];
      const text = state.textContent;
      if (failed !== undefined) found.push(failed);
      if (text.trim() === '' && state.querySelector(drawn) === null) found.push('nothing is painted');
      if (state.getBoundingClientRect().height < 1) found.push('it has no height');
      const unfilled = UNFILLED.exec(text);
      if (unfilled)
        found.push(`a text was not filled: ${text.slice(Math.max(0, unfilled.index - 40), unfilled.index + 40)}`);
      const excess = state.scrollWidth - state.clientWidth;
      if (excess > 0) found.push(`it is ${excess} px too wide`);
      return found.map((fault) => `${name}: ${fault}`);
    });
  });
}

/** Violations of the accessibility rules in all states, as short lines; of `only` these rules where they are named. */
async function violations(tab, only = null) {
  return tab.evaluate(
    async ([skipped, only]) => {
      const rules = Object.fromEntries(skipped.map((rule) => [rule, { enabled: false }]));
      const options = {
        resultTypes: ['violations'],
        iframes: false,
        preload: false,
        selectors: false,
        elementRef: true,
      };
      const { violations } = await window.axe.run('main', { ...options, ...(only ? { runOnly: only } : { rules }) });
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ element, html }) => {
          const name = element?.closest('[data-testid="state"]')?.dataset.name;
          return `${name}: ${id}: ${html.slice(0, 160)}`;
        }),
      );
    },
    [OF_A_PAGE, only],
  );
}

test('every state is painted whole and can be read, in light and in dark, and fits 360 pixels', async () => {
  const tab = await browser.open('gallery', { width: 1160, height: 800, query: WHOLE });
  assert.deepEqual(await faults(tab), []);
  await tab.evaluate(AXE);
  assert.deepEqual(await violations(tab), []);
  await tab.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  // Nothing but colours differs.
  assert.deepEqual(await violations(tab, ['color-contrast']), [], 'dark');
  await tab.setViewportSize({ width: 360, height: 800 });
  assert.deepEqual(await faults(tab), []);
  assert.deepEqual(tab.errors, []);
  await tab.done();
});

for (const language of ['zh', 'ko']) {
  test(`every state fits 360 pixels: ${language}`, async () => {
    const tab = await browser.open('gallery', { width: 360, height: 800, query: { ...WHOLE, language } });
    assert.deepEqual(await faults(tab), []);
    assert.deepEqual(tab.errors, []);
    await tab.done();
  });
}
