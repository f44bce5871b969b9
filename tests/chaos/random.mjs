// Random numbers that can be repeated: the seed is `MINDSET_SEED`, or a fresh one, and a
// failing test says it.

/** The seed of this run. */
export const SEED = Number(process.env.MINDSET_SEED ?? Date.now() % 4_294_967_296);

/** A stream of numbers; each part of a test has its own, so that one does not move another. */
export class Random {
  constructor(...names) {
    this.state = [SEED, ...names].join('/').split('').reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16_777_619) >>> 0, 2_166_136_261);
  }

  /** From 0 up to 1. */
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** As `between`, with every order of magnitude as likely as the next. */
  size(low, high) {
    return Math.round(low * (high / low) ** this.next());
  }

  chance(share) {
    return this.next() < share;
  }

  pick(list) {
    return list[this.between(0, list.length - 1)];
  }
}
