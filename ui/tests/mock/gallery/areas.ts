import { agents } from './agents';
import { connections } from './connections';
import type { Area } from './entry';
import { folders } from './folders';
import { forms } from './forms';
import { forward } from './forward';
import { history } from './history';
import { inbox } from './inbox';
import { lists } from './lists';
import { pages } from './pages';
import { pets } from './pets';
import { policy } from './policy';
import { prompt } from './prompt';
import { reading } from './reading';
import { routing } from './routing';
import { rules } from './rules';
import { settings } from './settings';
import { shared } from './shared';

/** Everything that the gallery shows, in its order. */
export const AREAS: readonly Area[] = [
  shared,
  forms,
  lists,
  reading,
  prompt,
  inbox,
  history,
  agents,
  policy,
  rules,
  folders,
  connections,
  routing,
  forward,
  pets,
  settings,
  pages,
];
