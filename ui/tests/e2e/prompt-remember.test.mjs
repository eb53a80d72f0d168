import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, armed, at, calls, hold, places, shows, start, state } from '../harness.mjs';

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

async function prompt(make, body) {
  const tab = await browser.open('prompt');
  await add(tab, make, 'a');
  await shows(tab, 'a');
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

/** Lets everything that was started settle: two frames and the microtasks between. */
function settle(tab) {
  return tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** The decisions that were sent, as words. */
async function decisions(tab) {
  return (await calls(tab, 'decide')).map(([params]) => params.decision);
}

test('the sheet names the right, arms by the same rules and stores the picked rung and time', () =>
  prompt('harmless', async (tab) => {
    await armed(tab);
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    const confirm = at('allow-always-confirm');
    assert.equal(await tab.getAttribute(confirm, 'data-armed'), 'false');
    assert.match(await tab.textContent(confirm), /Allow this exact command 5 more times/);
    await tab.keyboard.press('Control+Shift+Enter');
    await armed(tab, confirm);
    await tab.check(`${at('sheet-option')}[value="shape"]`);
    assert.equal(await tab.getAttribute(confirm, 'data-armed'), 'false', 'another rung is another right');
    await armed(tab, confirm);
    await tab.check(`${at('sheet-kind')} [value="session"]`);
    assert.equal(await tab.getAttribute(confirm, 'data-armed'), 'false', 'another time is another right');
    assert.match(await tab.textContent(confirm), /Allow this shape in this session/);
    await armed(tab, confirm);
    await tab.focus(confirm);
    await tab.keyboard.press('Enter');
    await tab.keyboard.press('Space');
    await settle(tab);
    assert.deepEqual(await decisions(tab), []);
    await tab.click(confirm);
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.equal(params.decision, 'allow-always');
    assert.deepEqual(params.remember, { rung: 'shape', lasting: { kind: 'session' } });
  }));

test('each rung says what it covers, how far it would have reached, or why it is not offered', () =>
  prompt('harmless', async (tab) => {
    await tab.click(at('allow-more'));
    const covers = () => tab.textContent(at('sheet-covers'));
    assert.match(await covers(), /\/usr\/bin\/git[^]*exactly these arguments[^]*log[^]*--oneline/);
    await tab.waitForSelector(`${at('sheet-breadth')}:has-text("matched 4 of the last 200 commands")`);
    await tab.check(`${at('sheet-option')}[value="subcommand"]`);
    assert.match(await covers(), /and 41 more[^]*You denied 2 of them/);
    assert.equal(await tab.locator(at('sheet-option')).count(), 3);
    const withheld = tab.locator(at('sheet-withheld'));
    assert.equal(await withheld.getAttribute('data-rungs'), 'program');
    assert.equal(await withheld.isVisible(), false, 'what cannot be picked is folded');
    await tab.click(`${at('sheet-not-offered')} summary`);
    assert.match(await tab.textContent(at('sheet-not-offered')), /Not offered: This program[^]*It could delete/);
    assert.equal(await withheld.isVisible(), true);
  }));

for (const language of ['zh', 'ko', 'en']) {
  test(`what destroys is kept for the session at most, and the sheet says so in ${language}`, async () => {
    const tab = await browser.open('prompt', { width: 560, height: 600, language });
    await tab.evaluate(() => {
      const card = window.cards.harmless('a', Date.now());
      card.always = card.always.map((step) => (step.kind === 'offered' ? { ...step, longest: 'session' } : step));
      window.mock.emit({ kind: 'card-added', card });
    });
    await shows(tab, 'a');
    await tab.click(at('allow-more'));
    assert.match(await tab.textContent(at('sheet-brief')), /8/);
    const kinds = await tab.$$eval(`${at('sheet-kind')} [value]`, (found) => found.map((one) => one.value));
    assert.deepEqual(kinds, ['for', 'session']);
    const times = await tab.$$eval(`${at('sheet')} select option`, (found) => found.map((one) => Number(one.value)));
    assert.ok(times.length > 0 && Math.max(...times) <= 8 * 60 * 60 * 1000, `${times}`);
    const excess = await tab.evaluate(() => {
      const content = document.querySelector('[data-testid="sheet"] [role="region"]');
      return content.scrollHeight - content.clientHeight;
    });
    assert.ok(excess <= 0, `${excess} px are out of view`);
    await armed(tab, at('allow-always-confirm'));
    await tab.click(at('allow-always-confirm'));
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.equal(params.remember.lasting.kind, 'for');
    await tab.done();
  });
}

test('a number of times that is none is not stored, and no key in its field allows', () =>
  prompt('harmless', async (tab) => {
    await tab.click(at('allow-more'));
    const confirm = at('allow-always-confirm');
    await armed(tab, confirm);
    for (const wrong of ['0', '', '1001', '1.5']) {
      await tab.fill(at('sheet-uses'), wrong);
      await tab.waitForSelector(`${confirm}[data-armed="false"]`);
      assert.match(await tab.textContent(at('sheet')), /A number from 1 to 1000 is needed/);
    }
    await tab.fill(at('sheet-uses'), '3');
    await armed(tab, confirm);
    await tab.focus(at('sheet-uses'));
    await tab.keyboard.press('Enter');
    await tab.keyboard.press('Control+Enter');
    await settle(tab);
    assert.deepEqual(await decisions(tab), []);
    await tab.click(confirm);
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.deepEqual(params.remember, { rung: 'exact', lasting: { kind: 'uses', uses: 3 } });
  }));

test('nothing in the sheet moves once it is open, however late its figures come', () =>
  prompt('harmless', async (tab) => {
    await armed(tab);
    const release = await hold(tab, 'breadthOfCard');
    await tab.click(at('allow-more'));
    await armed(tab, at('allow-always-confirm'));
    const parts = `${at('sheet')} :is(label, button)`;
    const before = await places(tab, parts);
    await release();
    await settle(tab);
    assert.deepEqual(await places(tab, parts), before);
    assert.equal(await tab.locator(at('sheet-breadth')).count(), 0);
    assert.equal(await tab.getAttribute(at('allow-always-confirm'), 'data-armed'), 'true', 'the content is the same');
    await tab.click(at('sheet-back'));
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    assert.match(
      await tab.textContent(at('sheet-breadth')),
      /matched 4 of the last 200 commands/,
      'as soon as it is open',
    );
  }));

for (const [width, height] of [
  [560, 600],
  [680, 830],
]) {
  test(`everything that decides in the sheet is in view at ${width}×${height}, and no duration moves any of it`, async () => {
    for (const language of ['en', 'zh', 'ko']) {
      const tab = await browser.open('prompt', { width, height, language });
      await add(tab, 'harmless', 'a');
      await shows(tab, 'a');
      await tab.click(at('allow-more'));
      await tab.waitForSelector(at('sheet-breadth'));
      assert.equal(await tab.locator(`${at('sheet')} ${at('countdown')}`).isVisible(), true);
      for (const rung of ['exact', 'shape', 'subcommand']) {
        await tab.check(`${at('sheet-option')}[value="${rung}"]`);
        const parts = `${at('sheet')} :is(label, label > span, button)`;
        const before = await places(tab, parts);
        for (const kind of ['for', 'session', 'always', 'uses']) {
          await tab.check(`${at('sheet-kind')} [value="${kind}"]`);
          assert.deepEqual(await places(tab, parts), before, `${language} ${rung} ${kind}`);
          const excess = await tab.evaluate(() => {
            const content = document.querySelector('[data-testid="sheet"] [role="region"]');
            return content.scrollHeight - content.clientHeight;
          });
          assert.ok(excess <= 0, `${language} ${rung} ${kind}: ${excess} px are out of view`);
        }
      }
      await tab.done();
    }
  });
}

test('the sheet asks for the room it takes, and gives it back when it closes', () =>
  prompt('harmless', async (tab) => {
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    assert.deepEqual(await calls(tab, 'sizePrompt'), [[680, 830]]);
    await tab.setViewportSize({ width: 680, height: 830 });
    await tab.click(at('sheet-back'));
    assert.deepEqual((await calls(tab, 'sizePrompt')).slice(1), [[560, 600]]);
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    assert.equal((await calls(tab, 'sizePrompt')).length, 2, 'a window with room stays as it is');
    await tab.setViewportSize({ width: 900, height: 600 });
    await tab.click(at('sheet-back'));
    await tab.click(at('allow-more'));
    await armed(tab, at('allow-always-confirm'));
    assert.deepEqual((await calls(tab, 'sizePrompt')).slice(2), [[900, 830]]);
    await tab.click(at('allow-always-confirm'));
    await state(tab, 'blank');
    assert.deepEqual((await calls(tab, 'sizePrompt')).slice(3), [[900, 600]]);
  }));

test('the bar of a rung is as long as its share of the commands', () =>
  prompt('harmless', async (tab) => {
    await tab.evaluate(() => {
      window.mock.breadthOfCard = async () => [{ rung: 'exact', breadth: { of: 2, matched: 1, denied: 0 } }];
    });
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('breadth'));
    const [whole, met] = await tab.$$eval(`${at('breadth')} svg > rect`, (bars) =>
      bars.map((bar) => bar.getBoundingClientRect().width),
    );
    assert.equal(met / whole, 0.5);
  }));

test('the sheet does not open over another request than the one it was wanted for', () =>
  prompt('harmless', async (tab) => {
    await armed(tab);
    const release = await hold(tab, 'breadthOfCard');
    // At once, before the sheet opens without its figures.
    await tab.evaluate(
      (buttons) => buttons.forEach((button) => document.querySelector(button).click()),
      [at('allow-more'), at('deny')],
    );
    await state(tab, 'blank');
    await add(tab, 'harmless', 'b');
    await shows(tab, 'b');
    await release();
    await armed(tab);
    assert.equal(await tab.locator(at('sheet')).count(), 0);
  }));

test('the sheet works by keyboard alone', () =>
  prompt('harmless', async (tab) => {
    await tab.focus(at('allow-more'));
    await tab.keyboard.press('Enter');
    await tab.waitForSelector(at('sheet'));
    await tab.focus(`${at('sheet-option')}[value="exact"]`);
    await tab.keyboard.press('ArrowDown');
    assert.equal(await tab.isChecked(`${at('sheet-option')}[value="shape"]`), true);
    await tab.focus(`${at('sheet-kind')} [value="uses"]`);
    await tab.keyboard.press('ArrowRight');
    await tab.selectOption(at('sheet-time'), '3600000');
    const confirm = at('allow-always-confirm');
    await armed(tab, confirm);
    await tab.focus(confirm);
    await tab.keyboard.press('Control+Shift+Enter');
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.deepEqual(params.remember, { rung: 'shape', lasting: { kind: 'for', ms: 3_600_000 } });
  }));

test('without a session there is none to choose', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => {
    const card = window.cards.harmless('a', Date.now());
    delete card.session;
    window.mock.emit({ kind: 'card-added', card });
  });
  await shows(tab, 'a');
  await tab.click(at('allow-more'));
  assert.equal(await tab.locator(`${at('sheet-kind')} [value="session"]`).count(), 0);
  await tab.done();
});

test('Esc and Back close the sheet only', () =>
  prompt('card', async (tab) => {
    await tab.click(at('allow-more'));
    await tab.keyboard.press('Escape');
    await tab.waitForSelector(at('sheet'), { state: 'detached' });
    await tab.click(at('allow-more'));
    await tab.click(at('sheet-back'));
    await tab.waitForSelector(at('sheet'), { state: 'detached' });
    assert.deepEqual(await calls(tab, 'dismiss'), []);
  }));

test('an asker that remembers by itself gets allow-always without a scope', () =>
  prompt('peerAsk', async (tab) => {
    await armed(tab);
    await tab.click(at('allow-more'));
    assert.match(await tab.textContent(at('sheet')), /asker remembers/);
    await armed(tab, at('allow-always-confirm'));
    await tab.click(at('allow-always-confirm'));
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.deepEqual(Object.keys(params).sort(), ['decision', 'generation', 'id', 'paint']);
  }));

test('when nothing can be remembered the button is there without effect, and the card says why beside it', () =>
  prompt('unanalysed', async (tab) => {
    await armed(tab);
    const more = tab.locator(at('allow-more'));
    assert.equal(await more.getAttribute('aria-disabled'), 'true');
    const reason = tab.locator(`#${await more.getAttribute('aria-describedby')}`);
    assert.match(await reason.textContent(), /Cannot be remembered: the command could not be taken apart/);
    assert.equal(await reason.isVisible(), true);
    assert.match(await more.getAttribute('title'), /could not be taken apart/);
    await more.click({ force: true });
    await settle(tab);
    assert.equal(await tab.locator(at('sheet')).count(), 0);
    assert.match(await tab.textContent(at('spoken')), /could not be taken apart/);
    assert.deepEqual(await decisions(tab), []);
  }));

/**
 * Cards that offer different answers: each, one of the two that allow, none of them, no denial, an
 * asker that remembers.
 */
const OFFERS = [
  ['card'],
  ['hostile'],
  ['unanalysed'],
  ['peerAsk'],
  ['proposal'],
  ['incomplete'],
  ['openable'],
  ['onlyOpenable'],
  ['crossing'],
  ['cloudKeys'],
  ['card', { decisions: ['allow-always', 'deny'] }],
  ['card', { decisions: ['deny'] }],
  ['card', { decisions: ['allow-once'] }],
];

test('Allow once is where it is on every card, whatever else can be answered', async () => {
  for (const [width, height] of [
    [560, 600],
    [360, 300],
  ]) {
    for (const language of ['en', 'zh', 'ko']) {
      const found = [];
      for (const [make, ...differs] of OFFERS) {
        const tab = await browser.open('prompt', { width, height, language });
        await add(tab, make, 'a', ...differs);
        await shows(tab, 'a');
        found.push(await places(tab, `${at('allow-once')}, ${at('allow-more')}`));
        await tab.done();
      }
      for (const [index, place] of found.entries()) {
        assert.deepEqual(place, found[0], `${JSON.stringify(OFFERS[index])} ${language} ${width}`);
      }
    }
  }
});

test('a button whose answer the asker does not accept says so and answers nothing', async () => {
  const tab = await browser.open('prompt');
  await add(tab, 'card', 'a', { decisions: ['deny'] });
  await shows(tab, 'a');
  for (const button of ['allow-once', 'allow-more']) {
    assert.match(await tab.getAttribute(at(button), 'title'), /The asker does not accept this answer/);
    await tab.click(at(button), { force: true });
  }
  await settle(tab);
  assert.deepEqual(await decisions(tab), []);
  assert.equal(await tab.locator(at('sheet')).count(), 0);
  await tab.done();
});

test('changes of files are remembered for the file, its kind or the folder, and for this session unless said otherwise', () =>
  prompt('editOffered', async (tab) => {
    await tab.locator(at('body')).evaluate((body) => body.scrollTo({ top: body.scrollHeight }));
    await armed(tab);
    await tab.click(at('allow-more'));
    await tab.waitForSelector(at('sheet'));
    const confirm = at('allow-always-confirm');
    const covers = () => tab.textContent(at('sheet-covers'));
    assert.match(
      await covers(),
      /Changes of files below\s+\/home\/mina\/src\/storefront\/src\s*with names like\s+login\.ts/,
    );
    assert.match(await tab.textContent(confirm), /Allow changes of this file in this session/);
    const rungs = await tab.locator(at('sheet-option')).evaluateAll((options) => options.map(({ value }) => value));
    assert.deepEqual(rungs, ['file', 'kind', 'folder']);
    await tab.check(`${at('sheet-option')}[value="folder"]`);
    assert.equal((await covers()).trim(), 'Changes of files below /home/mina/src/storefront');
    assert.match(await tab.textContent(at('sheet')), /still asked about hidden files, build files, scripts, secrets/);
    await armed(tab, confirm);
    await tab.click(confirm);
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.deepEqual(params.remember, { rung: 'folder', lasting: { kind: 'session' } });
  }));
