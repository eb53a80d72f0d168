// Serves the mock build and drives the system's Chromium, the one without windows of its own where it is there.
import { createServer } from 'node:http';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('../test-results/mock', import.meta.url));
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

/** As strict as the app's own policy: nothing inline, nothing evaluated, nothing from elsewhere. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'";

/** Serves the mock build on a free port of this machine. */
export async function serve() {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://localhost').pathname);
    if (path === '/favicon.ico') return void response.writeHead(204).end();
    try {
      const body = await readFile(join(ROOT, path));
      // The gallery has pages of the windows in frames, which a window has none of.
      const policy = path === '/gallery.html' ? `${POLICY}; frame-src 'self'` : POLICY;
      response.writeHead(200, { 'content-type': TYPES[extname(path)], 'content-security-policy': policy });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${server.address().port}`;
  return { base, close: () => new Promise((resolve) => server.close(resolve)) };
}

/** One browser and one server for a file of tests. */
export async function start() {
  const server = await serve();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? BROWSERS.find((path) => existsSync(path)),
    args: ['--no-sandbox'],
  });
  const contexts = new Map();
  return {
    open: (page, options) => open(browser, contexts, server.base, page, options),
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}

/**
 * Opens a page of the mock, in a tab of the context for this scale: the UI stores nothing in the browser, and code that
 * a tab has compiled need not be compiled again by the next. `start` holds members of the mock backend to begin with.
 * What a person has to wait for is over when the test says so, by {@link armed} or a key, and not before; with
 * `waits: 'real'` it takes its time. Anything that the page logs as an error, a violation of the content security
 * policy included, is collected in `errors`.
 */
async function open(browser, contexts, base, page, options = {}) {
  const {
    width = 560,
    height = 600,
    theme = 'light',
    language = 'en',
    scale = 1,
    start = {},
    query = {},
    motion = 'reduce',
    contrast = 'no-preference',
    waits = 'held',
  } = options;
  if (!contexts.has(scale)) {
    const fixed = { deviceScaleFactor: scale, locale: 'en-GB', timezoneId: 'UTC', bypassCSP: false };
    contexts.set(scale, browser.newContext(fixed));
  }
  const tab = await (await contexts.get(scale)).newPage();
  tab.setDefaultTimeout(PATIENCE_MS);
  if (waits === 'held') await tab.addInitScript(holdWaits, [...ARMING_MS, ...QUIET_MS]);
  await tab.setViewportSize({ width: Math.round(width / scale), height: Math.round(height / scale) });
  await tab.emulateMedia({ colorScheme: theme, reducedMotion: motion, contrast });
  const errors = [];
  tab.on('pageerror', (error) => errors.push(String(error)));
  tab.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  const settings = {
    theme,
    language,
    armDelayMs: 1500,
    notifications: true,
    forwardedGrants: 'with-snapshot',
    limits: { waiting: 256, runSeconds: 0, outputKb: 200, historyMb: 128 },
    ...start.settings,
  };
  const search = new URLSearchParams({ start: JSON.stringify({ ...start, settings }), ...query });
  await tab.goto(`${base}/${page === 'main' ? 'index' : page}.html?${search}`);
  // In the gallery each state has a backend of its own.
  if (page === 'gallery') await tab.waitForSelector('body[data-ready="true"]');
  else await tab.waitForFunction(() => window.mock?.started);
  return Object.assign(tab, { errors, stray: meant(tab), done: () => tab.close() });
}

/**
 * Has every key of a test be one of a person who put the keyboard into the prompt and waited until its keys count; the
 * focus inside of it stays. What comes back presses keys that were meant for another window.
 */
function meant(tab) {
  const stray = tab.keyboard.press.bind(tab.keyboard);
  tab.keyboard.press = async (...key) => {
    if (await tab.$(at('card'))) {
      await tab.dispatchEvent(at('card'), 'pointerdown');
      await over(tab, QUIET_MS, `${at('card')}[data-keys="true"]`);
    }
    return stray(...key);
  };
  return stray;
}

/** Adds a sample card to the page's backend: `make` names a function of tests/mock/cards.ts or tools.ts. */
export async function add(tab, make, id, ...rest) {
  await tab.evaluate(
    ([make, id, rest]) => {
      const card = window.cards[make](id, Date.now(), ...rest);
      window.mock.emit({ kind: 'card-added', card });
    },
    [make, id, rest],
  );
  return id;
}

/** Keeps the backend from answering calls of this method until what comes back is called. */
export async function hold(tab, method) {
  await tab.evaluate((method) => {
    window.mock.held[method] = new Promise((resolve) => (window.release = resolve));
  }, method);
  return () => tab.evaluate(() => window.release());
}

/** Where everything that the selector finds is, and how large. */
export function places(tab, selector) {
  return tab.$$eval(selector, (all) => all.map((one) => Object.values(one.getBoundingClientRect().toJSON())));
}

/** Waits until the window shows the card `id`. */
export function shows(tab, id) {
  return tab.waitForSelector(`[data-testid="card"][data-id="${id}"]`);
}

/**
 * Runs in a page before its own scripts: timers of these lengths never come by themselves. `over` lets those come that
 * have waited until then, in their order.
 */
function holdWaits(lengths) {
  const held = new Map();
  const [start, stop] = [window.setTimeout, window.clearTimeout];
  // Above what a page counts up to.
  let last = 1e9;
  window.setTimeout = (work, ms, ...rest) => {
    if (!lengths.includes(ms)) return start.call(window, work, ms, ...rest);
    last += 1;
    held.set(last, { work, ms });
    return last;
  };
  window.clearTimeout = (id) => void (held.delete(id) || stop.call(window, id));
  window.over = (lengths) => {
    for (const [id, { work, ms }] of [...held]) if (lengths.includes(ms) && held.delete(id)) work();
  };
}

/** Has waits of these lengths be over, those that begin meanwhile too, until there is what the selector finds. */
function over(tab, lengths, selector) {
  return tab.waitForFunction(
    ([lengths, selector]) => {
      window.over?.(lengths);
      return document.querySelector(selector) !== null;
    },
    [lengths, selector],
  );
}

/** Has the delay of what lets something run be over, and waits until this works; Allow once, if it is not said. */
export function armed(tab, button = at('allow-once')) {
  return over(tab, ARMING_MS, `${button}[data-armed="true"]`);
}

/** Has the delay before Allow be over: what still keeps it from working is something else. */
export function waited(tab) {
  return over(tab, ARMING_MS, `${at('card')}[data-painted="true"][data-counting="false"]`);
}

/**
 * Delays before what lets something run works, in milliseconds: of the settings that pages begin with, and one
 * that a test sets.
 */
const ARMING_MS = [1_500, 1_600];

/** Without a key before keys count, in milliseconds. */
const QUIET_MS = [700];

/** Longest wait for what a page has to do. It says that a test fails, and never how fast the machine is. */
const PATIENCE_MS = 120_000;

/**
 * Sets the page's clock so that the request that came first has this many seconds left, and has it stand there. It is
 * half a second late: the page goes by the app's clock, which it reads some milliseconds after the app did.
 */
export function left(tab, seconds) {
  return tab.evaluate((seconds) => {
    const now = window.mock.cards[0].expiresAtMs - seconds * 1_000 + 500;
    Date.now = () => now;
  }, seconds);
}

export function state(tab, wanted) {
  return tab.waitForSelector(`body[data-state="${wanted}"]`);
}

/** Calls that the page made of one method. */
export function calls(tab, name) {
  return tab.evaluate((name) => window.mock.calls.filter((call) => call.name === name).map((call) => call.args), name);
}

export const at = (id) => `[data-testid="${id}"]`;

/** Has the history say all that it can say of itself, and its check find `damage`. */
export async function damaged(tab, damage = 'cut-at-start') {
  await tab.evaluate((damage) => {
    const now = Date.now();
    const chain = 'unasked';
    const notes = [
      { kind: 'damaged', chain, problem: 'expected line 41 after line 1, found line 42 '.repeat(6) },
      { kind: 'unrecorded', lines: 3, sinceMs: now - 90_000, problem: 'No space left on device (os error 28)' },
      { kind: 'power-lost', chain: 'decisions', last: 77 },
      { kind: 'folded', source: 'MCP, coder', lines: 44_790, sinceMs: now - 60_000, programs: ['true', 'cat'] },
      { kind: 'rotated', chain, removed: { first: 1, last: 9_000, hash: 'a'.repeat(64), lines: 9_000 } },
      { kind: 'rotated', chain: 'decisions' },
      { kind: 'adopted', last: 60 },
    ];
    for (const [index, note] of notes.reverse().entries()) {
      const entry = { seq: 120 + index, atMs: now + index, event: { kind: 'record', note } };
      window.mock.emit({ kind: 'history-appended', entry });
    }
    window.mock.verifyHistory = () =>
      Promise.resolve({
        lines: 40,
        broken: { damage, file: 'unasked.jsonl', line: 1, problem: 'expected the hash of line 40' },
        warnings: ['the second note of the heads is gone'],
      });
  }, damage);
  await tab.waitForSelector(`${at('history-row')}[data-seq="120"]`);
  await tab.click(at('verify'));
}
