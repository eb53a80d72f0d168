import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, armed, at, calls, shows, start, state, waited } from '../harness.mjs';

const ALLOW = at('allow-once');

let browser;
before(async () => (browser = await start()));
after(() => browser.close());

/** Runs `body` on a prompt window that shows one card made by `make`. */
async function prompt(make, body, options) {
  const tab = await browser.open('prompt', options);
  await add(tab, make, 'a');
  await shows(tab, 'a');
  await body(tab);
  assert.deepEqual(tab.errors, []);
  await tab.done();
}

/** The decisions that were sent, as words. */
async function decisions(tab) {
  return (await calls(tab, 'decide')).map(([params]) => params.decision);
}

/** Lets everything that was started settle: two frames and the microtasks between. */
function settle(tab) {
  return tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

test('deny has the first focus, and Enter on it denies', () =>
  prompt('card', async (tab) => {
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'deny');
    await tab.keyboard.press('Enter');
    await state(tab, 'blank');
    assert.deepEqual(await decisions(tab), ['deny']);
  }));

test('keys that were meant for another window do nothing, and the window says so', () =>
  prompt('card', async (tab) => {
    await armed(tab);
    for (const key of ['Enter', 'Space', 'Control+d', 'Escape', 'Control+Shift+Enter', 'Tab', 'y'])
      await tab.stray(key);
    await settle(tab);
    assert.deepEqual(await decisions(tab), []);
    assert.deepEqual(await calls(tab, 'dismiss'), []);
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'deny');
    assert.match(await tab.textContent(at('verdict')), /Keys count after you click here/);
    await tab.keyboard.press('Enter');
    await state(tab, 'blank');
    assert.deepEqual(await decisions(tab), ['deny']);
  }));

test('a key that was pressed for one request does not answer the next', () =>
  prompt('card', async (tab) => {
    await add(tab, 'card', 'b');
    await tab.keyboard.press('Enter');
    await shows(tab, 'b');
    for (const key of ['Enter', 'Space', 'Control+d']) await tab.stray(key);
    await settle(tab);
    assert.deepEqual(await decisions(tab), ['deny']);
    await tab.keyboard.press('Enter');
    await state(tab, 'blank');
    assert.deepEqual(await decisions(tab), ['deny', 'deny']);
  }));

test('space on deny denies, and Ctrl+D denies from anywhere', async () => {
  await prompt('card', async (tab) => {
    await tab.keyboard.press('Space');
    await state(tab, 'blank');
    assert.deepEqual(await decisions(tab), ['deny']);
  });
  await prompt('card', async (tab) => {
    await tab.focus(at('copy'));
    await tab.keyboard.press('Control+d');
    await state(tab, 'blank');
    assert.deepEqual(await decisions(tab), ['deny']);
  });
});

test('allow arms only after the delay, and a click before that does nothing', () =>
  prompt('card', async (tab) => {
    assert.equal(await tab.getAttribute(ALLOW, 'data-armed'), 'false');
    assert.equal(await tab.getAttribute(ALLOW, 'aria-disabled'), 'true');
    assert.equal(await tab.getAttribute(ALLOW, 'disabled'), null);
    // By force: the driver waits for a button that says it is disabled.
    await tab.click(ALLOW, { force: true });
    await settle(tab);
    assert.deepEqual(await decisions(tab), []);
    await armed(tab);
    await tab.click(ALLOW);
    await state(tab, 'blank');
    assert.deepEqual(await decisions(tab), ['allow-once']);
  }));

test('no tip tells a readiness that may be over while it is still on screen', () =>
  prompt('card', async (tab) => {
    assert.equal(await tab.getAttribute(ALLOW, 'title'), null);
    await armed(tab);
    assert.equal(await tab.getAttribute(ALLOW, 'title'), null);
    assert.match(await tab.textContent('#allow-once-reason'), /Ctrl\+Shift\+Enter/);
  }));

test('a decision carries the id, the generation and the paint of the card that was seen', () =>
  prompt('card', async (tab) => {
    await armed(tab);
    await tab.click(ALLOW);
    await state(tab, 'blank');
    assert.deepEqual(await calls(tab, 'cardPainted'), [['a', 1]]);
    assert.deepEqual(await calls(tab, 'decide'), [[{ id: 'a', generation: 1, paint: 1, decision: 'allow-once' }]]);
  }));

test('the settings cannot make the delay shorter than its minimum', async () => {
  for (const armDelayMs of [1_500, 1]) {
    const tab = await browser.open('prompt', { waits: 'real', start: { settings: { armDelayMs } } });
    const began = Date.now();
    await add(tab, 'card', 'a');
    await armed(tab);
    // A timer may come a moment before its time.
    assert.ok(Date.now() - began >= 1_490, `${armDelayMs}: armed after ${Date.now() - began} ms`);
    assert.deepEqual(tab.errors, []);
    await tab.done();
  }
});

test('no key allows: not Enter, not Space, not a letter, also with an armed allow button in focus', () =>
  prompt('card', async (tab) => {
    await armed(tab);
    await tab.focus(ALLOW);
    for (const key of ['Enter', 'Space', 'a', 'y', 'Control+Enter', 'Shift+Enter', 'Alt+Enter']) {
      await tab.keyboard.press(key);
    }
    await tab.evaluate((selector) => document.querySelector(selector).click(), ALLOW);
    await settle(tab);
    assert.deepEqual(await decisions(tab), []);
    assert.equal(await tab.getAttribute('body', 'data-state'), 'card');
  }));

test('Ctrl+Shift+Enter allows once, but only when armed', () =>
  prompt('card', async (tab) => {
    await tab.keyboard.press('Control+Shift+Enter');
    await settle(tab);
    assert.deepEqual(await decisions(tab), []);
    await armed(tab);
    await tab.keyboard.press('Control+Shift+Enter');
    await state(tab, 'blank');
    assert.deepEqual(await decisions(tab), ['allow-once']);
  }));

test('a press that began before arming does not allow when it ends after', () =>
  prompt('card', async (tab) => {
    await tab.hover(ALLOW);
    await tab.mouse.down();
    await armed(tab);
    await tab.mouse.up();
    await settle(tab);
    assert.deepEqual(await decisions(tab), []);
  }));

test('a card that came into a hidden window counts as painted only once that is seen', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => {
    for (const [name, value] of Object.entries({ hidden: true, visibilityState: 'hidden' })) {
      Object.defineProperty(document, name, { configurable: true, get: () => value });
    }
  });
  await add(tab, 'card', 'a');
  await shows(tab, 'a');
  await settle(tab);
  await settle(tab);
  assert.deepEqual(await calls(tab, 'cardPainted'), []);
  await tab.evaluate(() => {
    delete document.hidden;
    delete document.visibilityState;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await armed(tab);
  assert.deepEqual(await calls(tab, 'cardPainted'), [['a', 1]]);
  assert.deepEqual(tab.errors, []);
  await tab.done();
});

test('a window that can be seen again disarms, and its end is in view as before', () =>
  prompt('card', async (tab) => {
    await armed(tab);
    await tab.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    assert.equal(await tab.getAttribute(ALLOW, 'data-armed'), 'false');
    await armed(tab);
  }));

test('regaining the focus disarms and starts the whole delay again', () =>
  prompt('card', async (tab) => {
    await armed(tab);
    await tab.evaluate(() => window.dispatchEvent(new Event('focus')));
    assert.equal(await tab.getAttribute(ALLOW, 'data-armed'), 'false');
    await armed(tab);
  }));

test('allow stays unarmed until the end of a long command was in view', () =>
  prompt('hostile', async (tab) => {
    await tab.waitForSelector(at('command-more'));
    assert.match(await tab.textContent(at('command-more')), /more commands? below/);
    await waited(tab);
    assert.equal(await tab.getAttribute(ALLOW, 'data-armed'), 'false');
    const description = await tab.getAttribute(ALLOW, 'aria-describedby');
    assert.match(await tab.textContent(`#${description}`), /Read to the end/);
    await tab.keyboard.press('End');
    await armed(tab);
  }));

test('a changed card is painted and armed anew', () =>
  prompt('card', async (tab) => {
    await armed(tab);
    await tab.evaluate(() => {
      const [card] = window.mock.cards;
      window.mock.emit({ kind: 'card-added', card: { ...card, generation: 2 } });
    });
    await tab.waitForSelector(`${at('card')}[data-generation="2"]`);
    assert.equal(await tab.getAttribute(ALLOW, 'data-armed'), 'false');
    await armed(tab);
    assert.deepEqual((await calls(tab, 'cardPainted')).at(-1), ['a', 2]);
  }));

test('the shown card is not replaced by a new one, and the next is armed anew', () =>
  prompt('card', async (tab) => {
    await add(tab, 'hostile', 'b');
    await tab.waitForSelector(at('queue-button'));
    assert.equal(await tab.getAttribute(at('card'), 'data-id'), 'a');
    await tab.click(at('deny'));
    await shows(tab, 'b');
    assert.equal(await tab.getAttribute(ALLOW, 'data-armed'), 'false');
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.testid), 'deny');
  }));

test('the second click of a double click on deny does not deny the next card', () =>
  prompt('card', async (tab) => {
    await add(tab, 'card', 'b');
    await tab.waitForSelector(at('queue-button'));
    await tab.dblclick(at('deny'));
    await shows(tab, 'b');
    await settle(tab);
    assert.equal((await calls(tab, 'decide')).length, 1);
  }));

test('the list of the others shows another card, and the first still waits', () =>
  prompt('card', async (tab) => {
    await add(tab, 'hostile', 'b');
    await tab.click(at('queue-button'));
    assert.match(await tab.textContent(at('queue-button')), /1 of 2/);
    await tab.keyboard.press('ArrowDown');
    await tab.keyboard.press('Enter');
    await shows(tab, 'b');
    assert.match(await tab.textContent(at('queue-button')), /2 of 2/);
    assert.deepEqual(await decisions(tab), []);
  }));

test('Esc sends the card to the inbox and blanks the window', () =>
  prompt('card', async (tab) => {
    await tab.keyboard.press('Escape');
    await state(tab, 'blank');
    await tab.waitForFunction(() => window.mock.calls.some((call) => call.name === 'promptBlank'));
    assert.deepEqual(await calls(tab, 'dismiss'), [['a']]);
    assert.deepEqual(await decisions(tab), []);
    const html = await tab.innerHTML('body');
    for (const word of ['coder', 'origin', '--force', 'fix-login']) assert.ok(!html.includes(word), word);
  }));

test('a card that was put aside comes back when the person opens it', () =>
  prompt('card', async (tab) => {
    await tab.keyboard.press('Escape');
    await state(tab, 'blank');
    await tab.evaluate(() => window.mock.emit({ kind: 'show-card', id: 'a' }));
    await shows(tab, 'a');
  }));

test('put aside cards of the snapshot are not shown by themselves', async () => {
  const tab = await browser.open('prompt', { start: { dismissed: ['a'] } });
  await add(tab, 'card', 'b');
  await shows(tab, 'b');
  await tab.done();
});

test('while prompts are paused nothing is shown unless the person chooses it', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() =>
    window.mock.emit({ kind: 'status-changed', status: { ...window.mock.status, paused: true } }),
  );
  await add(tab, 'card', 'a');
  await settle(tab);
  assert.equal(await tab.getAttribute('body', 'data-state'), 'blank');
  await tab.evaluate(() => window.mock.emit({ kind: 'show-card', id: 'a' }));
  await shows(tab, 'a');
  await tab.done();
});

for (const [name, outcome, words] of [
  ['expired', { kind: 'expired' }, /Expired unanswered/],
  ['withdrawn', { kind: 'cancelled', cause: 'requester-gone' }, /Withdrawn: nobody was there any more/],
  ['answered elsewhere', { kind: 'denied-elsewhere' }, /Denied elsewhere/],
]) {
  test(`a card that ${name === 'expired' ? '' : 'was '}${name} says so without buttons, then goes`, () =>
    prompt('card', async (tab) => {
      await armed(tab);
      await tab.evaluate(
        (outcome) => window.mock.emit({ kind: 'card-closed', id: 'a', outcome, by: 'phone' }),
        outcome,
      );
      await state(tab, 'outcome');
      assert.match(await tab.textContent(at('outcome')), words);
      assert.equal(await tab.locator(ALLOW).count(), 0);
      assert.equal(await tab.locator(at('deny')).count(), 0);
      await state(tab, 'blank');
      assert.equal(await tab.locator(at('card')).count(), 0);
    }));
}

test('a refusal after allowing is shown, not passed over', () =>
  prompt('card', async (tab) => {
    await armed(tab);
    await tab.evaluate(() => (window.mock.surprise = { kind: 'refused', reason: 'the program changed' }));
    await tab.click(ALLOW);
    await state(tab, 'outcome');
    assert.match(await tab.textContent(at('outcome')), /the program changed/);
  }));

test('errors of a decision: gone shows what happened, too early arms again, a store problem keeps the card', () =>
  prompt('card', async (tab) => {
    const answer = async (code) => {
      await armed(tab);
      await tab.evaluate((code) => window.mock.fail('decide', code, 'disk full'), code);
      await tab.click(ALLOW);
    };
    await answer('not-armed');
    await tab.waitForSelector(at('problem'));
    assert.equal(await tab.getAttribute(ALLOW, 'data-armed'), 'false');
    await answer('store');
    await tab.waitForSelector(`${at('problem')}:has-text("disk full")`);
    assert.equal(await tab.getAttribute(at('card'), 'data-id'), 'a');
    await answer('gone');
    await state(tab, 'outcome');
  }));

test('when the paint is not confirmed allow never arms, and deny still works', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => window.mock.fail('cardPainted', 'internal', 'no answer'));
  await add(tab, 'card', 'a');
  await tab.waitForSelector(at('problem'));
  assert.equal(await tab.getAttribute(ALLOW, 'data-armed'), 'false');
  await tab.click(at('deny'));
  await state(tab, 'blank');
  assert.deepEqual(await decisions(tab), ['deny']);
  await tab.done();
});

test('a card that closed before it was added never appears', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => window.mock.emit({ kind: 'card-closed', id: 'a', outcome: { kind: 'denied' } }));
  await add(tab, 'card', 'a');
  await add(tab, 'card', 'b');
  await shows(tab, 'b');
  assert.equal(await tab.locator(at('queue-button')).count(), 0);
  await tab.done();
});

test('after a lost message the window asks for a snapshot', () =>
  prompt('card', async (tab) => {
    await tab.evaluate(() => {
      window.mock.cards = [];
      window.mock.skip();
      window.mock.emit({ kind: 'document-changed', hash: 'x' });
    });
    await state(tab, 'outcome');
    assert.ok((await calls(tab, 'snapshot')).length >= 2);
  }));

test('only what was offered can be answered, and Esc works without deny', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => {
    const card = window.cards.card('a', Date.now(), { decisions: ['allow-once'] });
    window.mock.emit({ kind: 'card-added', card });
  });
  await shows(tab, 'a');
  assert.equal(await tab.locator(at('deny')).count(), 0);
  assert.equal(await tab.getAttribute(at('allow-more'), 'aria-disabled'), 'true');
  await tab.keyboard.press('Control+d');
  await tab.keyboard.press('Escape');
  await state(tab, 'blank');
  assert.deepEqual(await decisions(tab), []);
  await tab.done();
});

test('a command that is too long to read cannot be allowed, and the card says why', async () => {
  const tab = await browser.open('prompt');
  await tab.evaluate(() => {
    const card = window.cards.card('a', Date.now(), { allowBlocked: 'too-long' });
    window.mock.emit({ kind: 'card-added', card });
  });
  await shows(tab, 'a');
  assert.match(await tab.textContent(at('blocked')), /longer than a person can read/);
  await tab.waitForFunction(() => window.mock.calls.some((call) => call.name === 'cardPainted'));
  await tab.keyboard.press('Control+Shift+Enter');
  await tab.click(ALLOW, { force: true });
  assert.equal(await tab.getAttribute(ALLOW, 'aria-disabled'), 'true');
  assert.deepEqual(await decisions(tab), []);
  await tab.done();
});
