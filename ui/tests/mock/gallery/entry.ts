import type { Component } from 'svelte';

type Properties = Record<string, unknown>;

/** A component as far as its properties go; which of them can be bound is of no meaning here. */
type Painted<Props> = (this: void, internals: never, props: Props) => unknown;

/** What comes after a state was painted, such as a press of a button in it. */
export type Step = (stage: HTMLElement) => Promise<unknown>;

/** Properties, or how they are made: what has a store is made only when it is shown. */
type Made<Props> = Props | (() => Props | Promise<Props>);

/** A state that a component is in only after somebody did something. */
class Stepped<Props> {
  constructor(
    readonly props: Made<Props>,
    readonly step: Step,
  ) {}
}

/** The page of a window, which needs a viewport of its own: its address, without theme and language. */
class Framed {
  constructor(
    readonly page: 'index' | 'prompt',
    readonly query: Record<string, string>,
  ) {}
}

/**
 * A list, what facts stand in, a command, the fields of a form, room for what opens, or a bar at the side of a window.
 */
export type Within = 'anything' | 'list' | 'facts' | 'command' | 'fields' | 'room' | 'side';

export interface State {
  name: string;
  /** `null` for what is painted in a frame. */
  props: (() => Promise<Properties>) | null;
  step: Step | null;
  frame: Framed | null;
}

/** A component and the states in which it is looked at. */
export interface Entry {
  component: Component<Properties>;
  /** What it has to stand in, to be what it is in a page. */
  within: Within;
  states: State[];
}

/** The entries of one area, under its name. */
export interface Area {
  name: string;
  /** The width that its components are made for in pixels, where that is less than a window's. */
  width?: number;
  entries: Entry[];
}

export function entry<Props extends object>(
  component: Painted<Props>,
  states: Record<string, Made<Props> | Stepped<Props> | Framed>,
  within: Within = 'anything',
): Entry {
  return {
    component: component as unknown as Entry['component'],
    within,
    states: Object.entries(states).map(([name, made]) => stateOf(name, made)),
  };
}

export function after<Props>(props: Made<Props>, ...steps: Step[]): Stepped<Props> {
  return new Stepped(props, async (stage) => {
    for (const step of steps) await step(stage);
  });
}

/** A state of a whole page; `start` holds members of its backend, or there is a bit of everything. */
export function framed(page: Framed['page'], query: Record<string, string> = {}, start?: object): Framed {
  return new Framed(page, start === undefined ? query : { ...query, start: JSON.stringify(start) });
}

function stateOf<Props extends object>(name: string, made: Made<Props> | Stepped<Props> | Framed): State {
  if (made instanceof Framed) return { name, props: null, step: null, frame: made };
  const [props, step] = made instanceof Stepped ? [made.props, made.step] : [made, null];
  const make = async () => (typeof props === 'function' ? await props() : props) as Properties;
  return { name, props: make, step, frame: null };
}

/** Waits until something that the selector finds is in the stage. */
export function shows(selector: string): Step {
  return (stage) =>
    new Promise((resolve) => {
      const look = () => {
        const found = stage.querySelector(selector);
        if (found) resolve(found);
        return found !== null;
      };
      if (look()) return;
      const observer = new MutationObserver(() => {
        if (look()) observer.disconnect();
      });
      observer.observe(stage, { subtree: true, childList: true, attributes: true });
    });
}

/** Presses a button, once it is there. */
export function press(testid: string): Step {
  return async (stage) => {
    await shows(`[data-testid="${testid}"]:not(:disabled)`)(stage);
    stage.querySelector<HTMLElement>(`[data-testid="${testid}"]`)?.click();
  };
}

/** Writes into a field. */
export function types(testid: string, text: string): Step {
  return async (stage) => {
    await shows(`[data-testid="${testid}"]`)(stage);
    const field = stage.querySelector<HTMLInputElement>(`[data-testid="${testid}"]`);
    if (!field) return;
    field.value = text;
    field.dispatchEvent(new Event('input', { bubbles: true }));
  };
}

/** Opens everything that can be folded out. */
export const unfolds: Step = async (stage) => {
  await shows('details')(stage);
  for (const one of stage.querySelectorAll('details')) one.open = true;
};
