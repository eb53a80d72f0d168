import { t } from './i18n/index.svelte';
import type { Card, CardKind, CallReach, Fact, LadderStep, NetPlace, Shown } from './protocol';
import { marked, plain } from './shown';

/** A connection that a command in a box wants to make. */
export type CrossingFact = Extract<Fact, { kind: 'crossing' }>;

/** One use of the person's SSH keys that a command in a box wants. */
export type KeysFact = Extract<Fact, { kind: 'keys' }>;

/** What stands where a destination does when it is about keys. */
const KEYS = 'ssh-agent';

export function keysOf({ facts }: Pick<Card, 'facts'>): KeysFact | undefined {
  return facts.find((fact) => fact.kind === 'keys');
}

/** Whether a line of the history about something that left a box is about keys. */
export function isAboutKeys(card: CardKind, wanted: string): boolean {
  return card === 'crossing' && wanted === KEYS;
}

/** How much attention a fact deserves. */
export type Grade = 'danger' | 'attention' | 'ordinary';

export function crossingOf({ facts }: Pick<Card, 'facts'>): CrossingFact | undefined {
  return facts.find((fact) => fact.kind === 'crossing');
}

const GRADES: Record<NetPlace, Grade> = {
  internet: 'ordinary',
  private: 'attention',
  'link-local': 'attention',
  'this-machine': 'attention',
  metadata: 'danger',
  unroutable: 'danger',
};

export function placeGrade(place: NetPlace): Grade {
  return GRADES[place];
}

/**
 * Whether where a card's destination lies is to be read before the destination: that can be long enough to
 * fill a small window.
 */
export function isFlagged(card: Card): boolean {
  const fact = crossingOf(card);
  return keysOf(card) !== undefined || (fact !== undefined && placeGrade(fact.place) !== 'ordinary');
}

/** What is known to be at a port of this machine, by its usual number. */
const SERVICES: Record<string, string> = {
  1433: 'SQL Server',
  1521: 'Oracle',
  1883: 'MQTT',
  2181: 'ZooKeeper',
  2379: 'etcd',
  3306: 'MySQL',
  4222: 'NATS',
  5432: 'PostgreSQL',
  5672: 'RabbitMQ',
  5984: 'CouchDB',
  6379: 'Redis',
  7687: 'Neo4j',
  8086: 'InfluxDB',
  8123: 'ClickHouse',
  9042: 'Cassandra',
  9092: 'Kafka',
  9200: 'Elasticsearch',
  11211: 'Memcached',
  11434: 'Ollama',
  26257: 'CockroachDB',
  27017: 'MongoDB',
};

/** Where a destination lies, in the reader's words; on this machine with what is usually there. */
export function whereIs({ place, destination }: CrossingFact): string {
  const port = /:(\d+)$/.exec(plain(destination))?.[1];
  const service = place === 'this-machine' && port !== undefined ? SERVICES[port] : undefined;
  return service === undefined ? t().crossing.place[place] : t().crossing.service(service);
}

/** The addresses that a name leads to; one that is the destination itself tells nothing. */
export function addressesOf({ addresses, destination }: CrossingFact): Shown[] {
  const wanted = plain(destination);
  return addresses.filter((address) => {
    const host = plain(address);
    return !wanted.startsWith(`${host}:`) && !wanted.startsWith(`[${host}]:`);
  });
}

/**
 * Whether it is asked about because its name leads elsewhere than it promises. Names are looked up only once they are
 * allowed, so a first question has no addresses; one about how much is sent has them as well.
 */
export function leadsElsewhere(fact: CrossingFact): boolean {
  return fact.sent === undefined && addressesOf(fact).length > 0;
}

/** The program that connects, as the box says. */
export function connects({ chain }: CrossingFact | KeysFact): Shown | undefined {
  return chain.at(-1);
}

/** The kind of packages in the reader's words; one that this version does not know keeps its own. */
export function groupName(group: Shown): Shown {
  const table: Record<string, string> = t().crossing.group;
  const id = plain(group);
  const name = Object.hasOwn(table, id) ? table[id] : undefined;
  return name === undefined ? group : { spans: [{ kind: 'plain', text: name }] };
}

/** A rung's name. */
export function rungName(step: LadderStep): string {
  const groups = groupsOf(step);
  return groups === null ? t().sheet.rung[step.rung] : t().crossing.registries(groups);
}

/** A rung as the right that a button gives; opening a folder has words of its own. */
export function rungRight(step: LadderStep): string {
  const { right } = t().sheet;
  const groups = groupsOf(step);
  if (groups !== null) return t().crossing.rightRegistries(groups);
  return step.rung === 'workspace' ? rungName(step) : right[step.rung];
}

/** The kinds of packages that a rung is about; `null` when it is about none. */
function groupsOf(step: LadderStep): string | null {
  if (step.kind !== 'calls' || step.rung !== 'registries') return null;
  const groups = step.calls.filter((reach): reach is Extract<CallReach, { kind: 'registries' }> => {
    return reach.kind === 'registries';
  });
  return groups.length === 0 ? null : t().common.list(groups.map(({ group }) => marked(groupName(group))));
}
