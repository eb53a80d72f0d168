/**
 * Hundreds of parts are on one page here that each expect a window of their own. A dialog stands where its state is
 * shown, not above the whole page, and nothing that comes in takes the keyboard or scrolls the page to itself.
 */
export function keepStill(): void {
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  Element.prototype.scrollIntoView = () => {};
  const focus = HTMLElement.prototype.focus;
  HTMLElement.prototype.focus = function (options) {
    if (document.body.dataset['ready'] === 'true') focus.call(this, { ...options, preventScroll: true });
  };
}
