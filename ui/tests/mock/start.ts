import * as agents from './agents';
import { MockBackend } from './backend';
import * as cards from './cards';
import * as connections from './connections';
import * as crossings from './crossings';
import * as folders from './folders';
import * as kept from './kept';
import * as lines from './lines';
import * as pets from './pets';
import { fill } from './plain';
import * as policies from './policies';
import * as tools from './tools';

declare global {
  interface Window {
    mock: MockBackend;
    cards: typeof cards & typeof crossings & typeof lines & typeof tools;
    agents: typeof agents;
    connections: typeof connections;
    crossings: typeof crossings;
    folders: typeof folders;
    kept: typeof kept;
    pets: typeof pets;
    policies: typeof policies;
  }
}

/**
 * A backend for this page, in reach of the test; `?start=` holds JSON with members to begin with. A page without it was
 * opened by a person, who finds something everywhere.
 */
export function startMock(): MockBackend {
  const mock = new MockBackend();
  const address = new URLSearchParams(location.search);
  const start = address.get('start');
  if (start) Object.assign(mock, JSON.parse(start));
  else fill(mock, address);
  if (address.get('cards') === 'several') mock.cards = cards.several(Date.now());
  window.mock = mock;
  window.cards = { ...cards, ...crossings, ...lines, ...tools };
  window.agents = agents;
  window.connections = connections;
  window.crossings = crossings;
  window.folders = folders;
  window.kept = kept;
  window.pets = pets;
  window.policies = policies;
  return mock;
}
