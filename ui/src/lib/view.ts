/** Brings what there is to read into view, wherever its form was scrolled to. */
export function intoView(node: HTMLElement): void {
  node.scrollIntoView({ block: 'nearest' });
}
