import { afterEach, expect, test } from 'vitest';
import { setLocale, type Locale } from '../../src/lib/i18n/index.svelte';
import { BackendError } from '../../src/lib/ipc';
import { fieldOf, serverState, sourceRemedy } from '../../src/lib/pets';
import type { LinkProblem, LinkState, Mistake } from '../../src/lib/protocol';
import { beginning, plain } from '../../src/lib/shown';
import { ConnectionsStore } from '../../src/stores/connections.svelte';
import { Feed } from '../../src/stores/feed.svelte';
import { MockBackend } from '../mock/backend';
import { hex } from '../mock/connections';
import { source } from '../mock/pets';
import { shown } from '../mock/text';

afterEach(() => setLocale('en'));

const LOCALES: Locale[] = ['en', 'zh', 'ko'];

const refused = (code: string): LinkProblem => ({ kind: 'refused', code, text: 'its words' });

const PROBLEMS: LinkProblem[] = [
  { kind: 'unreachable', text: 'refused' },
  { kind: 'timed-out' },
  { kind: 'starting' },
  { kind: 'closed', code: 1012, text: 'service restart' },
  { kind: 'secret-missing' },
  { kind: 'secret-wrong' },
  { kind: 'secret-withheld' },
  { kind: 'rate-limited' },
  { kind: 'not-paired', reason: 'not-paired', requestId: 'r-1' },
  { kind: 'protocol', expected: 5 },
  { kind: 'pin-mismatch', found: hex('other') },
  { kind: 'certificate', text: 'self-signed' },
  { kind: 'not-a-gateway', text: 'HTTP 200' },
  refused('400'),
  refused('404'),
  refused('409'),
];

test('each problem of a pet server has words of its own that speak of no gateway, in each language', () => {
  for (const locale of LOCALES) {
    setLocale(locale);
    const remedies = PROBLEMS.map((problem) => sourceRemedy(problem, source('s', { pin: hex('pinned') })));
    expect(new Set(remedies.map(({ what }) => what)).size, locale).toBe(remedies.length);
    for (const { what, help, commands } of remedies) {
      expect(`${what} ${help}`).not.toMatch(/gateway|게이트웨이|网关|openclaw|password|비밀번호|암호|密码/i);
      expect(commands).toEqual([]);
    }
  }
});

test('what a server says is passed on, and a code that is no status of ours says nothing more', () => {
  const one = source('s');
  expect(sourceRemedy(refused('409'), one)).toMatchObject({ says: '409: its words', edit: true });
  const plainly = sourceRemedy(refused('400'), one);
  for (const odd of ['', 'constructor', '__proto__', 'toString']) {
    expect(sourceRemedy(refused(odd), one)).toMatchObject({ what: plainly.what, help: plainly.help });
  }
});

test('a certificate that does not fit is shown beside the pinned one', () => {
  const { pins, edit } = sourceRemedy({ kind: 'pin-mismatch', found: hex('b') }, source('s', { pin: hex('a') }));
  expect(pins.map(({ digits }) => digits)).toEqual([hex('a'), hex('b')]);
  expect(edit).toBe(true);
});

test('the channel is open only with an address', () => {
  const server = { tokenFile: '/t', sessions: [] };
  expect(serverState({ ...server, enabled: false })).toBe('off');
  expect(serverState({ ...server, enabled: true })).toBe('blocked');
  expect(serverState({ ...server, enabled: true, address: 'ws://127.0.0.1:1/ws' })).toBe('serving');
});

test('an error is shown at the field that it is about', () => {
  const invalid = (mistake: Mistake | null) => fieldOf(new BackendError('invalid', 'token: in English', mistake));
  const text = 'Use letters, digits and signs of plain ASCII only, without spaces.';
  expect(invalid({ field: 'token', expected: { kind: 'printable' } })).toEqual({ field: 'token', text });
  expect(invalid({ expected: { kind: 'at-most', count: 16 } })).toBeNull();
  expect(invalid({ field: 'host', expected: { kind: 'printable' } })).toBeNull();
  expect(invalid(null)).toBeNull();
});

test('the beginning of a text never cuts what stands for a character or a secret', () => {
  const text = shown('abc\u202edef');
  expect([plain(beginning(text, 2).shown), beginning(text, 2).isCut]).toEqual(['ab', true]);
  expect(plain(beginning(text, 5).shown)).toBe('abc');
  expect(plain(beginning(text, 11).shown)).toBe('abcU+202Ede');
  expect(beginning(text, 12)).toEqual({ shown: text, isCut: false });
});

async function store() {
  const mock = new MockBackend();
  const connections = new ConnectionsStore(new Feed(mock));
  mock.gateways.gateways = [];
  await connections.load();
  return { mock, connections };
}

test('a pet server counts as trouble only when it waits for the person, and so does a broken file', async () => {
  const { mock, connections } = await store();
  const problem: LinkProblem = { kind: 'secret-missing' };
  const cases: [LinkState, boolean][] = [
    [{ kind: 'off' }, false],
    [{ kind: 'connecting' }, false],
    [{ kind: 'waiting', problem, retryAtMs: 1 }, false],
    [{ kind: 'stopped', problem }, true],
  ];
  for (const [state, trouble] of cases) {
    mock.gateways.pets.sources = [source('s', { state })];
    await connections.load();
    expect(connections.trouble, state.kind).toBe(trouble);
  }
  mock.gateways.pets = { ...mock.gateways.pets, sources: [], broken: 'cannot be understood' };
  await connections.load();
  expect(connections.trouble).toBe(true);
});

test('each change goes to the app as it was meant, and what comes back is shown', async () => {
  const { mock, connections } = await store();
  const desk = 'agent:main:pet:mochi:desk';
  const edit = { name: 'n', url: 'wss://n.example', sessionId: 's', enabled: true, secret: { kind: 'clear' as const } };
  const pets = () => connections.view?.pets;
  expect(await connections.forgetPetChoice(desk, 'c-1')).toBe(true);
  expect(pets()?.server.sessions[0]?.remembered.map(({ id }) => id)).toEqual(['c-2']);
  expect(await connections.disconnectPet(desk)).toBe(true);
  expect(pets()?.server.sessions.map(({ id }) => id)).toEqual(['tray-widget']);
  expect(await connections.setPetServer(false)).toBe(true);
  expect(pets()?.server.enabled).toBe(false);
  expect(await connections.savePetSource(edit)).toBe(true);
  expect(await connections.retryPetSource('Workshop')).toBe(true);
  expect(pets()?.sources[1]?.state.kind).toBe('connecting');
  expect(await connections.removePetSource('Workshop')).toBe(true);
  expect(pets()?.sources.map(({ id }) => id)).toEqual(['Goose on the desk', 'Old laptop', 'source-4']);
  const made = mock.calls.filter(({ name }) => /Pet/.test(name));
  expect(made).toEqual([
    { name: 'forgetPetChoice', args: [desk, 'c-1'] },
    { name: 'disconnectPet', args: [desk] },
    { name: 'setPetServer', args: [false] },
    { name: 'savePetSource', args: [edit] },
    { name: 'retryPetSource', args: ['Workshop'] },
    { name: 'removePetSource', args: ['Workshop'] },
  ]);
});

test('what failed is said and nothing shown is lost', async () => {
  const { mock, connections } = await store();
  mock.fail('disconnectPet', 'gone', 'no such client');
  expect(await connections.disconnectPet('tray-widget')).toBe(false);
  expect(connections.error?.code).toBe('gone');
  expect(connections.view?.pets.server.sessions).toHaveLength(2);
});
