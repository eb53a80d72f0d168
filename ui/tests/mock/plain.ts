import type { Card, Settings } from '../../src/lib/protocol';
import type { MockBackend } from './backend';
import * as cards from './cards';
import * as crossings from './crossings';
import { atHand } from './folders';
import * as lines from './lines';
import * as tools from './tools';

/** Long enough for a person who looks at a request and at the code that paints it, in turn. */
const WAITING_MS = 60 * 60_000;

type Make = (id: string, now: number) => Card;

/** Requests of every kind, oldest first. `prompt.html?card=NAME` begins at the one of that name. */
export const WAITING: Record<string, Make> = {
  push: cards.card,
  hostile: cards.hostile,
  edit: tools.editOffered,
  crossing: crossings.crossing,
  chain: cards.chained,
  openable: cards.openable,
  plugin: cards.plugin,
  proposal: cards.proposal,
  patch: tools.patch,
  create: tools.create,
  tool: tools.foreignTool,
  'hand-over': tools.handOver,
  pet: tools.petQuestion,
  permit: tools.permit,
  lines: lines.hereDocument,
  'sub-agent': lines.ofSubAgent,
  keys: crossings.sshKeys,
  cloud: crossings.cloudKeys,
  sandbox: cards.boxed,
  unanalysed: cards.unanalysed,
  incomplete: tools.incomplete,
};

/** What waits on a page that somebody opened to look at it. */
export function waiting(now: number): Card[] {
  return Object.entries(WAITING).map(([name, make]) => ({ ...make(name, now), expiresAtMs: now + WAITING_MS }));
}

/**
 * Something on every page, for a window that no test opened; `theme` and `language` of its address are its settings.
 */
export function fill(mock: MockBackend, address: URLSearchParams): void {
  const now = Date.now();
  mock.settings = { ...mock.settings, ...chosen(address) };
  mock.cards = waiting(now);
  mock.atHand = atHand();
  mock.runs = [
    {
      requestId: 'serving',
      agent: 'coder',
      session: 'fix-login-redirect',
      command: 'npm run dev -- --port 5173',
      startedAtMs: now - 61_000,
      outputTail: '  ready in 312 ms\n\n  Local:   http://localhost:5173/\n',
      isCut: false,
      servers: [{ port: 5_173 }],
    },
  ];
}

function chosen(address: URLSearchParams): Partial<Settings> {
  const settings: Partial<Settings> = {};
  const theme = address.get('theme');
  const language = address.get('language');
  if (theme === 'light' || theme === 'dark') settings.theme = theme;
  if (language === 'en' || language === 'zh' || language === 'ko') settings.language = language;
  return settings;
}
