// Code blocks: a label, a button that copies, and lines that are coloured when they are
// finished and in view.
//
// The colours are highlights over the text and no elements: the text of a line never changes
// its node, so a selection in it stays.

import { copy } from './copy.js';

/** So many lines are one block of the layout, and are coloured together. */
const GROUP = 32;
/** So long the button says what it did, in milliseconds. */
const SAID_MS = 2_000;
/** So long lines are coloured at a time, in milliseconds. */
const SLICE_MS = 6;
/** So long finished lines wait, in milliseconds: every time lines get colours, the browser paints all that is in view. */
const PAUSE_MS = 200;
const COPY = 'M9 9h11v11H9zM5 15H4V4h11v1';
const DONE = 'M5 12.5l4.5 4.5L19 7.5';

const idle = globalThis.requestIdleCallback ?? ((task) => setTimeout(task, 50));

/** Lines of a block that are laid out together. */
class Group {
  /** A text node for each line. */
  lines = [];
  /** The colours of each line that has them: `[start, end, kind]`. */
  colours = [];
  ranges = [];
  isSeen = false;

  constructor(element) {
    this.element = element;
  }
}

/** One block; it takes the steps of an answer. */
class CodeBlock {
  kids = [];
  groups = [];
  /** Whether nothing more comes. */
  isDone = false;
  /** The next line to colour, and what the line before left open. */
  next = 0;
  state;
  /** `undefined` until it is known whether the language has colours. */
  colour;

  constructor(blocks, root, element, language) {
    this.blocks = blocks;
    this.root = root;
    this.element = element;
    this.language = language;
  }

  get lines() {
    return this.groups.length ? (this.groups.length - 1) * GROUP + this.groups.at(-1).lines.length : 0;
  }

  /** How many lines are finished. */
  get finished() {
    return this.isDone ? this.lines : this.lines - 1;
  }

  write(text) {
    for (const [at, piece] of text.split('\n').entries()) {
      if (at) this.#begin();
      else if (!this.groups.length) this.#begin();
      if (piece) this.groups.at(-1).lines.at(-1).appendData(piece);
    }
    this.blocks.wake(this);
    return undefined;
  }

  cut() {
    this.blocks.leave(this);
    this.element.textContent = '';
    this.groups = [];
    this.next = 0;
    this.state = undefined;
  }

  close() {
    this.isDone = true;
    this.blocks.wake(this);
  }

  /** A new line. Where a group ends, the layout breaks the line, and hidden text says so. */
  #begin() {
    const { add } = this.blocks.kit;
    let group = this.groups.at(-1);
    const isFull = group?.lines.length === GROUP;
    if (isFull) add(this.element, 'i|hidden', '\n');
    else group?.lines.at(-1).appendData('\n');
    if (!group || isFull) {
      group = new Group(add(this.element, 'span|class=lines'));
      this.groups.push(group);
      this.blocks.watch(this, group);
    }
    const line = new Text();
    group.element.append(line);
    group.lines.push(line);
  }
}

/** The code blocks of one panel. */
export class CodeBlocks {
  #colours;
  #blocks = new WeakMap();
  /** Groups by their elements. */
  #groups = new WeakMap();
  #seen;
  /** Groups that stand in no document yet: the observer lays out the page for each of those. */
  #fresh = [];
  /** What all blocks begin as. */
  #model;
  /** Blocks with lines to colour. */
  #waiting = new Set();
  #isWaiting = false;

  constructor(kit) {
    this.kit = kit;
    this.#seen = new IntersectionObserver((entries) => this.#look(entries), { rootMargin: '200px' });
    // What the browser skips needs no observer, each of which costs something in every frame.
    kit.frame.addEventListener('contentvisibilityautostatechange', ({ target, skipped }) => {
      for (const element of target.querySelectorAll('.lines')) this.#watch(element, !skipped);
    });
  }

  /** A block at the end of `parent`. */
  open(parent, language) {
    const { label, text } = this.kit;
    this.#model ??= this.#make();
    const root = parent.appendChild(this.#model.cloneNode(true));
    const [head, box] = root.children;
    const [name, button] = head.children;
    name.textContent = language.slice(0, 40);
    const say = (key) => {
      label(button, text(key));
      button.dataset.said = key;
    };
    if (language) label(box, `${text('codeBlock')}: ${language.slice(0, 40)}`);
    const block = new CodeBlock(this, root, box.firstChild, language.toLowerCase());
    button.onclick = async () => {
      say((await copy(block.element.textContent)) ? 'copied' : 'notCopied');
      this.kit.announce(text(button.dataset.said));
      setTimeout(() => say('copy'), SAID_MS);
    };
    this.#blocks.set(root, block);
    return block;
  }

  #make() {
    const { add, icon, label, text } = this.kit;
    const root = add(document.createDocumentFragment(), 'div|part=code|class=code');
    const head = add(root, 'div|part=code__head|class=code-head|dir=ltr');
    add(head, 'span|class=language');
    const button = add(head, 'button|type=button|part=code__copy|class=copy|data-said=copy');
    icon(button, COPY, 'idle');
    icon(button, DONE, 'done');
    label(button, text('copy'));
    const box = add(root, 'pre|class=box|dir=ltr|role=group|tabindex=0');
    label(box, text('codeBlock'));
    add(box, 'code');
    return root;
  }

  watch(block, group) {
    if (!block.language || !CSS.highlights) return;
    this.#groups.set(group.element, [block, group]);
    if (this.#fresh.push(group.element) > 1) return;
    queueMicrotask(() => {
      for (const element of this.#fresh.splice(0)) this.#watch(element, true);
    });
  }

  #watch(element, is) {
    const [, group] = this.#groups.get(element) ?? [];
    if (!group) return;
    if (is) return this.#seen.observe(element);
    this.#seen.unobserve(element);
    this.#lose(group);
  }

  /** Lines of a block are finished. */
  wake(block) {
    if (block.colour === null || block.next >= block.finished || !block.groups.some((group) => group.isSeen)) return;
    this.#waiting.add(block);
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.kit.lazy('highlight').then(
      (colours) => {
        this.#colours = colours;
        setTimeout(() => idle(() => this.#work()), PAUSE_MS);
      },
      () => (this.#isWaiting = false),
    );
  }

  /** A block is emptied or taken away. */
  leave(block) {
    this.#waiting.delete(block);
    for (const group of block.groups) {
      this.#seen.unobserve(group.element);
      // What was seen of it is told after this.
      this.#groups.delete(group.element);
      this.#lose(group);
    }
  }

  /** All blocks in `element` are taken away. */
  forget(element) {
    for (const root of element.querySelectorAll('.code')) {
      const block = this.#blocks.get(root);
      if (block) this.leave(block);
    }
  }

  #look(entries) {
    for (const { target, isIntersecting } of entries) {
      const [block, group] = this.#groups.get(target) ?? [];
      if (!group || group.isSeen === isIntersecting) continue;
      group.isSeen = isIntersecting;
      if (!isIntersecting) this.#fade(group);
      else {
        group.colours.forEach((_, at) => this.#paint(group, at));
        this.wake(block);
      }
    }
  }

  #work() {
    const until = performance.now() + SLICE_MS;
    for (const block of this.#waiting) {
      this.#waiting.delete(block);
      block.colour ??= this.#colours.language(block.language) ?? null;
      if (!block.colour) continue;
      const last = block.groups.findLastIndex((group) => group.isSeen);
      const end = Math.min(block.finished, (last + 1) * GROUP);
      while (block.next < end && performance.now() < until) this.#colourLine(block);
      if (block.next < end) {
        this.#waiting.add(block);
        break;
      }
    }
    this.#isWaiting = this.#waiting.size > 0;
    if (this.#isWaiting) idle(() => this.#work());
  }

  #colourLine(block) {
    const group = block.groups[Math.floor(block.next / GROUP)];
    const at = block.next % GROUP;
    const [colours, state] = block.colour(group.lines[at].data, block.state);
    block.state = state;
    block.next += 1;
    group.colours[at] = colours;
    if (group.isSeen) this.#paint(group, at);
  }

  #paint(group, at) {
    const node = group.lines[at];
    for (const [start, end, kind] of group.colours[at]) {
      const range = new StaticRange({ startContainer: node, startOffset: start, endContainer: node, endOffset: end });
      group.ranges.push([kind, range]);
      this.#colours.highlight(kind).add(range);
    }
  }

  #lose(group) {
    group.isSeen = false;
    this.#fade(group);
  }

  #fade(group) {
    for (const [kind, range] of group.ranges.splice(0)) this.#colours.highlight(kind).delete(range);
  }
}
