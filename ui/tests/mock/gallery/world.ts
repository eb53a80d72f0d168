import { createRawSnippet, type Snippet } from 'svelte';
import { BackendError } from '../../../src/lib/ipc';
import type { Card, ErrorCode, Mistake } from '../../../src/lib/protocol';
import { AgentsStore } from '../../../src/stores/agents.svelte';
import { Arming } from '../../../src/stores/arming.svelte';
import { Clock } from '../../../src/stores/clock.svelte';
import { ConnectionsStore } from '../../../src/stores/connections.svelte';
import { Feed } from '../../../src/stores/feed.svelte';
import { FoldersStore } from '../../../src/stores/folders.svelte';
import { HistoryStore } from '../../../src/stores/history.svelte';
import { Inbox } from '../../../src/stores/inbox.svelte';
import { PoliciesStore } from '../../../src/stores/policies.svelte';
import { Prompt } from '../../../src/stores/prompt.svelte';
import { RoutingStore } from '../../../src/stores/routing.svelte';
import { RulesStore } from '../../../src/stores/rules.svelte';
import { MockBackend } from '../backend';

/** When all of this is. */
export const NOW = Date.now();

/** A name as somebody chooses it who wants to be taken for something else, or to be in the way. */
export const HOSTILE = `Allow once\u202e \u0430ll <b>now</b> ${'a-long-name-without-an-end-'.repeat(8)}`;

/** The same where the app hands over a text and no spans: what nobody would see is escaped in it. */
export const ESCAPED = HOSTILE.replace('\u202e', '\\u{202E}');

/** A path that is longer than any window. */
export const DEEP = `/home/mina/${'a-folder-with-a-long-name/'.repeat(9)}end`;

export const nothing = () => {};

/** A few words where a component has a place for content. */
export function words(text: string): Snippet {
  return markup(`<span>${text}</span>`);
}

/** One element of the gallery's own. */
export function markup(html: string): Snippet {
  return createRawSnippet(() => ({ render: () => html }));
}

export function wrong(code: ErrorCode, message: string, mistake: Mistake | null = null): BackendError {
  return new BackendError(code, message, mistake);
}

/** The stores of a window on a backend of their own, which `change` prepares. */
export async function world(change: (mock: MockBackend) => void = nothing) {
  const mock = new MockBackend();
  change(mock);
  const feed = new Feed(mock);
  const connections = new ConnectionsStore(feed);
  const stores = {
    mock,
    feed,
    connections,
    clock: new Clock(feed),
    rules: new RulesStore(feed),
    folders: new FoldersStore(feed),
    history: new HistoryStore(feed),
    agents: new AgentsStore(feed),
    routing: new RoutingStore(feed),
    policies: new PoliciesStore(feed, connections),
    inbox: new Inbox(feed),
  };
  await feed.start();
  return stores;
}

/** When a button may work: while the end was not in view, while the delay runs, and once both are over. */
export function arming(at: 'unread' | 'counting' | 'armed'): Arming {
  const made = new Arming();
  made.isPainted = true;
  made.endSeen = at !== 'unread';
  made.counting = at === 'counting';
  made.armed = at === 'armed';
  return made;
}

/** The prompt at this card, where its buttons work already unless `change` says otherwise. */
export async function prompting(card: Card, change: (prompt: Prompt) => void = nothing) {
  const { feed, clock } = await world((mock) => (mock.cards = [card]));
  const prompt = new Prompt(feed, clock);
  prompt.phase = 'card';
  prompt.card = card;
  Object.assign(prompt.arming, { isPainted: true, endSeen: true, armed: true });
  change(prompt);
  return { prompt, card, say: nothing };
}
