// What keys do in the panel, and which of them the page does not see.

import { isPlain } from './composer.js';

/** Keys that write nothing; dialogs of the page live on them. */
const PASSING = /^(Tab|Escape|ContextMenu|Shift|Control|Alt|AltGraph|Meta|F\d+)$/;
/** With Ctrl or Meta: what a text box does with them. */
const EDITING = /^([acvxyz]|Arrow.*|Backspace|Delete|Home|End|Insert|Enter)$/i;

/** The keys of one panel, which says `lastOwn()`, `edit(id)`, `isBusy()` and `stop()`. */
export class Keys {
  #composer;
  #panel;
  /** Whether the Escape that went down is the page's: what it does here, the page does not see the end of either. */
  #passes = false;

  constructor(composer, panel) {
    this.#composer = composer;
    this.#panel = panel;
  }

  /**
   * Pages take bare keys for their shortcuts and see the element, not the text box, as the
   * target: those keys stay here. A drawer or menu that takes a key for itself prevents its
   * default.
   */
  handle(event, inInput) {
    const { key, shiftKey, ctrlKey, metaKey } = event;
    const isText = (!ctrlKey && !metaKey) || event.getModifierState('AltGraph');
    let ours = !PASSING.test(key) && (isText || (inInput && EDITING.test(key)));
    if (event.type === 'keydown' && isPlain(event) && !event.defaultPrevented) {
      const act = key === 'Escape' ? this.#escape(event.target) : inInput && !shiftKey && this.#act(key);
      if (act) event.preventDefault();
      ours ||= act;
    }
    if (key === 'Escape' && event.type === 'keydown') this.#passes = !ours && !event.defaultPrevented;
    else if (key === 'Escape') ours ||= !this.#passes;
    if (ours) event.stopPropagation();
  }

  /** What a key does in the text box, if anything: Enter sends, Up in an empty one edits. */
  #act(key) {
    if (key === 'Enter') this.#composer.send();
    const last = key === 'ArrowUp' && !this.#composer.input.value && this.#panel.lastOwn();
    return key === 'Enter' || Boolean(last && this.#panel.edit(last.element.dataset.messageId));
  }

  /** Leaves what is edited, or stops the turn; not from a question, where it would be no word. */
  #escape(target) {
    if (this.#composer.endEdit()) return true;
    if (!this.#panel.isBusy() || target.closest('.question')) return false;
    this.#panel.stop();
    return true;
  }
}
