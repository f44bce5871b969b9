// The panel of an element before there is a session: drawn at once, because a person may write as
// soon as they see it. What is sent meanwhile waits among the calls of the page.

import { Panel } from '../dom/panel.js';

/** The row of what was sent, until the session makes one of its own. */
const ROW = '';

const filled = (text) => text?.trim() || undefined;

export class Early {
  /** Whether a panel is to be there, if the attributes want one. */
  isAsked = false;
  #host;
  #calls;
  #ahead;
  /** The panel, until the session has begun. */
  #panel;
  /** What it speaks. */
  #words;
  /** The module has it. */
  #isHanded = false;
  /** What hears the panel, once the module has it; of messages, once the session has begun. */
  #tell;
  #hasBegun = false;
  /** The message that waits. */
  #sent;
  /** The panel that was made last. */
  #last;
  /** What was written where no panel is any more. */
  #draft = '';

  constructor(host, calls, ahead) {
    this.#host = host;
    this.#calls = calls;
    this.#ahead = ahead;
  }

  /** Whether there is a panel that the module can have. */
  get isDrawn() {
    return Boolean(this.#panel);
  }

  /** Draws what the attributes say, anew in other words. The module says why a composer is closed. */
  draw(words) {
    if (this.#isHanded) return;
    this.isAsked = true;
    const { headless, disabled, heading, placeholder } = this.#host;
    const isWanted = !headless && !disabled;
    if (this.#panel && (!isWanted || words !== this.#words)) this.#drop();
    if (!isWanted) return;
    this.#words = words;
    this.#panel ??= this.#made();
    this.#panel.setTexts(filled(heading), filled(placeholder), true);
    this.#show();
  }

  /** `draw()` has everything drawn anew: what the person was doing in the panel goes on. */
  renew(draw) {
    const before = this.#last;
    const left = before?.leave();
    draw();
    if (left && this.#last !== before) this.#last.goOn(left);
  }

  /** The element was moved. */
  reattached() {
    this.#panel?.reattached();
  }

  /** A panel for the module, which hears it by `tell`. */
  hand(tell) {
    this.#tell = tell;
    if (this.#hasBegun) return this.#made();
    // One that was handed over before, the module has taken out.
    if (this.#isHanded) this.#draft = this.#panel.draft;
    if (this.#isHanded || !this.#panel) this.#panel = this.#made();
    this.#isHanded = true;
    this.#show();
    return this.#panel;
  }

  /** The session begins and gets what waits. */
  begin() {
    if (this.#sent !== undefined) this.#panel?.removeMessage(ROW);
    this.#panel = this.#sent = undefined;
    this.#hasBegun = true;
  }

  /** There is no module, or no longer. Gives what the person wrote and sees nowhere now. */
  end() {
    this.#ahead.end();
    this.#draft = [this.#sent, this.#panel ? this.#panel.draft : this.#draft].filter(Boolean).join('\n');
    this.#sent = undefined;
    this.#panel?.remove();
    this.#panel = this.#last = this.#tell = undefined;
    this.isAsked = this.#isHanded = this.#hasBegun = false;
    return this.#draft;
  }

  /** The message that waits has a row. */
  #show() {
    if (this.#sent === undefined) return;
    this.#panel?.removeMessage(ROW);
    this.#panel?.addMessage(ROW, 'user', this.#sent);
  }

  #made() {
    const panel = (this.#last = new Panel(this.#host.shadowRoot, (name, text) => this.#told(name, text)));
    panel.setActivity('starting');
    if (this.#draft) panel.draft = this.#draft;
    this.#draft = '';
    return panel;
  }

  #drop() {
    this.#draft = this.#panel.draft;
    this.#panel.remove();
    this.#panel = undefined;
  }

  #told(name, text) {
    if (this.#tell && (name !== 'send' || this.#hasBegun)) return this.#tell(name, text);
    if (name !== 'send' || this.#calls.isBusy()) return false;
    let sending;
    try {
      sending = this.#calls.sendMessage(text);
    } catch {
      return false;
    }
    this.#sent = text;
    this.#show();
    // The page may take it back.
    sending.then(() => this.#sent === text && this.#giveBack());
    this.#ahead.send(text);
    return true;
  }

  #giveBack() {
    this.#ahead.end();
    this.#panel?.removeMessage(ROW);
    if (this.#panel && !this.#panel.draft) this.#panel.draft = this.#sent;
    this.#sent = undefined;
  }
}
