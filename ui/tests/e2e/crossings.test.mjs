import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, armed, at, calls, shows, start, state } from '../harness.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

const LANGUAGES = ['en', 'zh', 'ko'];

/** Runs `body` on a prompt that shows the card `make`. */
async function prompt(make, body, options = {}) {
  const tab = await browser.open('prompt', options);
  await add(tab, make, 'a');
  await shows(tab, 'a');
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

/** Runs `body` on a page of the main window. */
async function main(page, body, options = {}) {
  const tab = await browser.open('main', { width: 1160, height: 800, ...options, query: { page } });
  await tab.waitForSelector('body[data-ready="true"]');
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

const fact = (kind) => `[data-fact="crossing-${kind}"]`;
const facts = (tab) => tab.locator('[data-fact]').evaluateAll((rows) => rows.map((row) => row.dataset.fact));

test('the card shows destination, place, program, command, chain and what was reached', () =>
  prompt('crossing', async (tab) => {
    assert.match(await tab.textContent(at('verb')), /wants to reach this, out of its box/);
    assert.match(await tab.textContent(at('command')), /static\.crates\.io:443[^]*Host and port, shown in full/);
    assert.match(await tab.textContent(at('crossing-place')), /It is on the internet\.[^]*cargo wants it, as those in/);
    assert.match(
      await tab.textContent(at('why')),
      /no rule lets it reach[^]*until this run is over[^]*command goes on without it/,
    );
    assert.deepEqual(await facts(tab), ['crossing-command', 'crossing-chain', 'crossing-reached', 'folder']);
    assert.match(await tab.textContent(fact('command')), /cargo build --release/);
    assert.match(await tab.textContent(fact('chain')), /sh › cargo[^]*proves nothing/);
    assert.match(await tab.textContent(fact('reached')), /index\.crates\.io:443[^]*1 destination/);
    assert.match(await tab.textContent(at('countdown')), /then it is refused/);
    assert.match(await tab.getAttribute(at('allow-once'), 'title'), /until this run is over/);
    assert.equal(await tab.title(), 'coder: static.crates.io:443');
  }));

test('each place has a name and a grade of its own, in every language', async () => {
  const places = { crossing: 'ordinary', ownDatabase: 'attention', onTheLink: 'attention', cloudKeys: 'danger' };
  for (const language of LANGUAGES) {
    const said = new Set();
    for (const [make, grade] of Object.entries(places)) {
      await prompt(
        make,
        async (tab) => {
          const place = tab.locator(at('crossing-place'));
          assert.match(await place.getAttribute('class'), new RegExp(`\\b${grade}\\b`));
          said.add(await place.locator('p').first().textContent());
        },
        { language },
      );
    }
    assert.equal(said.size, Object.keys(places).length, language);
  }
});

test('a name that leads elsewhere than it promised says so first, and so does a destination that gets too much', async () => {
  await prompt('rebound', async (tab) => {
    assert.equal((await facts(tab))[0], 'crossing-addresses');
    assert.match(await tab.textContent(fact('addresses')), /127\.0\.0\.1::1[^]*somewhere else than the name promises/);
    assert.match(await tab.textContent(at('crossing-place')), /on this very machine/);
  });
  await prompt('upload', async (tab) => {
    assert.equal((await facts(tab))[0], 'crossing-sent');
    assert.match(await tab.textContent(fact('sent')), /already sent 1\.2 MB there; it wants to send more/);
    assert.match(await tab.textContent(at('verb')), /wants to send more/);
    assert.match(await tab.textContent(at('why')), /you are asked again/);
    assert.doesNotMatch(await tab.textContent(fact('addresses')), /somewhere else/);
  });
  await prompt('cloudKeys', async (tab) => {
    assert.equal(await tab.locator(fact('addresses')).count(), 0, 'an address leads to itself');
    assert.match(await tab.textContent(at('always-unavailable')), /nobody should go twice unasked/);
  });
});

test('the keyboard denies, allows and puts off a connection as it does a command', async () => {
  for (const [keys, decision] of [
    ['Enter', 'deny'],
    ['Control+D', 'deny'],
    ['Control+Shift+Enter', 'allow-once'],
  ]) {
    await prompt('crossing', async (tab) => {
      await armed(tab);
      await tab.keyboard.press(keys);
      await state(tab, 'blank');
      const decisions = (await calls(tab, 'decide')).map(([params]) => params.decision);
      assert.deepEqual(decisions, [decision], keys);
    });
  }
  await prompt('crossing', async (tab) => {
    await tab.keyboard.press('Escape');
    await state(tab, 'blank');
    assert.equal((await calls(tab, 'dismiss')).length, 1);
    assert.deepEqual(await calls(tab, 'decide'), []);
  });
});

test('what became of a connection is said in its own words', () =>
  prompt('crossing', async (tab) => {
    await tab.evaluate(() => window.mock.emit({ kind: 'card-closed', id: 'a', outcome: { kind: 'expired' } }));
    await tab.waitForSelector(at('outcome'));
    assert.match(await tab.textContent(at('outcome')), /Unanswered, not let out/);
    assert.match(await tab.textContent(at('spoken')), /Expired unanswered: it is refused/);
  }));

test('nothing that a box says breaks the smallest window, becomes markup or hides what it is', async () => {
  for (const language of LANGUAGES) {
    for (const [width, height] of [
      [360, 300],
      [560, 600],
    ]) {
      await prompt(
        'hostileCrossing',
        async (tab) => {
          const body = tab.locator(at('body'));
          assert.ok((await body.evaluate((node) => node.scrollWidth - node.clientWidth)) <= 0);
          const verdict = await tab.locator(at('verdict')).boundingBox();
          assert.ok(verdict.y > 0 && verdict.y + verdict.height <= height + 0.5, JSON.stringify(verdict));
          const text = await body.textContent();
          assert.match(text, /<b>allow<\/b>/);
          assert.ok(!/[\u202a-\u202e\u200b]/.test(text));
          assert.match(text, /U\+202E/);
          assert.equal((await tab.textContent(fact('chain'))).split('›').length, 40);
          assert.equal(await tab.locator(`${fact('reached')} .line`).count(), 60);
          for (const kind of ['command', 'chain', 'reached']) {
            const box = await tab.locator(fact(kind)).boundingBox();
            assert.ok(box.height < 200, `${language} ${kind}: ${box.height}`);
          }
          const place = await tab.locator(at('crossing-place')).boundingBox();
          const destination = await tab.locator(at('command')).boundingBox();
          assert.ok(place.height < 90 && place.y + place.height <= destination.y, JSON.stringify([place, destination]));
          assert.equal(await tab.getAttribute(at('allow-once'), 'data-armed'), 'false');
          await tab.locator(at('command-end')).scrollIntoViewIfNeeded();
          await armed(tab);
        },
        { width, height, language },
      );
    }
  }
});

test('both rungs are offered, and the one that is picked is remembered', () =>
  prompt('crossing', async (tab) => {
    await tab.click(at('allow-more'));
    const rungs = await tab.$$eval(at('sheet-option'), (found) => found.map((one) => one.value));
    assert.deepEqual(rungs, ['destination', 'registries']);
    assert.match(await tab.textContent(at('sheet-covers')), /static\.crates\.io:443[^]*\/home\/mina\/src\/engine/);
    await tab.check(`${at('sheet-option')}[value="registries"]`);
    assert.match(await tab.textContent(at('sheet')), /All registries of Rust crates/);
    const confirm = at('allow-always-confirm');
    assert.match(await tab.textContent(confirm), /Allow all registries of Rust crates in this session/);
    await armed(tab, confirm);
    await tab.click(confirm);
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.deepEqual(params.remember, { rung: 'registries', lasting: { kind: 'session' } });
  }));

test('what is on the same link is kept for the session at most, and the sheet says why', async () => {
  for (const language of LANGUAGES) {
    await prompt(
      'onTheLink',
      async (tab) => {
        await tab.click(at('allow-more'));
        assert.match(await tab.textContent(at('sheet-brief')), /8/);
        const kinds = await tab.$$eval(`${at('sheet-kind')} [value]`, (found) => found.map((one) => one.value));
        assert.deepEqual(kinds, ['for', 'session']);
      },
      { language },
    );
  }
});

test('rows of the inbox say that it is a connection, and where to when that is not the internet', () =>
  main('inbox', async (tab) => {
    for (const make of ['crossing', 'ownDatabase', 'cloudKeys', 'upload']) await add(tab, make, make);
    const row = (id) => tab.textContent(`${at('inbox-row')}[data-id="${id}"]`);
    await tab.waitForSelector(`${at('inbox-row')}[data-id="upload"]`);
    assert.match(await row('crossing'), /static\.crates\.io:443[^]*connection out of a box/);
    assert.doesNotMatch(await row('crossing'), /this machine|internet/);
    assert.match(await row('ownDatabase'), /on this very machine/);
    assert.match(await row('cloudKeys'), /gives out keys/);
    assert.match(await row('upload'), /sends more/);
  }));

test('the history shows connections, and what each run reached', () =>
  main('history', async (tab) => {
    await tab.waitForSelector(at('history-row'));
    await tab.evaluate(() => {
      const lines = [...window.crossings.crossed(Date.now()).reverse(), window.crossings.wandered(Date.now())];
      for (const entry of lines) window.mock.emit({ kind: 'history-appended', entry });
    });
    await tab.check(`${at('groups')} [value="crossings"]`);
    const row = (seq) => tab.locator(`${at('history-row')}[data-seq="${seq}"]`);
    assert.equal(await tab.locator(at('history-row')).count(), 4);
    assert.match(await row(21).textContent(), /Not let out[^]*metrics\.harbor\.example:443[^]*connection out of a box/);
    assert.match(await row(20).textContent(), /Let out for this run[^]*let out/);
    assert.match(await row(19).textContent(), /Ran in a box[^]*reached 2 destinations/);
    await row(19).locator('summary').click();
    const reached = row(19).locator(`${at('history-reached')} li`);
    assert.deepEqual(
      (await reached.allTextContents()).map((text) => text.trim()),
      ['index.crates.io:443 (812 B sent, 20.5 kB received)', 'static.crates.io:443 (1.2 kB sent, 3.4 MB received)'],
    );
    assert.equal(
      await row(30)
        .locator(`${at('history-reached')} li`)
        .count(),
      256,
    );
    assert.ok((await row(30).boundingBox()).height < 400);
    assert.ok(!/\u202e/.test(await row(30).textContent()));
    await tab.fill(at('history-search'), 'INDEX.crates');
    assert.equal(await tab.locator(at('history-row')).count(), 1);
  }));

test('rules about connections name destination, place, kind of packages and folder', () =>
  main('rules', async (tab) => {
    await tab.waitForSelector(at('rule'));
    await tab.evaluate(() => {
      window.mock.ruleView.calls.push(...window.crossings.crossingRules(Date.now()));
      window.mock.emit({ kind: 'rules-changed', hash: window.mock.ruleView.hash });
    });
    const row = (id) => tab.textContent(`${at('rule')}[data-id="${id}"]`);
    await tab.waitForSelector(`${at('rule')}[data-id="x-4"]`);
    assert.match(await row('x-1'), /Allow[^]*Connections out of a box to static\.crates\.io:443[^]*src\/engine/);
    assert.doesNotMatch(await row('x-1'), /internet/);
    assert.match(await row('x-2'), /localhost:5432[^]*on this very machine/);
    assert.match(await row('x-3'), /all registries of Python packages[^]*src\/engine/);
    assert.match(await row('x-4'), /Refuse[^]*of-a-later-version[^]*from any box/);
  }));

test('keys are lent for one signature, and the card says what that opens', () =>
  prompt('sshKeys', async (tab) => {
    assert.match(await tab.textContent(at('verb')), /wants to use your SSH keys, out of its box/);
    assert.match(await tab.textContent(at('crossing-keys')), /wherever your key does[^]*ssh wants it/);
    assert.match(await tab.textContent(at('command')), /ssh-agent[^]*shown in full/);
    assert.match(await tab.textContent(at('why')), /where your keys are not[^]*for one signature/);
    assert.deepEqual(await facts(tab), ['crossing-command', 'crossing-chain', 'folder']);
    assert.match(await tab.textContent(fact('chain')), /sh › git › ssh[^]*choose their names themselves/);
    assert.match(await tab.getAttribute(at('allow-once'), 'title'), /one signature/);
    assert.equal(await tab.locator(at('crossing-place')).count(), 0);
  }));
