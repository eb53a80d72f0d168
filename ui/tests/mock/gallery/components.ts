import type { Component } from 'svelte';

type Module = { default: Component };

/** Every component there is, whether it has an entry or not. */
const MODULES = import.meta.glob<Module>(['../../../src/components/**/*.svelte', '../../../src/pages/*.svelte'], {
  eager: true,
});

const PATHS = new Map<unknown, string>(
  Object.entries(MODULES).map(([path, { default: component }]) => [component, path.replace(/^.*\/src\//, '')]),
);

/** All components by where they are. */
export const COMPONENTS: ReadonlyMap<unknown, string> = PATHS;

export function pathOf(component: unknown): string {
  return PATHS.get(component) ?? '';
}

/** A component as it is called; no two have the same name. */
export function nameOf(component: unknown): string {
  return pathOf(component).replace(/^.*\/|\.svelte$/g, '');
}
