import { afterEach, expect, test } from 'vitest';
import { gapRemedy, grouped, problemRemedy, roundTrip, scopeWords, shortId } from '../../src/lib/connections';
import { setLocale, type Locale } from '../../src/lib/i18n/index.svelte';
import type { LinkGap, LinkProblem } from '../../src/lib/protocol';
import { ConnectionsStore } from '../../src/stores/connections.svelte';
import { Feed } from '../../src/stores/feed.svelte';
import { MockBackend } from '../mock/backend';
import { gateway, hex, pairing } from '../mock/connections';

afterEach(() => setLocale('en'));

const LOCALES: Locale[] = ['en', 'zh', 'ko'];

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
  { kind: 'refused', code: 'INVALID_REQUEST', text: 'no' },
  { kind: 'not-a-gateway', text: 'HTTP 404' },
];

const GAPS: LinkGap[] = [
  { kind: 'no-approvals' },
  { kind: 'agents-hidden' },
  { kind: 'no-list' },
  { kind: 'scopes-narrow', requestId: 'r-1' },
];

test('each problem and gap says what is wrong and what helps, in words of its own, in each language', () => {
  const one = gateway('g', { pin: hex('pinned') });
  for (const locale of LOCALES) {
    setLocale(locale);
    const remedies = [...PROBLEMS.map((problem) => problemRemedy(problem, one)), ...GAPS.map(gapRemedy)];
    expect(new Set(remedies.map(({ what }) => what)).size).toBe(remedies.length);
    for (const { what, help } of remedies) expect(Math.min(what.length, help.length)).toBeGreaterThan(4);
  }
});

test('a request to approve is named in a command only when a shell would take it as one word', () => {
  const named = (requestId?: string) =>
    problemRemedy({ kind: 'not-paired', reason: 'scope-upgrade', requestId }, gateway('g')).commands;
  expect(named('7d1c04aa-91f2_A')).toEqual(['openclaw devices approve 7d1c04aa-91f2_A']);
  const listed = ['openclaw devices list', 'openclaw devices approve REQUEST'];
  for (const hostile of [undefined, '', 'a; rm -rf /', '$(id)', '--all', 'a b', 'a\nb', 'x'.repeat(65)]) {
    expect(named(hostile), String(hostile)).toEqual(listed);
  }
});

test('more scopes are asked for by the request that waits there, else by the secret', () => {
  const remedy = (requestId?: string) => gapRemedy({ kind: 'scopes-narrow', requestId });
  expect(remedy('r-1')).toMatchObject({ commands: ['openclaw devices approve r-1'], edit: false });
  expect(remedy('$(id)').commands).toEqual(['openclaw devices list', 'openclaw devices approve REQUEST']);
  expect(remedy()).toMatchObject({ commands: [], edit: true });
  expect(remedy().help).not.toBe(remedy('r-1').help);
});

test('a pin that does not fit is shown beside the one that was found', () => {
  const { pins } = problemRemedy({ kind: 'pin-mismatch', found: hex('other') }, gateway('g', { pin: hex('pinned') }));
  expect(pins.map(({ digits }) => digits)).toEqual([hex('pinned'), hex('other')]);
});

test('ids are grouped for the eye, and long ones keep their two ends', () => {
  expect(grouped('0123456789')).toBe('0123 4567 89');
  expect(shortId(`0123456789${'a'.repeat(46)}fedcba98`)).toBe('0123 4567 … fedc ba98');
  expect(shortId('0123')).toBe('0123');
});

test('a round trip has two digits that matter', () => {
  const cases: [number, string][] = [
    [640, '640 µs'],
    [2_340, '2.3 ms'],
    [24_300, '24 ms'],
  ];
  for (const [us, words] of cases) expect(roundTrip(us)).toBe(words);
});

test('a scope that nobody knows is said so, and counts as grave', () => {
  expect(scopeWords('operator.read').grave).toBe(false);
  expect(scopeWords('operator.talk.secrets')).toMatchObject({ grave: true, known: false });
});

async function store() {
  const mock = new MockBackend();
  const feed = new Feed(mock);
  const connections = new ConnectionsStore(feed);
  connections.start();
  await feed.start();
  await connections.load();
  return { mock, connections };
}

test('devices that wait and gateways that need the person are counted without the page being open', async () => {
  const { mock, connections } = await store();
  expect([connections.waiting, connections.connected, connections.trouble]).toEqual([0, 2, true]);
  mock.gateways.embedded.waiting = [pairing('p', Date.now())];
  mock.gateways.gateways = [gateway('g')];
  mock.emit({ kind: 'connections-changed' });
  await connections.load();
  await expect.poll(() => [connections.waiting, connections.connected, connections.trouble]).toEqual([1, 0, false]);
});

test('changes that are told while it reads are one more reading together', async () => {
  const { mock, connections } = await store();
  const reads = () => mock.calls.filter(({ name }) => name === 'connections').length;
  const before = reads();
  const reading = connections.load();
  for (let round = 0; round < 20; round += 1) mock.emit({ kind: 'connections-changed' });
  await reading;
  expect(reads() - before).toBe(2);
});

test('what failed is said, and the state is read again', async () => {
  const { mock, connections } = await store();
  mock.fail('answerPairing', 'gone', 'no such request');
  expect(await connections.answer('p', true)).toBe(false);
  expect(connections.error?.code).toBe('gone');
});
