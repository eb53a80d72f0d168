// Writes screenshots with sample data: node tests/shots.mjs [folder]
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { add, armed, at, shows, start } from './harness.mjs';

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
  const tab = await browser.open('prompt', options);
  await add(tab, make[0], 'shot', ...make.slice(1));
  await shows(tab, 'shot');
  await then?.(tab);
  await shot(name, tab);
}

async function main(name, page, options, then) {
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
  policy: async (tab) => {
    await tab.check(`${at('scopes')} [value="coder"]`);
    await tab.check(`${at('switch-ask')} [value="on-miss"]`);
  },
};

for (const theme of ['light', 'dark']) {
  await prompt(`prompt-short-${theme}`, ['card'], { theme }, armed);
  await prompt(`prompt-hostile-${theme}`, ['hostile'], { theme, width: 680, height: 900 }, async (tab) => {
    for (const id of ['b', 'c', 'd']) await add(tab, 'card', id);
    await tab.waitForSelector(at('queue-button'));
  });
  await prompt(`prompt-360x300-${theme}`, ['card'], { theme, width: 360, height: 300 });
  await prompt(`prompt-hostile-360x300-${theme}`, ['hostile'], { theme, width: 360, height: 300 });
  await prompt(`prompt-sheet-${theme}`, ['card'], { theme }, async (tab) => {
    await tab.click(at('allow-more'));
    await tab.waitForSelector(`${at('allow-always-confirm')}[data-armed="true"]`);
  });
}
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
  for (const page of ['inbox', 'allowlist', 'policy', 'history', 'settings']) {
    await main(`${page}-${theme}`, page, { theme }, THEN[page]);
  }
}
for (const page of ['inbox', 'allowlist', 'policy', 'history', 'settings']) {
  await main(`${page}-720x480`, page, { width: 720, height: 480 });
  await main(`${page}-ko`, page, { language: 'ko' });
}
await browser.close();
