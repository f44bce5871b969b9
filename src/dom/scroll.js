// Where the transcript stands: at its end, as long as the reader is there, and else where the
// reader left it.

/** Whoever comes so near to the first message wants older ones, in pixels. */
const NEAR = 40;
/** Rounding of scroll positions, in pixels. */
const SLACK = 3;

/** Keeps one scroller. `jump` leads to the end; `earlier` asks for older messages. */
export class Follow {
  #scroller;
  #jump;
  #earlier;
  #sizes;
  /** The view stays at the end; whoever scrolls up, by however little, stays where they are. */
  #follows = true;
  #top = 0;
  /** Whether something came below what is in view. */
  #news = false;
  /** Whether older messages were not asked for yet since the last ones came. */
  #mayAsk = true;

  constructor(scroller, jump, earlier) {
    this.#scroller = scroller;
    this.#jump = jump;
    this.#earlier = earlier;
    // Once a frame, after the layout and before the picture: nothing here asks for a layout
    // of its own, however many messages a frame brings.
    this.#sizes = new ResizeObserver(() => {
      // A scroll that nobody has told of yet counts.
      this.scrolled();
      this.settle();
    });
    for (const part of [scroller, ...scroller.children]) this.#sizes.observe(part);
  }

  /** Another conversation begins. */
  reset() {
    this.#follows = this.#mayAsk = true;
  }

  /** Something new is drawn at the end. */
  note() {
    this.#news = true;
  }

  /** From now on the view stays at the end. */
  follow() {
    this.#follows = true;
  }

  /** Draws older messages before `first`; what is in view stays where it is. */
  prepend(first, draw) {
    // A scroll that nobody has told of yet counts.
    this.scrolled();
    const place = () => first?.getBoundingClientRect().top ?? 0;
    const before = place();
    draw();
    this.#scroller.scrollTop += place() - before;
    this.#top = this.#scroller.scrollTop;
    this.#mayAsk = true;
  }

  /** The element was moved: gives back what the browser takes. */
  restore() {
    if (!this.#follows) this.#scroller.scrollTop = this.#top;
    this.settle();
  }

  scrolled() {
    const { scrollTop, clientHeight } = this.#scroller;
    if (!clientHeight) return;
    const atEnd = this.#atEnd();
    if (scrollTop < this.#top && !atEnd) {
      this.#follows = false;
    } else if (atEnd) {
      this.#follows = true;
      this.#noNews();
    }
    if (scrollTop < NEAR && scrollTop < this.#top && this.#mayAsk) {
      this.#mayAsk = false;
      this.#earlier();
    }
    this.#top = scrollTop;
  }

  /** Something changed its size: stays at the end, or offers the way there. */
  settle() {
    if (this.#follows) {
      this.#scroller.scrollTop = this.#scroller.scrollHeight;
      this.#top = this.#scroller.scrollTop;
      this.#noNews();
    } else if (!this.#atEnd()) {
      this.#jump.hidden = !this.#news;
    }
  }

  /** Nothing is watched any more. */
  end() {
    this.#sizes.disconnect();
  }

  #noNews() {
    this.#news = false;
    this.#jump.hidden = true;
  }

  #atEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight <= SLACK;
  }
}
