import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, armed, at, left, shows, start, waited } from '../harness.mjs';

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

test('each argument is a box, an empty one too, and blanks inside are visible', () =>
  prompt(['hostile', 'a'], async (tab) => {
    const words = await tab.locator(at('argument')).allTextContents();
    assert.equal(words.length, 28);
    assert.ok(words.includes('nightly␣run␣ok'));
    assert.ok(words.some((word) => word.includes('empty argument')));
  }));

test('in an open folder the card says first what a box would not be let do', () =>
  prompt(['heldBack', 'a'], async (tab) => {
    assert.match(await tab.textContent(at('why')), /asked\.\s+The folder is open, but this reads keys[^]*\.env/);
    assert.doesNotMatch(await tab.textContent(at('why')), /Smallest change|has no entries/);
  }));

test('each blank of a run is painted, so that arguments which differ in them look different', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => {
    const card = window.cards.harmless('a', Date.now());
    const shown = {
      spans: [
        { kind: 'plain', text: 'a' },
        { kind: 'space', text: '   ' },
        { kind: 'plain', text: 'b' },
      ],
    };
    card.command.segments[0].args[1] = { role: 'argument', shown, missed: false };
    window.mock.emit({ kind: 'card-added', card });
  });
  await shows(tab, 'a');
  assert.equal(await tab.locator(at('argument')).nth(1).textContent(), 'a␣␣␣b');
  await tab.done();
});

test('hidden characters are painted as codes, and nothing hidden reaches the page', () =>
  prompt(['hostile', 'a'], async (tab) => {
    const text = await tab.textContent(at('command'));
    assert.match(text, /U\+202E/);
    assert.match(text, /U\+200B/);
    assert.ok(!/[\u202a-\u202e\u200b\u2066-\u2069]/.test(text));
    assert.match(text, /3 hidden characters and 1 look-alike letter/);
  }));

test('a secret is masked until it is revealed, and revealing starts the arming again', () =>
  prompt(['hostile', 'a'], async (tab) => {
    assert.ok(!(await tab.content()).includes('ghp_x81jQm2'));
    await tab.keyboard.press('End');
    await armed(tab);
    await tab.click(at('reveal'));
    assert.match(await tab.textContent(at('command')), /ghp_x81jQm2/);
    assert.equal(await tab.getAttribute(at('allow-once'), 'data-armed'), 'false');
    await tab.click(at('reveal'));
    assert.ok(!(await tab.content()).includes('ghp_x81jQm2'));
  }));

test('copy puts the exact command on the clipboard, also where the clipboard is not granted', () =>
  prompt(['card', 'a'], async (tab) => {
    await tab.evaluate(() => {
      document.addEventListener('copy', () => (window.copied = document.activeElement.value));
      Object.defineProperty(navigator, 'clipboard', {
        value: { writeText: () => Promise.reject(new Error('denied')) },
      });
    });
    await tab.click(at('copy'));
    await tab.waitForSelector(`${at('copy')}:has-text("Copied")`);
    assert.equal(await tab.evaluate(() => window.copied), 'git push --force origin main');
  }));

test('another machine is said in words, and the agent’s words never become markup', async () => {
  await prompt(['hostile', 'a'], async (tab) => {
    assert.equal(await tab.getAttribute(at('verb'), 'data-host'), 'remote');
    assert.match(await tab.textContent(at('verb')), /build-02[\s\S]*another machine/);
  });
  const tab = await browser.open('prompt');
  await tab.evaluate(() => {
    const agent = { spans: [{ kind: 'plain', text: '<img src=x onerror=alert(1)>' + 'x'.repeat(300) }] };
    window.mock.emit({ kind: 'card-added', card: window.cards.card('a', Date.now(), { agent }) });
  });
  await shows(tab, 'a');
  assert.equal(await tab.locator('img').count(), 0);
  assert.ok((await tab.locator(at('verdict')).boundingBox()).y > 300);
  assert.deepEqual(tab.errors, []);
  await tab.done();
});

test('flagged facts come first and ordinary ones are folded', () =>
  prompt(['hostile', 'a'], async (tab) => {
    const order = await tab.locator('[data-fact]').evaluateAll((rows) => rows.map((row) => row.dataset.fact));
    assert.deepEqual(order, ['environment', 'elevation', 'network', 'script', 'program', 'folder']);
  }));

test('the countdown follows the app’s clock, not the local one', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => {
    const ahead = 3_600_000;
    const local = Date.now();
    Date.now = () => local;
    const now = local + ahead;
    const { snapshot } = window.mock;
    window.mock.snapshot = async () => ({ ...(await snapshot()), nowMs: Date.now() + ahead });
    window.mock.skip();
    window.mock.emit({ kind: 'card-added', card: window.cards.card('a', now, { expiresAtMs: now + 50_500 }) });
  });
  await shows(tab, 'a');
  assert.match(await tab.textContent(at('countdown')), /Expires in 51 s, then it does not run/);
  await tab.done();
});

test('time left is read out at few moments', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => {
    const now = Date.now();
    window.mock.emit({ kind: 'card-added', card: window.cards.card('a', now, { expiresAtMs: now + 300_000 }) });
  });
  await shows(tab, 'a');
  assert.match(await tab.textContent(at('spoken')), /coder waits/);
  await left(tab, 10);
  await tab.waitForSelector(`${at('spoken')}:has-text("10 s left")`);
  await tab.done();
});

for (const [name, make] of [
  ['one argument of 200 kB', ['longArgument', 'a', 200_000]],
  ['4096 arguments', ['manyArguments', 'a', 4_096]],
]) {
  test(`${name} is on the screen with few elements, then complete, and arms only at its end`, async () => {
    const tab = await browser.open('prompt');
    const elements = await tab.evaluate(async ([make, ...rest]) => {
      const card = window.cards[make](rest[0], Date.now(), rest[1]);
      const painted = new Promise((resolve) => {
        window.mock.cardPainted = async () => {
          resolve(document.querySelectorAll('*').length);
          return 1;
        };
      });
      window.mock.emit({ kind: 'card-added', card });
      return painted;
    }, make);
    // What makes it quick: the first picture has no more than can be seen.
    assert.ok(elements < 1_500, `${elements} elements before the first picture`);
    await tab.waitForSelector(at('command-end'), { state: 'attached' });
    const length = (await tab.textContent(at('command'))).length;
    assert.ok(length > 40_000, String(length));
    assert.ok((await tab.locator('*').count()) < 6_000);
    await waited(tab);
    assert.equal(await tab.getAttribute(at('allow-once'), 'data-armed'), 'false');
    await tab.keyboard.press('End');
    await armed(tab);
    await tab.done();
  });
}

test('words of a very long argument are broken only between them', async () => {
  for (const width of [560, 720]) {
    await prompt(
      ['longArgument', 'a', 20_000],
      async (tab) => {
        const lines = await tab.evaluate(() => {
          const found = [];
          for (const { firstChild: text } of document.querySelectorAll('[data-testid="argument"] .packed')) {
            for (const { index } of text.data.slice(0, 2_000).matchAll(/word/g)) {
              const range = document.createRange();
              range.setStart(text, index);
              range.setEnd(text, index + 4);
              found.push(range.getClientRects().length);
            }
          }
          return found;
        });
        assert.ok(lines.length > 1_000, String(lines.length));
        assert.ok(
          lines.every((count) => count === 1),
          `${lines.filter((count) => count > 1).length} broken words`,
        );
      },
      { width },
    );
  }
});

test('a command with too many arguments says one thing: its beginning is shown, and it cannot be allowed', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => {
    document.addEventListener('copy', () => (window.copied = document.activeElement.value));
    Object.defineProperty(navigator, 'clipboard', {
      value: { writeText: () => Promise.reject(new Error('denied')) },
    });
    const card = window.cards.manyArguments('a', Date.now(), 5_000);
    window.mock.emit({ kind: 'card-added', card: { ...card, allowBlocked: 'too-many-arguments' } });
  });
  await shows(tab, 'a');
  await tab.waitForSelector(at('command-left'));
  const says = () => tab.textContent(at('card'));
  assert.match(await says(), /Allow is impossible: there are more arguments than can be shown/);
  assert.match(await says(), /Program and 5000 arguments, of which only the beginning is shown/);
  assert.match(await says(), /4501 more arguments are not shown/);
  assert.match(await tab.textContent(at('command-more')), /It goes on below/);
  assert.doesNotMatch(await says(), /Read to the end|in full|at the end/);
  await tab.keyboard.press('End');
  await tab.waitForSelector(at('command-more'), { state: 'detached' });
  assert.doesNotMatch(await says(), /Read to the end|in full|at the end/);
  await tab.click(at('copy'));
  await tab.waitForSelector(`${at('copy')}:has-text("Copied")`);
  assert.match(await tab.evaluate(() => window.copied), /^touch file-0\.txt .* file-4999\.txt$/);
  assert.deepEqual(tab.errors, []);
  await tab.done();
});

test('a text for a shell is shown in its parts, with the shell in front and the missed part marked', () =>
  prompt(['chained', 'a'], async (tab) => {
    assert.deepEqual(await tab.locator(`${at('shell')} ${at('argument')}`).allTextContents(), ['sh', '-c']);
    const parts = tab.locator(at('segment'));
    assert.equal(await parts.count(), 3);
    const missed = await parts.evaluateAll((parts) => parts.map((part) => part.classList.contains('missed')));
    assert.deepEqual(missed, [false, true, false]);
    assert.match(await parts.nth(1).textContent(), /2\s*&&\s*npm run build 2>&1/);
    assert.match(await tab.textContent(at('why')), /covers part 2/);
    assert.match(await tab.textContent(at('command')), /3 commands for a shell, shown in full/);
  }));

test('every part that nothing covers is marked and named, and facts are about all of them', () =>
  prompt(['uncovered', 'a'], async (tab) => {
    const parts = tab.locator(at('segment'));
    const missed = await parts.evaluateAll((parts) => parts.map((part) => part.classList.contains('missed')));
    assert.deepEqual(missed, [true, true, true]);
    assert.match(await tab.textContent(at('why')), /covers the parts 1, 2, 3 of the command/);
    const programs = await tab.textContent('[data-fact="program"]');
    assert.match(programs, /\/usr\/bin\/git\s+\/usr\/bin\/make\s+\/usr\/bin\/tee/);
    assert.match(await tab.textContent('[data-fact="network"]'), /git pull talks to other machines/);
  }));

test('a container with the machine in it is elevation, and "no sudo" is said only where all was seen', async () => {
  await prompt(['container', 'a'], async (tab) => {
    assert.match(await tab.textContent('[data-fact="elevation"]'), /another user’s rights through\s+docker run/);
    assert.doesNotMatch(await tab.textContent(at('body')), /no sudo/);
  });
  await prompt(['chained', 'b'], async (tab) => {
    assert.doesNotMatch(await tab.textContent(at('body')), /no sudo/);
  });
  await prompt(['card', 'c'], async (tab) => {
    assert.match(await tab.textContent(at('body')), /no sudo or the like/);
  });
});

test('what would run in a sandbox says so, with its network, its folder and its image', async () => {
  await prompt(['boxed', 'a'], async (tab) => {
    assert.equal(await tab.getAttribute(at('verb'), 'data-host'), 'sandbox');
    assert.match(await tab.textContent(at('verb')), /wants to run on\s+a sandbox on this machine/);
    const fact = await tab.textContent('[data-fact="sandbox"]');
    assert.match(fact, /has no network\s+can write to\s+\/home\/mina\/src\/storefront\s*$/);
    assert.match(await tab.textContent(at('always-unavailable')), /outside of it too/);
    await tab.click(`${at('why')} summary`);
    assert.match(await tab.textContent(at('trace')), /In a sandbox on this machine, without the network/);
  });
  await prompt(['boxed', 'b', 'debian:12'], async (tab) => {
    const fact = await tab.textContent('[data-fact="sandbox"]');
    assert.match(fact, /has the network[^]*programs of the image\s+debian:12/);
  });
});
