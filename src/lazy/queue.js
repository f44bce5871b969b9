// Messages that wait for their turn, over the text box: each can be changed, taken away or sent now,
// and what is paused resumed.

import css from 'mindset-styles/queue.css';

import { isPlain } from '../dom/composer.js';

const CLOCK = 'M12 7.5V12l3 2m6-2a9 9 0 1 1-18 0 9 9 0 0 1 18 0';
const UP = 'M12 19V5m0 0-6 6m6-6 6 6';
const PEN = 'M4 20l1-4L16.5 4.5a2.1 2.1 0 0 1 3 3L8 19z';
const CROSS = 'M6 6l12 12M18 6L6 18';
/** What is said of a message, by its state. */
const STATES = { sending: 'queuedSending', queued: 'queuedNext', steering: 'queuedReads', paused: 'queuedPaused' };
/** Characters of a message. */
const LONGEST = 100_000;
let ids = 0;

/** Shows what waits over the `composer` of a panel: `show(items)`. */
export default function queue(kit, composer) {
  kit.style(css);
  return new Queue(kit, composer);
}

class Queue {
  #kit;
  #composer;
  #box;
  #head;
  #resume;
  #list;
  /** By the run. */
  #rows = new Map();
  #isPaused = false;

  constructor(kit, composer) {
    this.#kit = kit;
    this.#composer = composer;
    const { add, frame, label, text } = kit;
    this.#box = add(frame, 'section|part=queue|class=queue|hidden');
    frame.insertBefore(this.#box, composer.input.closest('.composer'));
    label(this.#box, text('queued'));
    const top = add(this.#box, 'div|class=queue-top');
    this.#head = add(top, 'p|part=queue__heading|class=queue-head');
    this.#resume = add(top, 'button|type=button|part=queue__resume|class=queue-resume', text('resume'));
    this.#resume.addEventListener('click', () => {
      this.#kit.tell('queue-resume');
      composer.input.focus({ preventScroll: true });
    });
    this.#list = add(this.#box, 'ul|role=list');
  }

  /** What waits, in order. Rows keep their nodes, so that whoever is in one stays there. */
  show(items) {
    const { root, text, announce } = this.#kit;
    const active = this.#box.contains(root.activeElement) && root.activeElement;
    const place = active ? [...this.#rows.values()].findIndex(({ element }) => element.contains(active)) : -1;
    const isMore = items.some(({ runId }) => !this.#rows.has(runId)) && items.length > this.#rows.size;
    const rows = new Map(items.map((item) => [item.runId, this.#rows.get(item.runId) ?? this.#row(item.runId)]));
    for (const [id, { element }] of this.#rows) rows.has(id) || element.remove();
    this.#rows = rows;
    items.forEach((item, at) => {
      const { element, draw } = rows.get(item.runId);
      draw(item);
      if (this.#list.children[at] !== element) this.#list.insertBefore(element, this.#list.children[at] ?? null);
    });
    const isPaused = items.some(({ state }) => state === 'paused');
    this.#box.hidden = !items.length;
    this.#resume.hidden = !isPaused;
    this.#box.classList.toggle('paused', isPaused);
    const words = text(isPaused ? 'queueHeld' : 'queued');
    if (this.#head.textContent !== words) this.#head.textContent = words;
    if (isPaused && !this.#isPaused) announce(words);
    else if (isMore && !isPaused) announce(text('queueSaid'));
    this.#isPaused = isPaused;
    // The row of the focus has gone: on to the next one, or to what is written.
    if (active && !root.activeElement) {
      const next = [...rows.values()][Math.min(place, rows.size - 1)];
      (next?.element.querySelector('button') ?? this.#composer.input).focus({ preventScroll: true });
    }
  }

  /** One message: its text, how it stands, and what can be done. */
  #row(runId) {
    const { add, icon, label, tell, text } = this.#kit;
    const element = document.createElement('li');
    element.setAttribute('part', 'queue__item');
    let shown = {};
    let isEdited = false;
    let words;
    let state;
    const buttons = [];
    const rest = () => {
      element.textContent = '';
      icon(element, CLOCK);
      const said = add(element, 'div|class=queue-said');
      words = add(said, 'p|part=queue__text|class=queue-text|dir=auto');
      words.id = `queued-${(ids += 1)}`;
      state = add(said, 'p|part=queue__state|class=queue-state');
      buttons.length = 0;
      for (const [name, path, act] of [
        ['sendNow', UP, () => tell('queue-now', runId)],
        ['edit', PEN, edit],
        ['remove', CROSS, () => tell('queue-remove', runId)],
      ]) {
        const button = add(element, `button|type=button|part=queue__button queue__button--${name}|class=round`);
        label(button, text(name));
        button.title = text(name);
        button.setAttribute('aria-describedby', words.id);
        icon(button, path);
        button.addEventListener('click', () => shown.isFixed || act());
        buttons.push(button);
      }
      draw(shown);
    };
    const draw = (item) => {
      shown = item;
      if (isEdited) return;
      if (words.textContent !== item.text) words.textContent = item.text;
      const said = text(STATES[item.state] ?? 'queuedNext');
      if (state.textContent !== said) state.textContent = said;
      element.dataset.state = item.state;
      for (const button of buttons) button.setAttribute('aria-disabled', Boolean(item.isFixed));
      // What will be read now needs no haste.
      buttons[0].hidden = item.state === 'steering';
    };
    const edit = () => {
      isEdited = true;
      element.textContent = '';
      const form = add(element, 'form|class=queue-form');
      const box = add(form, 'textarea|part=queue__input|class=queue-input|dir=auto|rows=1|enterkeyhint=done');
      box.maxLength = LONGEST;
      box.value = shown.text;
      label(box, text('edit'));
      const row = add(form, 'div|class=queue-words');
      const leave = () => {
        isEdited = false;
        rest();
        buttons[1].focus({ preventScroll: true });
      };
      add(row, 'button|type=button|part=queue__cancel', text('cancel')).addEventListener('click', leave);
      add(row, 'button|type=submit|part=queue__save|class=queue-save', text('keep'));
      form.addEventListener('submit', (event) => {
        event.preventDefault();
        const said = box.value.trim() ? box.value : shown.text;
        if (said !== shown.text && !tell('queue-edit', `${runId}\n${said}`)) return;
        shown = { ...shown, text: said };
        leave();
      });
      box.addEventListener('keydown', (event) => {
        if (!isPlain(event)) return;
        if (event.key === 'Escape') {
          event.preventDefault();
          leave();
        } else if (event.key === 'Enter' && !event.shiftKey) {
          event.preventDefault();
          form.requestSubmit();
        }
      });
      box.focus({ preventScroll: true });
      box.setSelectionRange(box.value.length, box.value.length);
    };
    rest();
    return { element, draw };
  }
}
