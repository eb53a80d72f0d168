import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { calledOn, canConnect, choicesOf, idOf, knownIn, saidOf, stateOf, troubleOf } from '../../src/lib/agents';
import { AGENTS_CATALOGUES } from '../../src/lib/i18n/agents/index.svelte';
import { setLocale } from '../../src/lib/i18n/index.svelte';
import { Feed } from '../../src/stores/feed.svelte';
import { AgentsStore } from '../../src/stores/agents.svelte';
import { agent, agents, asking, connection } from '../mock/agents';
import { MockBackend } from '../mock/backend';
import { shown } from '../mock/text';

afterEach(() => setLocale('en'));

test('what the app says of agents in English is known to every language, and nothing else is', () => {
  const source = ['hooked', 'mod', 'others'].map((file) =>
    readFileSync(`../crates/agents/src/known/${file}.rs`, 'utf8'),
  );
  const sentence = /(?:covers|misses|OWN_TOOLS: &str|OWN_EDITOR_TOOLS: &str)(?: =|:)\s*"((?:[^"\\]|\\.)*)"/g;
  const said = [...source.join('\n').matchAll(sentence)].map(([, text = '']) => text.replaceAll('\\"', '"'));
  const known = Object.keys(AGENTS_CATALOGUES.en.said);
  expect(known.toSorted()).toEqual([...new Set(said)].toSorted());
  for (const text of known) expect(saidOf(text)).toBe(text);
  setLocale('ko');
  expect(saidOf('every call of a tool')).toBe('모든 도구 호출');
  expect(saidOf('of a later version')).toBe('of a later version');
  expect(saidOf('toString')).toBe('toString');
});

test('an agent that would not be stopped never looks as if it asked', () => {
  const now = Date.now();
  expect(stateOf(agent('gemini'))).toBe('idle');
  expect(stateOf(agent('gemini', { found: false }))).toBe('gone');
  expect(stateOf(asking('gemini', 'hook', now))).toBe('asks');
  expect(stateOf(asking('codex', 'hook', now, { trust: 'no' }))).toBe('silent');
  expect(stateOf(asking('codex', 'hook', now, { trust: 'not-known' }))).toBe('asks');
  expect(stateOf(asking('codex', 'mcp', now, { programIsThere: false }))).toBe('silent');
  expect(stateOf({ ...asking('codex', 'hook', now), found: false })).toBe('gone');
  // What stands in settings alone turns no badge green.
  const states = {
    'not-all': 'trouble',
    nothing: 'silent',
    'our-tools': 'ours',
    own: 'asks',
    questions: 'questions',
  } as const;
  for (const calls of ['not-all', 'nothing', 'our-tools', 'own', 'questions'] as const)
    expect(stateOf({ ...asking('gemini', 'hook', now), calls })).toBe(states[calls]);
  expect(stateOf(asking('cursor', 'mcp', now))).toBe('ours');
});

test('what keeps an agent from asking is told with its file, in every language', () => {
  const now = Date.now();
  const path = shown('/etc/claude-code/managed-settings.json');
  const off = { kind: 'switched-off', setting: 'allowManagedHooksOnly', path } as const;
  const obstacles = [
    off,
    { ...off, within: shown('/src/p') },
    { kind: 'narrowed', path },
    { kind: 'program-gone', program: path },
    { kind: 'silent', actedMs: now },
    { kind: 'silent', actedMs: now, heardMs: now },
    { kind: 'untrusted' },
  ] as const;
  const agent = { ...asking('claude-code', 'hook', now), obstacles: [...obstacles] };
  for (const locale of ['en', 'zh', 'ko'] as const) {
    setLocale(locale);
    const told = troubleOf(agent);
    expect(new Set(told).size).toBe(obstacles.length);
    for (const sentence of told.slice(0, 4)) expect(sentence).toContain('/etc/claude-code/managed-settings.json');
    expect(told[0]).toContain('allowManagedHooksOnly');
    expect(told[1]).toContain('/src/p');
  }
});

test('everyone who is connected or has asked can be chosen, by what people call them', () => {
  const view = agents(Date.now());
  const known = knownIn(view);
  expect(known.map(({ id }) => id)).toEqual(['claude-code', 'codex', 'coder']);
  expect(calledOn(known, ['defaults', 'claude-code'], 'claude-code')).toBe('Claude Code');
  // What was stored under the name holds for nobody, and is told apart.
  expect(calledOn(known, ['Claude Code', 'claude-code'], 'claude-code')).toBe('Claude Code (claude-code)');
  expect(calledOn(known, ['Claude Code'], 'Claude Code')).toBeUndefined();
  for (const name of ['Claude Code', ' claude code', 'CLAUDE-CODE', 'claude-code'])
    expect(idOf(view, name)).toBe('claude-code');
  expect([idOf(view, ' ops '), idOf(null, 'Claude Code')]).toEqual(['ops', 'Claude Code']);
});

test('ways can be added, and none is taken away by another choice', () => {
  const now = Date.now();
  expect(choicesOf(agent('gemini'))).toEqual([['hook'], ['mcp'], ['hook', 'mcp']]);
  expect(choicesOf(asking('gemini', 'mcp', now))).toEqual([['hook', 'mcp']]);
  const broken = asking('gemini', 'mcp', now, { programIsThere: false });
  expect(choicesOf(broken)).toEqual([['mcp'], ['hook', 'mcp']]);
  expect(choicesOf(agent('zed'))).toEqual([['mcp']]);
  expect(canConnect(asking('zed', 'mcp', now))).toBe(false);
  expect(canConnect(asking('zed', 'mcp', now, { programIsThere: false }))).toBe(true);
  const both = asking('gemini', 'hook', now);
  both.ways = both.ways.map((way) => ({ ...way, connected: connection('gemini', way.way, now) }));
  expect([choicesOf(both), canConnect(both)]).toEqual([[], false]);
});

test('an answer to a look that is over changes nothing', async () => {
  const mock = new MockBackend();
  const store = new AgentsStore(new Feed(mock));
  await store.load();
  const gemini = agent('gemini');
  let answer = () => {};
  mock.held.previewAgent = new Promise((resolve) => (answer = resolve));
  const first = store.connect(gemini);
  delete mock.held.previewAgent;
  await store.pick(['mcp']);
  const shownNow = store.preview;
  answer();
  await first;
  expect(store.preview).toBe(shownNow);
  expect(store.looking?.ways).toEqual(['mcp']);
  store.cancel();
  await store.write();
  expect(mock.calls.some(({ name }) => name === 'writeAgent')).toBe(false);
});
