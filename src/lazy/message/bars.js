// The buttons of each message. A bar is made when somebody comes near its row, and all of them
// are one stop of the Tab key: arrows lead from button to button and from message to message.

import { copy } from '../answer/copy.js';
import { Opinion } from './opinion.js';

const COPY = 'M9 9h11v11H9zM5 15H4V4h11v1';
const DONE = 'M5 12.5l4.5 4.5L19 7.5';
const EDIT = 'M4 20l1-4L16.5 4.5a2.1 2.1 0 0 1 3 3L8 19z';
const RETRY = 'M20 11a8 8 0 1 0-2.3 6.3M20 4v7h-7';
const UP = 'M7 11v9H4v-9zm0 0l4-8c1.7 0 2.5 1 2.5 2.500L13 9h5.500a2 2 0 0 1 2 2.400l-1.400 7A2 2 0 0 1 17.100 20H7';
const DOWN = 'M17 13V4h3v9zm0 0l-4 8c-1.700 0-2.500-1-2.500-2.500L11 15H5.500a2 2 0 0 1-2-2.400l1.400-7A2 2 0 0 1 6.900 4H17';
/** So long a button says what it has done, in milliseconds. */
const SAID = 2_000;

/** The bars of one panel. */
export class Bars {
  #kit;
  #parts;
  #opinions;
  #bars = new WeakMap();
  #feedback = new WeakMap();
  /** The button that the Tab key leads to. */
  #stop;
  /** Where nothing hovers every bar is seen, as soon as its row is. */
  #seen;

  constructor(kit, parts) {
    this.#kit = kit;
    this.#parts = parts;
    this.#opinions = new Opinion(kit);
    const { list, frame } = parts;
    const { matchMedia, IntersectionObserver } = frame.ownerDocument.defaultView;
    if (!matchMedia('(hover: hover)').matches) {
      this.#seen = new IntersectionObserver((entries) => this.#come(entries), { root: list.parentElement, rootMargin: '200px' });
    }
    list.addEventListener('mouseover', ({ target }) => this.#near(target));
    list.addEventListener('focusin', ({ target }) => this.#near(target));
    list.addEventListener('click', ({ target }) => this.#click(target.closest('[data-act]')));
    list.addEventListener('keydown', (event) => this.#key(event));
    for (const part of list.querySelectorAll('.page.old, .page:not(.old) > .row')) this.watch(part);
  }

  /** A row is there, or more in a page of older ones: pages, because they are fewer. */
  watch(part) {
    this.#seen?.unobserve(part);
    this.#seen?.observe(part);
  }

  /** Nothing is watched any more. */
  end() {
    this.#seen?.disconnect();
  }

  /** What is thought of a message. */
  setFeedback(row, feedback) {
    this.#feedback.set(row, feedback);
    this.#press(row);
  }

  /** The last answer shows its bar, and a turn that did not end well offers another try. */
  refresh() {
    const { list, frame } = this.#parts;
    const isIdle = frame.dataset.activity === 'idle';
    for (const row of list.querySelectorAll('.latest')) row.classList.remove('latest');
    const last = isIdle && this.#last();
    if (last) {
      const bar = this.#make(last);
      last.classList.add('latest');
      const isOffered = Boolean(frame.querySelector('.notice [data-do=retry]'));
      const may = Boolean(last.querySelector(':scope > .status')) && !isOffered;
      for (const button of list.querySelectorAll('[data-act=retry]')) button.hidden = !may || !bar.contains(button);
    }
    const { activeElement } = this.#kit.root;
    if (!activeElement?.closest?.('.message-bar')) this.#lead(last && this.#bars.get(last).querySelector('button'));
  }

  #last() {
    const rows = this.#parts.list.querySelectorAll('.row');
    return rows[rows.length - 1];
  }

  #come(entries) {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      this.#seen.unobserve(target);
      for (const row of target.matches('.row') ? [target] : target.querySelectorAll('.row')) this.#near(row);
    }
  }

  /** Somebody is near a row; one that is still being written has nothing to offer. */
  #near(target) {
    const row = target.closest('.row');
    if (!row || this.#bars.has(row)) return;
    const isWritten = this.#parts.frame.dataset.activity === 'idle' || row.dataset.role === 'user' || row !== this.#last();
    if (isWritten) this.#make(row);
    else this.#seen?.observe(row);
  }

  #make(row) {
    const known = this.#bars.get(row);
    if (known) return known;
    const { add, label, text } = this.#kit;
    const own = row.dataset.role === 'user';
    const bar = add(row, 'div|part=message__tools|class=message-bar|role=toolbar');
    label(bar, text('messageTools'));
    this.#bars.set(row, bar);
    const button = (act, path, isToggle) => {
      const made = add(bar, `button|type=button|part=action action--${act}|class=action|tabindex=-1|data-act=${act}`);
      this.#kit.icon(made, path);
      label(made, (made.title = text(act === 'copy' ? 'copyMessage' : act)));
      if (isToggle) made.setAttribute('aria-pressed', false);
      return made;
    };
    button('copy', COPY);
    if (own) {
      if (this.#parts.edit) button('edit', EDIT);
    } else {
      button('good', UP, true);
      button('bad', DOWN, true);
    }
    button('retry', RETRY).hidden = true;
    this.#press(row);
    return bar;
  }

  #press(row) {
    const bar = this.#bars.get(row);
    const feedback = this.#feedback.get(row);
    for (const button of bar?.querySelectorAll('[aria-pressed]') ?? []) {
      button.setAttribute('aria-pressed', feedback?.rating === RATINGS[button.dataset.act]);
    }
    this.#opinions.update(row, feedback);
  }

  #click(button) {
    const row = button?.closest('.row');
    if (!row) return;
    const { messageId } = row.dataset;
    const { tell } = this.#kit;
    this.#lead(button);
    switch (button.dataset.act) {
      case 'copy':
        return this.#copy(button, messageId);
      case 'edit':
        return this.#parts.edit(messageId);
      case 'retry':
        return tell('retry');
      default: {
        const rating = RATINGS[button.dataset.act];
        return this.#opinions.rate(row, this.#feedback.get(row)?.rating === rating ? null : rating, button);
      }
    }
  }

  async #copy(button, id) {
    const { add, announce, icon, text } = this.#kit;
    const message = this.#parts.transcript().messages.find((message) => message.id === id);
    const isCopied = Boolean(message) && (await copy(message.content));
    const words = text(isCopied ? 'copied' : 'notCopied');
    button.textContent = '';
    icon(button, isCopied ? DONE : COPY);
    add(button, 'span|class=said', words);
    announce(words);
    clearTimeout(button.said);
    button.said = setTimeout(() => {
      button.textContent = '';
      icon(button, COPY);
    }, SAID);
  }

  /** From now on the Tab key leads here. */
  #lead(button) {
    if (!button) return;
    if (this.#stop) this.#stop.tabIndex = -1;
    this.#stop = button;
    button.tabIndex = 0;
  }

  #key(event) {
    const from = event.target.closest('.action');
    const { key, ctrlKey, metaKey, altKey } = event;
    if (!from || ctrlKey || metaKey || altKey) return;
    const row = from.closest('.row');
    const buttons = [...from.parentElement.querySelectorAll('button')].filter((button) => button.offsetParent);
    const at = buttons.indexOf(from);
    const onwards = getComputedStyle(from).direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight';
    let next;
    if (key === 'Home') next = buttons[0];
    else if (key === 'End') next = buttons.at(-1);
    else if (key === 'ArrowLeft' || key === 'ArrowRight') next = buttons.at((at + (key === onwards ? 1 : -1)) % buttons.length);
    else if (key === 'ArrowUp' || key === 'ArrowDown') next = this.#beside(row, key === 'ArrowUp' ? -1 : 1);
    else return;
    event.preventDefault();
    if (!next) return;
    this.#lead(next);
    next.focus();
  }

  /** The first button of the message before or behind. */
  #beside(row, step) {
    const rows = [...this.#parts.list.querySelectorAll('.row')];
    const beside = rows[rows.indexOf(row) + step];
    return beside && this.#make(beside).querySelector('button');
  }
}

const RATINGS = { good: 'up', bad: 'down' };
