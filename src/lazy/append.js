// `appendMessage`: a text of the page's for the person's own message, which they may change, take
// or drop. Nothing is sent.

import css from 'mindset-styles/append.css';

import { isPlain } from '../dom/composer.js';

const LIMIT = 100_000;
/** So long an element that is being set up is waited for, and how often it is looked at, in milliseconds. */
const PATIENCE = 15_000;
const PAUSE = 50;

/** The dialog that is open in an element; the next one waits for it. */
const turns = new WeakMap();

/** `kit()` gives what the panel is drawn with, once there is one. Resolves with whether the text was taken. */
export default async function append(text, client, kit) {
  const refuse = (code, message) => {
    client.report({ code, message, retryable: false });
    return false;
  };
  if (typeof text !== 'string' || !text.trim() || [...text].length > LIMIT) {
    return refuse('invalid-request', 'appendMessage takes a text of at most 100,000 characters, and not a blank one.');
  }
  const isDrawn = () => client.shadowRoot && client.isConnected && !client.headless;
  const isThere = () => kit()?.frame.isConnected;
  for (let waited = 0; isDrawn() && !isThere() && waited < PATIENCE; waited += PAUSE) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  if (!isDrawn() || !isThere()) {
    return refuse('not-ready', 'appendMessage needs a panel with a text box, and there is none. Use sendMessage, or draw the element.');
  }
  const turn = (turns.get(client) ?? Promise.resolve()).then(() => ask(text, kit(), refuse));
  turns.set(client, turn);
  return turn;
}

function ask(text, kit, refuse) {
  const input = kit?.frame.querySelector('textarea[part=composer__input]');
  if (!input?.isConnected) return refuse('not-ready', 'The panel went away before the text could be shown.');
  if (input.readOnly) return refuse('not-ready', 'The text box is closed by the attribute `disabled`. Open it first.');
  const { add, label, frame, root, text: say } = kit;
  kit.style(css);
  return new Promise((resolve) => {
    const before = root.activeElement;
    const layer = add(frame, 'div|part=append|class=append');
    const dialog = add(layer, 'div|part=append__sheet|class=append-sheet|role=dialog|aria-modal=true');
    label(dialog, say('appendTitle'));
    const sheet = add(dialog, 'form');
    add(sheet, 'p|part=append__title|class=append-title', say('appendTitle'));
    const box = add(sheet, 'textarea|part=append__input|class=append-input|dir=auto|rows=5');
    box.value = text;
    label(box, say('appendTitle'));
    const row = add(sheet, 'div|class=words');
    const drop = add(row, 'button|type=button|part=append__button', say('cancel'));
    add(row, 'button|type=submit|part=append__button append__button--add|class=append-add', say('add'));
    const below = [...frame.children].filter((part) => part !== layer && !part.matches('.unseen') && !part.inert);
    for (const part of below) part.inert = true;
    const watch = new MutationObserver(() => layer.isConnected || end(false));
    watch.observe(root, { childList: true });
    watch.observe(frame, { childList: true });
    const end = (taken) => {
      watch.disconnect();
      layer.remove();
      for (const part of below) part.inert = false;
      (taken ? input : (before ?? input)).focus({ preventScroll: true });
      resolve(taken);
    };
    drop.addEventListener('click', () => end(false));
    layer.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !isPlain(event)) return;
      event.preventDefault();
      end(false);
    });
    sheet.addEventListener('submit', (event) => {
      event.preventDefault();
      const words = box.value.trim() ? box.value : '';
      if (!words) return end(false);
      input.value += (input.value && !input.value.endsWith('\n') ? '\n' : '') + words;
      input.dispatchEvent(new Event('input', { bubbles: true }));
      end(true);
    });
    box.focus({ preventScroll: true });
  });
}
