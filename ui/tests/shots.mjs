// Writes screenshots with sample data: node tests/shots.mjs [folder]
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { add, armed, at, shows, start } from './harness.mjs';

/** Only pictures whose name has this in it. */
const wanted = process.argv[3] ?? '';
const folder = process.argv[2] ?? fileURLToPath(new URL('../test-results/shots', import.meta.url));
await mkdir(folder, { recursive: true });
const browser = await start();

async function shot(name, tab) {
  await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await tab.screenshot({ path: join(folder, `${name}.png`) });
  if (tab.errors.length > 0) console.error(name, tab.errors);
  await tab.done();
}

async function prompt(name, make, options, then) {
  if (!name.includes(wanted)) return;
  const tab = await browser.open('prompt', options);
  await add(tab, make[0], 'shot', ...make.slice(1));
  await shows(tab, 'shot');
  await then?.(tab);
  await shot(name, tab);
}

async function main(name, page, options, then) {
  if (!name.includes(wanted)) return;
  const tab = await browser.open('main', {
    width: 1160,
    height: 800,
    ...options,
    query: { page, cards: 'several' },
  });
  await tab.waitForSelector('body[data-ready="true"]');
  await then?.(tab);
  await shot(name, tab);
}

const PAGES = ['inbox', 'allowlist', 'rules', 'policy', 'history', 'settings'];

/** What makes a page show more of itself. */
const THEN = {
  allowlist: async (tab) => {
    await tab.check(`${at('scopes')} [value="coder"]`);
    await tab.fill(at('test-command'), 'npm run build');
    await tab.waitForSelector(at('test-verdict'));
    await tab
      .locator(`${at('entry')} input`)
      .nth(1)
      .check();
  },
  rules: (tab) => tab.waitForSelector(at('breadth')),
  policy: async (tab) => {
    await tab.check(`${at('scopes')} [value="coder"]`);
    await tab.check(`${at('switch-ask')} [value="on-miss"]`);
  },
};

/** Opens the sheet, picks a rung, and waits until it can be stored. */
function sheet(rung) {
  return async (tab) => {
    await armed(tab);
    await tab.click(at('allow-more'));
    await tab.check(`${at('sheet-option')}[value="${rung}"]`);
    await tab.waitForSelector(`${at('allow-always-confirm')}[data-armed="true"]`);
  };
}

for (const theme of ['light', 'dark']) {
  await prompt(`prompt-short-${theme}`, ['card'], { theme }, armed);
  await prompt(`prompt-hostile-${theme}`, ['hostile'], { theme, width: 680, height: 900 }, async (tab) => {
    for (const id of ['b', 'c', 'd']) await add(tab, 'card', id);
    await tab.waitForSelector(at('queue-button'));
  });
  await prompt(`prompt-360x300-${theme}`, ['card'], { theme, width: 360, height: 300 });
  await prompt(`prompt-hostile-360x300-${theme}`, ['hostile'], { theme, width: 360, height: 300 });
  await prompt(`prompt-sheet-${theme}`, ['harmless'], { theme, height: 720 }, sheet('shape'));
  await prompt(`prompt-sheet-360x300-${theme}`, ['card'], { theme, width: 360, height: 300 }, sheet('exact'));
  await prompt(`prompt-sheet-hostile-${theme}`, ['chained'], { theme, width: 680, height: 830 }, sheet('exact'));
  await prompt(`prompt-chain-${theme}`, ['chained'], { theme }, armed);
}
await prompt('prompt-chain-360x300', ['chained'], { width: 360, height: 300 });
await prompt('prompt-sheet-zh', ['harmless'], { language: 'zh', height: 720 }, sheet('subcommand'));
await prompt('prompt-sheet-ko', ['card'], { language: 'ko' }, sheet('exact'));
await prompt('prompt-ko', ['card'], { language: 'ko' });
await prompt('prompt-zh-dark', ['hostile'], { language: 'zh', theme: 'dark' });
await prompt('prompt-long', ['longArgument', 200_000], {});
await prompt('prompt-opaque', ['unanalysed'], {});
await prompt('prompt-zoomed', ['hostile'], { scale: 2 });
await prompt('prompt-360x300-zoomed', ['card'], { width: 360, height: 300, scale: 2 });
await prompt('prompt-expired', ['card'], { motion: 'reduce' }, async (tab) => {
  await tab.evaluate(() => window.mock.emit({ kind: 'card-closed', id: 'shot', outcome: { kind: 'expired' } }));
  await tab.waitForSelector(at('outcome'));
});
for (const theme of ['light', 'dark']) {
  for (const page of PAGES) {
    await main(`${page}-${theme}`, page, { theme }, THEN[page]);
  }
}
for (const page of PAGES) {
  await main(`${page}-720x480`, page, { width: 720, height: 480 });
  await main(`${page}-ko`, page, { language: 'ko' });
}
await browser.close();
