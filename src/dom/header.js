// The head of the panel: who speaks, how it stands, and the way to the conversations.

import { SPARK } from './nodes.js';

/** The header of one panel. */
export class Header {
  #kit;
  #heading;
  #state;
  #conversations;

  constructor(kit, frame) {
    const { add, icon, label, text } = (this.#kit = kit);
    const header = add(frame, 'header|part=header|class=header');
    const title = add(header, 'slot|name=header|class=title-bar');
    icon(add(title, 'span|part=mark|class=spark'), SPARK);
    const titles = add(title, 'div|class=titles');
    this.#heading = add(titles, 'p|part=heading|class=heading|dir=auto');
    this.#state = add(titles, 'p|part=state|class=state');
    const tools = add(header, 'div|class=tools');
    this.#conversations = add(
      tools,
      'button|type=button|part=header__button header__button--conversations|class=round|data-do=conversations|aria-haspopup=dialog|aria-expanded=false',
    );
    label(this.#conversations, text('conversations'));
    icon(this.#conversations, 'M4 7h16M4 12h16M4 17h16');
  }

  /** The heading, and whether the server keeps conversations. */
  setTexts(heading, keeps) {
    this.#conversations.hidden = !keeps;
    this.#write(this.#heading, heading);
  }

  /**
   * What the agent is doing. An error that stands while the session starts is what keeps it from
   * starting; a turn whose connection is tried again goes on where nobody sees it; and a server that
   * was not reached is not there until it is.
   */
  show(activity, { classList }) {
    const lost = { starting: 'failed', idle: 'away', stopping: 'away' }[activity] ?? 'cut';
    const isLost = classList.contains(lost);
    this.#write(this.#state, activity && this.#kit.text(isLost ? 'lost' : activity));
    this.#state.classList.toggle('lost', isLost);
  }

  /** Equal words are not laid out again. */
  #write(line, words) {
    if (line.textContent !== words) line.textContent = words;
  }
}
