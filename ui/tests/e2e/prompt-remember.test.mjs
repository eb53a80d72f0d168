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
    await tab.waitForSelector(`${confirm}[data-armed="true"]`);
    await tab.check(`${at('sheet-option')}[value="shape"]`);
    assert.equal(await tab.getAttribute(confirm, 'data-armed'), 'false', 'another rung is another right');
    await tab.waitForSelector(`${confirm}[data-armed="true"]`);
    await tab.check(`${at('sheet-kind')} [value="session"]`);
    assert.equal(await tab.getAttribute(confirm, 'data-armed'), 'false', 'another time is another right');
    assert.match(await tab.textContent(confirm), /Allow this shape in this session/);
    await tab.waitForSelector(`${confirm}[data-armed="true"]`);
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
    assert.match(await withheld.textContent(), /Not offered\. It could delete/);
  }));

test('a number of times that is none is not stored, and no key in its field allows', () =>
  prompt('harmless', async (tab) => {
    await tab.click(at('allow-more'));
    const confirm = at('allow-always-confirm');
    await tab.waitForSelector(`${confirm}[data-armed="true"]`);
    for (const wrong of ['0', '', '1001', '1.5']) {
      await tab.fill(at('sheet-uses'), wrong);
      await tab.waitForSelector(`${confirm}[data-armed="false"]`);
      assert.match(await tab.textContent(at('sheet')), /A number from 1 to 1000 is needed/);
    }
    await tab.fill(at('sheet-uses'), '3');
    await tab.waitForSelector(`${confirm}[data-armed="true"]`);
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
    await tab.waitForSelector(`${at('allow-always-confirm')}[data-armed="true"]`);
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
    await tab.waitForSelector(`${confirm}[data-armed="true"]`);
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
    await tab.waitForSelector(`${at('allow-always-confirm')}[data-armed="true"]`);
    await tab.click(at('allow-always-confirm'));
    await state(tab, 'blank');
    const [[params]] = await calls(tab, 'decide');
    assert.deepEqual(Object.keys(params).sort(), ['decision', 'generation', 'id', 'paint']);
  }));

test('when nothing can be remembered the card says why', () =>
  prompt('unanalysed', async (tab) => {
    assert.equal(await tab.locator(at('allow-more')).count(), 0);
    assert.match(await tab.textContent(at('always-unavailable')), /could not be split/);
  }));
