import { tr } from './i18n/routing/index.svelte';
import type { RouteNodeView, RouteView, SessionSettingView } from './protocol';
import { plain } from './shown';
import { policyValue } from './words';

/** Stands for what is not set. */
export const INHERIT = '';

/** Where commands go, in words. A node that is known goes by its name. */
export function routePlace({ target, node }: RouteView, nodes: RouteNodeView[] = []): string {
  if (target !== 'node') return tr().target[target];
  const known = nodes.find(({ id }) => node !== undefined && id === plain(node));
  const name = known?.name ?? node;
  return name ? tr().onNode(plain(name)) : `${tr().target.node} (${tr().nodeChosen})`;
}

/** Whether nothing runs there because nothing is set. */
export function routeDenies({ security, securityLayer }: RouteView): boolean {
  return security === 'deny' && securityLayer === 'built-in';
}

/** A member that is there only when it is set. */
export function orNone<K extends string, V extends string>(key: K, value: V | typeof INHERIT): { [key in K]?: V } {
  return (value === INHERIT ? {} : { [key]: value }) as { [key in K]?: V };
}

/** Nodes to choose from; the one that is set is among them, whether or not it is known. */
export function nodeChoices(nodes: RouteNodeView[], set: string): { value: string; text: string }[] {
  const words = tr().form;
  const known = nodes.map(({ id, name, gateway, connected, runs }) => {
    const place = gateway ? ` @ ${plain(gateway)}` : '';
    const trouble = connected ? (runs ? '' : ` (${words.runsNothing})`) : ` (${words.away})`;
    return { value: id, text: `${plain(name)}${place}${trouble}` };
  });
  if (set === '' || known.some(({ value }) => value === set)) return known;
  const named = nodes.some(({ name }) => plain(name) === set);
  return [{ value: set, text: named ? set : `${set} (${words.unknown})` }, ...known];
}

/** What a session's setting says. */
export function settingText({ field, value }: SessionSettingView): string {
  const text = plain(value);
  if (field === 'security' || field === 'ask') return policyValue(field, text);
  if (field !== 'host') return text;
  const places: Record<string, string> = tr().target;
  return places[text] ?? text;
}
