import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { add, armed, at, shows, start } from '../harness.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PAGES = ['inbox', 'agents', 'allowlist', 'rules', 'folders', 'policy', 'history', 'connections', 'settings'];

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Violations of the accessibility rules, as short lines. */
async function violations(tab) {
  // Playwright's own evaluation is not bound by the page's policy.
  await tab.evaluate(AXE);
  return tab.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`);
  });
}

/** Every part of the verdict row lies inside of the window, and nothing scrolls the page itself. */
async function assertVerdict(tab, buttons = ['deny', 'allow-once']) {
  const size = tab.viewportSize();
  for (const id of ['verdict', 'countdown', ...buttons]) {
    const box = await tab.locator(at(id)).boundingBox();
    assert.ok(box, id);
    assert.ok(box.x >= -0.5 && box.x + box.width <= size.width + 0.5, `${id} is cut: ${JSON.stringify(box)}`);
    assert.ok(box.y >= 0 && box.y + box.height <= size.height + 0.5, `${id} is below: ${JSON.stringify(box)}`);
  }
  const scrolls = await tab.evaluate(() => document.scrollingElement.scrollHeight > innerHeight);
  assert.equal(scrolls, false);
  const body = await tab.locator(at('body')).boundingBox();
  assert.ok(body.height >= 40, `the body has only ${body.height} px`);
}

for (const scale of [1, 2]) {
  test(`the verdict row is whole from 360×300 to 1160×800 at ${scale * 100} %`, async () => {
    for (const [make, ...rest] of [
      ['card'],
      ['hostile'],
      ['chained'],
      ['longArgument', 200_000],
      ['unanalysed'],
      ['foreign'],
      ['hostilePlugin'],
      ['hostileTool'],
      ['incomplete'],
      ['openable'],
      ['onlyOpenable'],
      ['crossing'],
      ['cloudKeys'],
      ['hostileCrossing'],
    ]) {
      for (const language of ['en', 'zh', 'ko']) {
        const tab = await browser.open('prompt', { width: 360, height: 300, scale, language });
        await add(tab, make, 'a', ...rest);
        await shows(tab, 'a');
        for (const [width, height] of [
          [360, 300],
          [560, 600],
          [720, 480],
          [1160, 800],
        ]) {
          await tab.setViewportSize({ width: Math.round(width / scale), height: Math.round(height / scale) });
          await assertVerdict(tab);
        }
        await tab.done();
      }
    }
  });
}

test('labels keep their place and size when allow arms', async () => {
  const tab = await browser.open('prompt');
  await add(tab, 'card', 'a');
  await shows(tab, 'a');
  const before = await tab.locator(at('allow-once')).boundingBox();
  await armed(tab);
  assert.deepEqual(await tab.locator(at('allow-once')).boundingBox(), before);
  await tab.done();
});

for (const page of PAGES) {
  test(`${page} fits from 720×480 to 1160×800`, async () => {
    for (const [width, height] of [
      [720, 480],
      [1160, 800],
    ]) {
      for (const language of ['en', 'zh', 'ko']) {
        const tab = await browser.open('main', { width, height, language, query: { page, cards: 'several' } });
        await tab.waitForSelector(at('content'));
        const wide = await tab.evaluate(() => {
          const content = document.querySelector('[data-testid="content"]');
          return [document.scrollingElement.scrollWidth - innerWidth, content.scrollWidth - content.clientWidth];
        });
        assert.ok(
          wide.every((excess) => excess <= 0),
          `${language} ${width}: ${wide}`,
        );
        await tab.done();
      }
    }
  });
}

test('connections and inbox fit 360×300 with hostile names', async () => {
  for (const language of ['en', 'zh', 'ko']) {
    for (const page of ['connections', 'inbox']) {
      const tab = await browser.open('main', { width: 360, height: 300, language, query: { page, cards: 'several' } });
      await tab.waitForSelector(page === 'inbox' ? at('inbox-row') : at('own'));
      await tab.evaluate(() => {
        const { pairing, hostilePairing } = window.connections;
        const now = Date.now();
        window.mock.gateways.embedded.waiting = [hostilePairing('p', now), pairing('q', now)];
        for (const id of ['x', 'y']) {
          window.mock.emit({ kind: 'card-added', card: window.cards.hostilePlugin(id, now) });
        }
        window.mock.emit({ kind: 'connections-changed' });
      });
      await tab.waitForSelector(at('nav-devices'));
      const last = page === 'inbox' ? at('source') : `${at('pairing')}[data-id="q"] ${at('pairing-let-in')}`;
      await tab.locator(last).scrollIntoViewIfNeeded();
      const box = await tab.locator(last).boundingBox();
      assert.ok(box.x >= 0 && box.x + box.width <= 360, `${language} ${page}: ${JSON.stringify(box)}`);
      const wide = await tab.evaluate(() => {
        const content = document.querySelector('[data-testid="content"]');
        return [document.scrollingElement.scrollWidth - innerWidth, content.scrollWidth - content.clientWidth];
      });
      assert.ok(
        wide.every((excess) => excess <= 0),
        `${language} ${page}: ${wide}`,
      );
      await tab.done();
    }
  }
});

for (const theme of ['light', 'dark']) {
  for (const language of ['en', 'zh', 'ko']) {
    test(`no accessibility violation: prompt, ${theme}, ${language}`, async () => {
      for (const make of [
        'card',
        'harmless',
        'hostile',
        'chained',
        'unanalysed',
        'foreign',
        'hostilePlugin',
        'patch',
        'create',
        'hostileTool',
        'incomplete',
        'foreignTool',
        'handOver',
        'permit',
        'openable',
        'onlyOpenable',
        'crossing',
        'cloudKeys',
        'hostileCrossing',
      ]) {
        const tab = await browser.open('prompt', { theme, language });
        await add(tab, make, 'a');
        await add(tab, 'card', 'b');
        await shows(tab, 'a');
        await tab.waitForSelector(at('queue-button'));
        assert.deepEqual(await violations(tab), []);
        if (make === 'harmless' || make === 'chained') {
          await tab.click(at('allow-more'));
          await tab.waitForSelector(at('sheet-breadth'));
          assert.deepEqual(await violations(tab), [], `sheet of ${make}`);
        }
        if (make === 'openable' || make === 'onlyOpenable') {
          await tab.click(at('open-folder'));
          await tab.waitForSelector(at('sheet'));
          assert.deepEqual(await violations(tab), [], `sheet of ${make}`);
        }
        if (make === 'card') {
          await tab.click(at('queue-button'));
          assert.deepEqual(await violations(tab), [], 'queue');
          await tab.keyboard.press('Escape');
          await tab.click(at('allow-more'));
          assert.deepEqual(await violations(tab), [], 'sheet');
        }
        assert.deepEqual(tab.errors, []);
        await tab.done();
      }
      const blank = await browser.open('prompt', { theme, language });
      assert.deepEqual(await violations(blank), [], 'blank');
      await blank.done();
    });

    test(`no accessibility violation: main window, ${theme}, ${language}`, async () => {
      for (const page of PAGES) {
        const tab = await browser.open('main', {
          width: 1160,
          height: 800,
          theme,
          language,
          query: { page, cards: 'several' },
        });
        await tab.waitForSelector(at('content'));
        assert.deepEqual(await violations(tab), [], page);
        if (page === 'allowlist') {
          await tab.check('input[name="agent"][value="coder"]');
          await tab.fill(at('test-command'), 'npm run build');
          await tab.waitForSelector(at('test-verdict'));
          assert.deepEqual(await violations(tab), [], 'allowlist with a trace');
          await tab.click(at('entry-add'));
          assert.deepEqual(await violations(tab), [], 'entry dialog');
        }
        if (page === 'connections') {
          await tab.waitForSelector(at('own'));
          await tab.evaluate(() => {
            const { hostilePairing, gateway, hex } = window.connections;
            const problem = { kind: 'pin-mismatch', found: hex('other') };
            window.mock.gateways.embedded.waiting = [hostilePairing('p', Date.now())];
            window.mock.gateways.gateways.push(
              gateway('g', { pin: hex('harbor'), state: { kind: 'stopped', problem } }),
            );
            window.mock.emit({ kind: 'connections-changed' });
          });
          await tab.waitForSelector(`${at('remedy')}[data-kind="pin-mismatch"]`);
          assert.deepEqual(await violations(tab), [], 'a device that waits, and problems');
          await tab.locator(at('gateway-edit')).first().click();
          await tab.check(at('gateway-secret-set'));
          assert.deepEqual(await violations(tab), [], 'gateway dialog');
          await tab.keyboard.press('Escape');
          await tab.locator(at('device-remove')).first().click();
          assert.deepEqual(await violations(tab), [], 'removal of a device');
        }
        if (page === 'inbox') {
          await tab.evaluate(() => {
            const cards = window.cards;
            const now = Date.now();
            for (const card of [cards.hostilePlugin('h', now), cards.foreign('f', now), ...cards.many(500, 3, now)]) {
              window.mock.emit({ kind: 'card-added', card });
            }
          });
          await tab.waitForSelector(`${at('inbox-row')}[data-id="many-0"]`);
          await tab.check(at('select-all'));
          assert.deepEqual(await violations(tab), [], 'many requests, all selected');
        }
        if (page === 'rules') {
          await tab.waitForSelector(at('breadth'));
          assert.deepEqual(await violations(tab), [], 'rules with their breadth');
          await tab.locator(at('rule-change')).nth(2).click();
          assert.deepEqual(await violations(tab), [], 'change dialog');
          await tab.keyboard.press('Escape');
          await tab.click(at('rule-refuse'));
          assert.deepEqual(await violations(tab), [], 'refuse dialog');
        }
        if (page === 'folders') {
          await tab.waitForSelector(at('folder-reached-part'));
          assert.deepEqual(await violations(tab), [], 'open folders');
          await tab.locator(at('folder-change')).first().click();
          assert.deepEqual(await violations(tab), [], 'change dialog of a folder');
          await tab.keyboard.press('Escape');
          await tab.click(at('folder-open'));
          assert.deepEqual(await violations(tab), [], 'open dialog');
        }
        assert.deepEqual(tab.errors, []);
        await tab.done();
      }
    });
  }
}

for (const make of ['harmless', 'chained']) {
  test(`the sheet of ${make} fits from 360×300 to 680×830, and its buttons are always there`, async () => {
    for (const [width, height] of [
      [360, 300],
      [560, 600],
      [680, 830],
    ]) {
      for (const language of ['en', 'zh', 'ko']) {
        const tab = await browser.open('prompt', { width, height, language });
        await add(tab, make, 'a');
        await shows(tab, 'a');
        await tab.click(at('allow-more'));
        await tab.waitForSelector(at('sheet-breadth'));
        for (const id of ['sheet-back', 'allow-always-confirm']) {
          const box = await tab.locator(at(id)).boundingBox();
          assert.ok(box.x >= 0 && box.x + box.width <= width + 0.5, `${id} ${language}: ${JSON.stringify(box)}`);
          assert.ok(box.y >= 0 && box.y + box.height <= height + 0.5, `${id} ${language}: ${JSON.stringify(box)}`);
        }
        const excess = await tab.evaluate(() => {
          const content = document.querySelector('[data-testid="sheet"] [role="region"]');
          return content.scrollWidth - content.clientWidth;
        });
        assert.ok(excess <= 0, `${language} ${width}: ${excess}`);
        await tab.done();
      }
    }
  });
}

test('on a very wide screen no page is wider than an eye can follow, and what scrolls reaches the edge', async () => {
  for (const page of PAGES) {
    const tab = await browser.open('main', { width: 2560, height: 1440, query: { page, cards: 'several' } });
    await tab.waitForSelector(at('content'));
    const [content, title, widest] = await tab.evaluate(() => {
      const content = document.querySelector('[data-testid="content"]');
      const widths = [...content.children].map((child) => child.getBoundingClientRect().width);
      const box = (one) => one.getBoundingClientRect();
      return [box(content).right, box(document.querySelector('#page-title')).left, Math.max(...widths)];
    });
    assert.equal(content, 2560, page);
    assert.ok(widest <= 1400, `${page} is ${widest} px wide`);
    assert.ok(title > 600, `${page}: the title is at ${title}, not above what it names`);
    await tab.done();
  }
});
