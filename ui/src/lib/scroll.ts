/** Frames in which the end of what is read may still move, because lines near it are laid out only now. */
const SETTLING_FRAMES = 6;

/**
 * Scrolls what is read by a key. Deny has the focus, so the keys that read on work from any button: first through what
 * scrolls inside of the command, then through `body`.
 */
export function scrollByKey(event: KeyboardEvent, body: HTMLElement): void {
  const isReading = event.target instanceof HTMLButtonElement || event.target === document.body;
  if (!isReading || event.ctrlKey || event.altKey || event.metaKey) return;
  const block = body.querySelector('[data-testid="command"] [role="region"]');
  const inner = block instanceof HTMLElement && block.scrollHeight > block.clientHeight + 1 ? block : null;
  const isForward = event.key === 'PageDown' || event.key === 'ArrowDown' || event.key === 'End';
  const target = inner && !(isForward && isAtEnd(inner)) ? inner : body;
  const page = target.clientHeight * 0.85;
  const steps: Record<string, number> = { PageDown: page, PageUp: -page, ArrowDown: 40, ArrowUp: -40 };
  const step = steps[event.key];
  if (step !== undefined) target.scrollBy({ top: step });
  else if (event.key === 'Home') target.scrollTo({ top: 0 });
  else if (event.key === 'End') scrollToEnd(target, SETTLING_FRAMES);
  else return;
  event.preventDefault();
}

function isAtEnd(element: HTMLElement): boolean {
  return element.scrollTop + element.clientHeight >= element.scrollHeight - 1;
}

function scrollToEnd(element: HTMLElement, frames: number): void {
  if (!isAtEnd(element)) element.scrollTo({ top: element.scrollHeight });
  if (frames > 0) requestAnimationFrame(() => scrollToEnd(element, frames - 1));
}
