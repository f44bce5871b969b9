// The chat panel's nodes. What changes, the session says in patches (`dom/mod.rs`); here is
// how a change looks. Drawing is JavaScript because the same calls from Rust weigh four
// times as much on the wire.

import { Cards } from './cards.js';
import { Composer, isPlain } from './composer.js';
import { lazy } from './lazy.js';
import { SPARK, add, icon, label, style } from './nodes.js';
import { Rows } from './rows.js';
import { Follow } from './scroll.js';
import { texts } from './texts.js';

const EVENTS = ['click', 'input', 'keydown', 'keypress', 'keyup', 'focusin', 'focusout', 'scroll'];

/** The panel of one element. `tell(name, text)` asks for something; false if it was refused. */
export class Panel {
  #root;
  #tell;
  #text;
  #activity;
  #frame;
  #heading;
  #state;
  #empty;
  #list;
  #typing;
  #notice;
  #announcer;
  #disclosure;
  #rows;
  #cards;
  #composer;
  #follow;
  #toAnnounce = false;

  constructor(root, tell) {
    this.#root = root;
    this.#tell = tell;
    const text = (this.#text = texts());
    const kit = { add, icon, label, text, lazy, tell, style: (css) => style(root, css) };
    const frame = (this.#frame = add(root, 'section|part=panel|class=panel'));
    const header = add(frame, 'header|part=header|class=header');
    icon(add(header, 'span|class=spark'), SPARK);
    const titles = add(header, 'div|class=titles');
    this.#heading = add(titles, 'h2|part=heading|class=heading|dir=auto');
    this.#state = add(titles, 'p|part=state|class=state');

    const area = add(frame, 'div|class=area');
    // Screen readers hear each answer once, when it is whole, from the announcer.
    const scroller = add(area, 'div|part=transcript|class=scroller|role=log|aria-live=off|tabindex=0');
    label(scroller, text('conversation'));
    this.#empty = add(scroller, 'div|part=empty|class=empty');
    icon(add(this.#empty, 'span|class=spark'), SPARK);
    add(this.#empty, 'p|class=hello', text('emptyTitle'));
    add(this.#empty, 'p|class=hint', text('emptyHint'));
    this.#list = add(scroller, 'div|class=rows');
    this.#typing = add(scroller, 'div|part=typing|class=typing|hidden');
    for (let dot = 0; dot < 3; dot += 1) add(this.#typing, 'i');
    this.#notice = add(scroller, 'div|part=notice|class=notice');
    const jump = add(area, 'button|type=button|part=jump|class=jump|data-do=jump|hidden');
    icon(jump, 'M12 5v14m0 0 6-6m-6 6-6-6');
    add(jump, 'span', text('jump'));
    this.#announcer = add(frame, 'div|class=unseen|role=status|aria-live=polite');

    this.#rows = new Rows(kit, this.#list);
    this.#cards = new Cards(kit, this.#list);
    this.#composer = new Composer(kit, frame, (draft) => tell('send', draft));
    this.#disclosure = add(frame, 'p|part=disclosure|class=disclosure|dir=auto|hidden');
    this.#follow = new Follow(scroller, jump, () => tell('earlier'));

    // One listener serves all of it. Scrolling does not bubble.
    for (const name of EVENTS) frame.addEventListener(name, this, name === 'scroll');
  }

  /** Heading and placeholder. */
  setTexts(heading, placeholder) {
    label(this.#frame, (this.#heading.textContent = heading ?? this.#text('heading')));
    this.#composer.setPlaceholder(placeholder ?? this.#text('placeholder'));
  }

  clear() {
    for (const known of [this.#rows, this.#cards]) known.clear();
    this.#list.textContent = this.#announcer.textContent = '';
    this.#toAnnounce = false;
    this.#empty.hidden = false;
    this.#follow.reset();
    this.setNotice();
  }

  /** A message at the end. The person's own message brings the view there. */
  addMessage(id, role, text) {
    this.#empty.hidden = true;
    const row = this.#rows.add(id, role, text);
    this.#follow.note();
    if (row.own) this.#follow.follow();
    else this.#toAnnounce = true;
  }

  /** Messages from before the first one. */
  addEarlier(messages) {
    this.#follow.prepend(this.#list.firstElementChild, () => {
      this.#rows.prepend(messages);
      this.#showEmpty();
    });
  }

  /** A line about a tool call, at the end or where it is. */
  setTool(id, state, words) {
    this.#empty.hidden = true;
    this.#follow.note();
    const line = this.#cards.setTool(id, state, words);
    if (state === 'running' || state === 'failed') this.#announcer.textContent = line.textContent;
    this.#showTyping();
  }

  addQuestion(id, question, details) {
    this.#empty.hidden = true;
    this.#cards.addQuestion(id, question, details);
    this.#follow.follow();
  }

  removeQuestion(id) {
    const { activeElement } = this.#root;
    // The buttons go; whoever stood on one goes on writing.
    if (this.#cards.removeQuestion(id)?.contains(activeElement)) this.#composer.input.focus();
  }

  setSources(id, sources) {
    this.#rows.get(id)?.setSources(sources);
  }

  setWidget(id, widget) {
    this.#rows.setWidget(id, widget);
  }

  append(id, text) {
    this.#rows.get(id)?.write(text);
    this.#follow.note();
    this.#toAnnounce = true;
  }

  setStatus(id, status) {
    this.#rows.get(id)?.setStatus(status);
  }

  removeMessage(id) {
    this.#rows.remove(id);
    this.#showEmpty();
  }

  /** What the agent is doing: typing indicator, button, and the finished answer read out. */
  setActivity(activity) {
    this.#activity = this.#frame.dataset.activity = activity;
    this.#showState();
    this.#showTyping();
    if (activity === 'idle' && this.#toAnnounce) {
      this.#toAnnounce = false;
      const last = this.#rows.last();
      this.#announcer.textContent = last && !last.own ? last.body.textContent : '';
    }
    this.#composer.setBusy(this.#busy(), activity === 'stopping');
  }

  /** A notice under the last message, with a button for `action`: retry, reconnect or continue. */
  setNotice(words, error, action) {
    this.#notice.textContent = '';
    this.#frame.classList.toggle('failed', Boolean(error));
    this.#frame.classList.toggle('cut', action === 'reconnect');
    this.#showState();
    if (words === undefined) return;
    this.#follow.note();
    // The role comes first: what appears in an alert is read out at once.
    this.#notice.setAttribute('role', error ? 'alert' : 'status');
    const card = add(this.#notice, `div|class=card ${error ? 'error' : ''}`);
    add(card, 'p|part=notice__text|dir=auto', words);
    if (action) add(card, `button|type=button|part=notice__button|data-do=${action}`, this.#text(action));
  }

  setDisclosure(words) {
    this.#disclosure.hidden = !words;
    this.#disclosure.textContent = words ?? '';
  }

  /** The element was moved: gives back what the browser takes, scroll position and focus. */
  reattached() {
    this.#follow.restore();
    const { activeElement, body } = this.#frame.ownerDocument;
    if (this.#composer.focused && (!activeElement || activeElement === body)) this.#composer.input.focus();
  }

  /** Takes the panel out of the element; events that are on their way ask for nothing. */
  remove() {
    this.#follow.end();
    this.#frame.remove();
    for (const name of EVENTS) this.#frame.removeEventListener(name, this, name === 'scroll');
  }

  handleEvent(event) {
    const composer = this.#composer;
    const inInput = event.target === composer.input;
    switch (event.type) {
      case 'scroll':
        return this.#follow.scrolled();
      case 'click':
        return this.#click(event.target.closest('[data-do]'));
      case 'input':
        return composer.resize();
      case 'focusin':
        composer.focused = inInput;
        return composer.update();
      case 'focusout':
        // A move takes the focus away too, and gives it back before this task ends.
        return queueMicrotask(() => {
          composer.focused = this.#root.activeElement === composer.input;
        });
      default:
        return this.#key(event, inInput);
    }
  }

  #click(button) {
    const name = button?.dataset.do;
    if (name === 'jump') {
      this.#follow.follow();
      this.#follow.settle();
    } else if (name === 'send') {
      this.#composer.send();
      this.#composer.input.focus();
    } else if (name) {
      this.#tell(name, button.closest('.question')?.dataset.question);
    }
  }

  /**
   * Pages take bare keys for their shortcuts and see the element, not the text box, as the
   * target: those keys stay here.
   */
  #key(event, inInput) {
    const { key, shiftKey, ctrlKey, metaKey } = event;
    let ours = !ctrlKey && !metaKey && key !== 'Escape';
    if (event.type === 'keydown' && isPlain(event)) {
      if (key === 'Enter' && inInput && !shiftKey) {
        event.preventDefault();
        this.#composer.send();
      } else if (key === 'Escape' && this.#busy() && !event.target.closest('.question')) {
        ours = true;
        event.preventDefault();
        this.#tell('stop');
      }
    }
    if (ours) event.stopPropagation();
  }

  #showEmpty() {
    this.#empty.hidden = this.#list.childElementCount > 0;
  }

  /** A line that turns says as much as the dots. */
  #showTyping() {
    const works = this.#activity === 'waiting' || this.#activity === 'thinking';
    this.#typing.hidden = !works || this.#cards.works;
  }

  /**
   * An error that stands while the session starts is what keeps it from starting; a turn whose
   * connection is tried again goes on where nobody sees it.
   */
  #showState() {
    const { activity } = this.#frame.dataset;
    const lost = activity === 'starting' ? 'failed' : activity !== 'idle' && activity !== 'stopping' && 'cut';
    const isLost = Boolean(lost) && this.#frame.classList.contains(lost);
    this.#state.textContent = activity && this.#text(isLost ? 'lost' : activity);
    this.#state.classList.toggle('lost', isLost);
  }

  #busy() {
    return this.#activity !== 'starting' && this.#activity !== 'idle';
  }
}
