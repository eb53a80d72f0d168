/** Where each of `items` begins when they lie one below the other, and at the end where the last one ends. */
export function offsetsOf<Item>(items: readonly Item[], height: (item: Item) => number): Float64Array {
  const offsets = new Float64Array(items.length + 1);
  let end = 0;
  for (const [index, item] of items.entries()) {
    end += height(item);
    offsets[index + 1] = end;
  }
  return offsets;
}

/** Index of the first item that reaches below `y`; the last one when none does. */
export function firstBelow(offsets: Float64Array, y: number): number {
  let low = 0;
  let high = Math.max(0, offsets.length - 2);
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle + 1] ?? 0) > y) high = middle;
    else low = middle + 1;
  }
  return low;
}
