import { expect, test } from 'vitest';
import { AREAS } from '../mock/gallery/areas';
import { COMPONENTS, nameOf, pathOf } from '../mock/gallery/components';

const entries = AREAS.flatMap((area) => area.entries);

test('every component is in the gallery, once', () => {
  const missing = [...COMPONENTS].filter(([component]) => entries.every((entry) => entry.component !== component));
  expect(missing.map(([, path]) => path)).toEqual([]);
  expect(entries.filter(({ component }) => pathOf(component) === '')).toEqual([]);
  expect(new Set(entries.map(({ component }) => component)).size).toBe(entries.length);
});

test('no two components have the same name, and each has a state', () => {
  const names = entries.map(({ component }) => nameOf(component));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  expect(entries.filter(({ states }) => states.length === 0)).toEqual([]);
});
