// Numbers that look random and are the same for the same seed, and choices made with them.

export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  // A number from 0 to below `end` (the generator known as mulberry32).
  below(end) {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  // Whether something of this probability, in percent, happens.
  chance(percent) {
    return this.below(100) < percent;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  // From `least` to `most` picks, which may repeat.
  some(list, least, most) {
    return Array.from({ length: least + this.below(most - least + 1) }, () => this.pick(list));
  }
}
