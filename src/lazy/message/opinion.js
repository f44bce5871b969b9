// What a person thinks of an answer: a thumb at once, and if they like some words with it.

/** What a key of an input method says of itself, in one browser after the composition. */
const INPUT_METHOD = 229;
/** Characters of a comment. */
const LONGEST = 2_000;

export class Opinion {
  #kit;
  /** The comment that is being written, with its row. */
  #form;

  constructor(kit) {
    this.#kit = kit;
  }

  /** Takes a rating, and asks for a comment on it. */
  rate(row, rating, button) {
    this.#close();
    if (!this.#tell(row, rating) || !rating) return;
    this.#kit.announce(this.#kit.text('feedbackKept'));
    this.#ask(row, rating, button);
  }

  /** An opinion that is gone needs no comment. */
  update(row, feedback) {
    if (this.#form?.parentElement === row && !feedback) this.#close();
  }

  #tell(row, rating, comment) {
    const told = { messageId: row.dataset.messageId, rating, ...(comment && { comment }) };
    return this.#kit.tell('feedback', JSON.stringify(told));
  }

  #ask(row, rating, button) {
    const { add, announce, label, text } = this.#kit;
    const form = (this.#form = add(row, 'div|part=feedback|class=opinion|role=group'));
    label(form, text('feedback'));
    const box = add(form, `textarea|part=feedback__input|rows=2|dir=auto|maxlength=${LONGEST}`);
    label(box, (box.placeholder = text(rating === 'up' ? 'whyGood' : 'whyBad')));
    const words = add(form, 'div|class=opinion-words');
    const close = () => {
      this.#close();
      button.focus({ preventScroll: true });
    };
    const send = () => {
      const comment = box.value.trim();
      if (comment && !this.#tell(row, rating, comment)) return;
      if (comment) announce(text('feedbackKept'));
      close();
    };
    for (const [key, act] of [['noComment', close], ['sendComment', send]]) {
      add(words, `button|type=button|part=feedback__button|class=opinion-${key}`, text(key)).addEventListener('click', act);
    }
    form.addEventListener('keydown', (event) => {
      if (event.isComposing || event.keyCode === INPUT_METHOD) return;
      if (event.key === 'Escape') close();
      else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  #close() {
    this.#form?.remove();
    this.#form = undefined;
  }
}
