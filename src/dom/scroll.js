// Where the transcript stands: at its end, as long as the reader is there, and else where the
// reader left it. Nothing but the reader's own scrolling changes which of both holds.

/** Whoever comes so near to the first message wants older ones, in pixels. */
const NEAR = 40;
/** So many pages at the end are never skipped, as the style sheet says. */
const NEAREST = 8;
/** So long the browser takes to find which pages it can skip, in milliseconds. */
const TURNING = 250;
/** Rounding of scroll positions, in pixels. */
const SLACK = 1.5;
/** What ends a press of the mouse or a touch. */
const RELEASES = ['mouseup', 'mousemove', 'dragend', 'touchend', 'touchcancel'];

/** The first of these boxes, one under the other, that ends below `y`. */
function endsBelow(boxes, y) {
  let [low, high] = [0, boxes.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (boxes[middle].getBoundingClientRect().bottom > y) high = middle;
    else low = middle + 1;
  }
  return boxes[low];
}

/** Keeps one scroller. `jump` leads to the end; `earlier` asks for older messages. */
export class Follow {
  #scroller;
  #list;
  #jump;
  #earlier;
  #sizes;
  /** The view stays at the end; whoever scrolls up, by however little, stays where they are. */
  #follows = true;
  /** Position and way to the end as they were seen last. */
  /** Pages of the transcript, and when there came another. */
  #pages = 0;
  #turned = -Infinity;
  #top = 0;
  #room = 0;
  /** Its size as it was seen last. */
  #size = '';
  /** What stands at the upper edge for a reader who scrolled up, and its distance from there. */
  #place;
  /** A message that stood there before everything was drawn anew, and what was new below it. */
  #lost;
  /** Where a way down that was asked for ends. */
  #target;
  /** Ends a press: meanwhile nothing may move below the pointer. */
  #press;
  /** Whether something came below what is in view, and how many messages. */
  #news = false;
  #count = 0;
  /** Whether older messages were not asked for yet since the last ones came. */
  #mayAsk = true;

  constructor(scroller, list, jump, earlier) {
    this.#scroller = scroller;
    this.#list = list;
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

  /** All rows go. If the same message is drawn again, whoever was reading it goes on there. */
  reset() {
    this.lose(this.place());
    this.#mayAsk = true;
    this.follow();
    // What is drawn instead may have the same size.
    this.#sizes.unobserve(this.#list);
    this.#sizes.observe(this.#list);
  }

  /** Which message whoever scrolled up is reading, how far below the upper edge, and what is new. */
  place() {
    const row = !this.#follows && this.#place?.[0].closest('[data-message-id]');
    return row ? [row.dataset.messageId, this.#distance(row), this.#news, this.#count] : undefined;
  }

  /** The message that was read there, until it is drawn again. */
  lose(place) {
    this.#lost = place;
  }

  /** Something new is drawn at the end, with so many messages. */
  note(messages = 0) {
    const pages = this.#list.childElementCount;
    if (pages !== this.#pages && pages > NEAREST) this.#turned = performance.now();
    this.#pages = pages;
    this.#news = true;
    this.#count += messages;
  }

  /** From now on the view stays at the end. */
  follow() {
    this.#follows = true;
    this.#target = undefined;
    this.#noNews();
  }

  /** The reader goes elsewhere: from now on the view stays there. */
  leave() {
    this.#follows = false;
    this.#target = undefined;
    this.#mark();
  }

  /** The reader wants to go to the end: there in one glide, unless motion is unwanted. */
  glide() {
    const scroller = this.#scroller;
    if (scroller.ownerDocument.defaultView.matchMedia('(prefers-reduced-motion: reduce)').matches) {
      this.follow();
      return this.settle();
    }
    const { top } = this.#read();
    this.#target = top + this.#way();
    return scroller.scrollTo({ top: this.#target, behavior: 'smooth' });
  }

  /** Draws older messages at the top; what is in view stays where it is. */
  prepend(draw) {
    // A scroll that nobody has told of yet counts.
    this.scrolled();
    this.#mark();
    draw();
    this.#keep();
    this.#mayAsk = true;
  }

  /** The element was moved: gives back what the browser takes. */
  restore() {
    if (!this.#follows) this.#scroller.scrollTop = this.#top;
    this.settle();
  }

  /** A key that goes up: the scrolling that follows is a person's. */
  key(name) {
    if (/^(PageUp|Home|ArrowUp)$/.test(name)) this.#turned = -TURNING;
  }

  /** The wheel turns, before anything moves: up leaves the end at once, down at the end comes back. */
  wheel(event) {
    const { deltaY, ctrlKey, shiftKey, defaultPrevented } = event;
    if (!deltaY || ctrlKey || shiftKey || defaultPrevented) return;
    const path = event.composedPath();
    const inner = path.slice(0, path.indexOf(this.#scroller));
    if (path.length === inner.length + 1 || inner.some((box) => box.scrollTop > 0)) return;
    if (deltaY > 0) this.#arrive();
    else if (this.#scroller.scrollTop > 0) this.leave();
  }

  /** A button of the mouse or a finger is down: the text below it stands still. */
  press(event) {
    const { target, type, offsetX } = event;
    const scroller = this.#scroller;
    // The scroll bar tells by scrolling.
    if (!scroller.contains(target) || (target === scroller && offsetX >= scroller.clientWidth)) return;
    this.#press?.abort();
    const { signal } = (this.#press = new AbortController());
    const release = ({ buttons }) => buttons || this.#released();
    // A finger is heard where it went down, also if that is no longer in the document.
    const source = type === 'touchstart' ? target : scroller.ownerDocument;
    for (const name of RELEASES) source.addEventListener(name, release, { signal, capture: true });
  }

  /** The browser tells of a scroll, often of one's own. */
  scroll() {
    if (this.#scroller.scrollTop !== this.#top) this.scrolled();
  }

  scrolled() {
    const { top, way, now } = this.#read();
    if (way === undefined) return;
    const [before, room, size] = [this.#top, this.#room, this.#size];
    this.#top = top;
    this.#room = top + way;
    this.#size = now;
    // The view got another size and took its position along: that is nobody's scrolling.
    if (this.#size !== size && this.#follows) return;
    // Told late, of a position that is known: the layout may be another one by now.
    if (top === before) return;
    if (top < before) {
      // A page that is not the last any more may be skipped, and counts by a guess: hands are told apart by what they do.
      if (this.#follows && performance.now() - this.#turned < TURNING) return this.settle();
      // A transcript that gets shorter takes the view along: that is nobody's scrolling.
      if (way > SLACK || this.#room >= room) this.leave();
      if (top < NEAR && this.#mayAsk) {
        this.#mayAsk = false;
        this.#earlier();
      }
    } else if (top >= this.#target - SLACK) {
      this.follow();
      this.settle();
    } else {
      this.#arrive();
    }
    if (!this.#follows) this.#mark();
  }

  /** Something changed its size: stays at the end or where the reader is, and offers the way there. */
  settle() {
    if (this.#press) return;
    const lost = this.#lost && this.#list.querySelector(`[data-message-id="${CSS.escape(this.#lost[0])}"]`);
    if (lost) {
      const [, distance, news, count] = this.#lost;
      [this.#follows, this.#news, this.#count] = [false, news, count];
      this.#place = [lost, distance];
      this.#top = this.#scroller.scrollTop;
    }
    this.#lost = undefined;
    if (this.#follows) {
      const { scrollHeight, clientHeight } = this.#scroller;
      this.#scroller.scrollTop = scrollHeight;
      this.#noNews();
      this.#top = this.#scroller.scrollTop;
      this.#room = scrollHeight - clientHeight;
    } else {
      this.#keep();
      if (this.#news && this.#way() > SLACK) this.#offer();
    }
  }

  /** Nothing is watched any more. */
  end() {
    this.#press?.abort();
    this.#sizes.disconnect();
  }

  #released() {
    this.#press.abort();
    this.#press = undefined;
    const { ownerDocument } = this.#scroller;
    const range = ownerDocument.getSelection().getComposedRanges?.({ shadowRoots: [this.#scroller.getRootNode()] })[0];
    // Whoever selects text is reading.
    if (range && !range.collapsed && this.#scroller.contains(range.startContainer)) return this.leave();
    this.#arrive();
    return this.settle();
  }

  /** The reader came to the real end. */
  #arrive() {
    if (this.#way() <= SLACK) this.follow();
  }

  /** Remembers what stands at the upper edge. */
  #mark() {
    const { top } = this.#scroller.getBoundingClientRect();
    let place = this.#list;
    for (let next = place; next?.offsetParent; next = endsBelow(next.children, top)) {
      place = next;
      // Older messages go into these boxes: what stands still is a row, or something in it.
      if (!next.matches('.rows, .shelf, .page') && next.getBoundingClientRect().top >= top) break;
    }
    this.#place = [place, this.#distance(place)];
  }

  /**
   * What stood at the upper edge stands there again, whatever grew above it. If the position is
   * another one already, the browser or the reader has seen to it and will tell.
   */
  #keep() {
    const [place, distance] = this.#place;
    if (!place.isConnected || this.#scroller.scrollTop !== this.#top) return;
    const shift = this.#distance(place) - distance;
    if (Math.abs(shift) >= 1) this.#scroller.scrollTop += shift;
    this.#top = this.#scroller.scrollTop;
  }

  /** How far below the upper edge a box stands, without the motion of what fades in. */
  #distance(box) {
    let distance = -this.#scroller.scrollTop;
    for (let part = box; part && part !== this.#scroller; part = part.offsetParent) distance += part.offsetTop;
    return distance;
  }

  #read() {
    const { scrollTop: top, scrollHeight, clientHeight, clientWidth } = this.#scroller;
    return { top, way: clientHeight ? scrollHeight - top - clientHeight : undefined, now: `${clientWidth} ${clientHeight}` };
  }

  /** How far it is to the end. */
  #way() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight;
  }

  #offer() {
    this.#jump.hidden = false;
    this.#jump.lastChild.textContent = this.#count || '';
  }

  #noNews() {
    this.#news = false;
    this.#count = 0;
    if (this.#jump.hidden) return;
    // Whoever stood on the button reads on.
    if (this.#jump.matches(':focus')) this.#scroller.focus({ preventScroll: true });
    this.#jump.hidden = true;
  }
}
