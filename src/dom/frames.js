// When what waits is drawn: with the next frame, and where no frames come, by a timer.

/** So long a frame is waited for, in milliseconds: hidden pages and frames have none. */
const LATE = 200;

/** Two pictures are at least so far apart, in milliseconds: more a second nobody reads. */
const APART = 25;

/** Calls `draw` once for all that was asked since. */
export class Frames {
  #window;
  #draw;
  #frame;
  #timer;
  #drawn = 0;

  constructor(element, draw) {
    this.#window = element.ownerDocument.defaultView;
    this.#draw = draw;
  }

  /** Something waits. */
  ask() {
    this.end();
    const { document } = this.#window;
    const now = () => {
      this.end();
      this.#drawn = performance.now();
      this.#draw();
    };
    const next = () => (this.#frame = this.#window.requestAnimationFrame(frame));
    const frame = () => (performance.now() - this.#drawn < APART ? next() : now());
    this.#timer = setTimeout(now, document.hidden ? 0 : LATE);
    if (!document.hidden) next();
  }

  /** Nothing waits any more. */
  end() {
    clearTimeout(this.#timer);
    this.#window.cancelAnimationFrame(this.#frame);
    this.#timer = this.#frame = undefined;
  }
}
