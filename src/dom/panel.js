// The chat panel's nodes. What changes, the session says in patches (`dom/mod.rs`); here is
// how a change looks. Drawing is JavaScript because the same calls from Rust weigh four
// times as much on the wire. Nodes are made with `createElement` and text only, so that
// strict content policies and Trusted Types hold; what a person typed or a server sent is
// text and never markup.

const SVG = 'http://www.w3.org/2000/svg';
/** The mark in the header and in the empty transcript. */
const SPARK =
  'M12 3l1.9 5.6a3 3 0 0 0 1.9 1.9L21 12l-5.2 1.5a3 3 0 0 0-1.9 1.9L12 21l-1.9-5.6a3 3 0 0 0-1.9-1.9L3 12l5.2-1.5a3 3 0 0 0 1.9-1.9z';
const EVENTS = ['click', 'input', 'keydown', 'keypress', 'keyup', 'focusin', 'focusout', 'scroll'];
const STATES = {
  starting: 'Connecting\u2026',
  idle: 'Online',
  waiting: 'Working\u2026',
  thinking: 'Thinking\u2026',
  answering: 'Answering\u2026',
  asking: 'Waiting for you\u2026',
  stopping: 'Stopping\u2026',
};
/** How a message ended: one of the agent, one of the person. */
const ENDINGS = {
  stopped: ['Stopped', 'Stopped'],
  interrupted: ['Interrupted', 'Interrupted'],
  error: ['Incomplete', 'Not answered'],
};
/** How a tool call stands: what screen readers hear before its words, and its picture. */
const CALLS = {
  asking: ['Waiting for you', 'M12 7.5V12l3 2m6-2a9 9 0 1 1-18 0 9 9 0 0 1 18 0'],
  running: ['Running', 'M12 3a9 9 0 1 1-9 9'],
  done: ['Done', 'M5 12.5l4.5 4.5L19 7.5'],
  failed: ['Failed', 'M7 7l10 10M17 7L7 17'],
  stopped: ['Stopped', 'M7 12h10'],
};
/** What a person says to a question: its name, its word on the button. */
const WORDS = [
  ['deny', 'Deny'],
  ['allowOnce', 'Allow'],
];
/** Whoever comes so near to the first message wants older ones, in pixels. */
const NEAR = 40;
/** Rounding of scroll positions, in pixels. */
const SLACK = 3;
/** What browsers report for keys that belong to an input method. */
const INPUT_METHOD = 229;

/** An element at the end of another: its tag and attributes, parted by `|`, then its text. */
function add(parent, recipe, text) {
  const [tag, ...attributes] = recipe.split('|');
  const element = document.createElement(tag);
  for (const attribute of attributes) {
    const [name, value = ''] = attribute.split('=');
    element.setAttribute(name, value);
  }
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

/** The name that screen readers say. */
function label(element, text) {
  element.setAttribute('aria-label', text);
}

/** A picture of one path in a 24 by 24 box, which screen readers skip. */
function icon(parent, path, kind = '') {
  let node = parent;
  for (const [tag, attributes] of [
    ['svg', { viewBox: '0 0 24 24', class: `icon ${kind}`, 'aria-hidden': true }],
    ['path', { d: path }],
  ]) {
    const inner = document.createElementNS(SVG, tag);
    for (const name in attributes) inner.setAttribute(name, attributes[name]);
    node.append(inner);
    node = inner;
  }
}

/**
 * One message. Its text is split at blank lines into one element per paragraph: only the
 * last one changes while the answer streams in, so the cost of a delta does not grow with
 * the answer, and a selection in a finished paragraph survives.
 */
class Row {
  #status;
  #sources;
  #tail;
  /** Line ends seen and not written: they may become a blank line. */
  #breaks = 0;

  constructor(rows, id, role) {
    this.own = role === 'user';
    this.element = add(rows, `article|part=message message--${role}|class=row|data-role=${role}`);
    label(this.element, this.own ? 'You' : 'Assistant');
    this.element.dataset.messageId = id;
    this.body = add(this.element, 'div|part=message__body|class=body|dir=auto');
  }

  write(text) {
    let piece = '';
    const put = () => {
      if (piece) this.#tail.appendData(piece);
      piece = '';
    };
    for (const [at, whole] of text.split('\n').entries()) {
      if (at) this.#breaks += 1;
      const line = whole.replace(/^\r+|\r+$/g, '');
      if (!line) continue;
      if (this.#breaks > 1 || !this.#tail) {
        put();
        add(this.body, 'p').append((this.#tail = new Text()));
      } else if (this.#breaks) {
        piece += '\n';
      }
      this.#breaks = 0;
      piece += line;
    }
    put();
  }

  /** Where the answer comes from: links by their titles, in the order of their markers. */
  setSources(sources) {
    this.#sources?.remove();
    this.#sources = sources.length ? add(this.element, 'ol|part=message__sources|class=sources|aria-label=Sources') : undefined;
    for (const { marker, title, url } of sources) {
      const item = add(this.#sources, 'li');
      const isLink = /^https?:\/\//i.test(url);
      const source = add(item, `${isLink ? 'a|target=_blank|rel=noopener noreferrer' : 'span'}|part=source|class=source`);
      if (isLink) source.href = source.title = url;
      add(source, 'b', marker.replace(/^\[(.*)\]$/, '$1'));
      add(source, 'span|class=title|dir=auto', title);
      if (isLink) add(source, 'span|class=unseen', ' (opens in a new tab)');
    }
  }

  setStatus(status) {
    this.#status?.remove();
    this.#status =
      status && add(this.element, `p|part=message__status|class=status|data-status=${status}`, ENDINGS[status][+this.own]);
  }
}

/** The panel of one element. `tell(name, text)` asks for something; false if it was refused. */
export class Panel {
  #root;
  #tell;
  #activity;
  #frame;
  #heading;
  #state;
  #scroller;
  #empty;
  #list;
  #typing;
  #notice;
  #jump;
  #sizes;
  #announcer;
  #input;
  #button;
  #disclosure;
  #rows = new Map();
  /** Lines about tool calls, and those that are not at their end. */
  #calls = new Map();
  #open = new Set();
  #questions = new Map();
  /** The view stays at the end; whoever scrolls up, by however little, stays where they are. */
  #follows = true;
  #top = 0;
  /** Whether something came below what is in view. */
  #news = false;
  /** Whether older messages were not asked for yet since the last ones came. */
  #mayAsk = true;
  #toAnnounce = false;
  #focused = false;

  constructor(root, tell) {
    this.#root = root;
    this.#tell = tell;
    const frame = (this.#frame = add(root, 'section|part=panel|class=panel'));
    const header = add(frame, 'header|part=header|class=header');
    icon(add(header, 'span|class=spark'), SPARK);
    const titles = add(header, 'div|class=titles');
    this.#heading = add(titles, 'h2|part=heading|class=heading|dir=auto');
    this.#state = add(titles, 'p|part=state|class=state');

    const area = add(frame, 'div|class=area');
    // Screen readers hear each answer once, when it is whole, from the announcer.
    this.#scroller = add(area, 'div|part=transcript|class=scroller|role=log|aria-live=off|aria-label=Conversation|tabindex=0');
    this.#empty = add(this.#scroller, 'div|part=empty|class=empty');
    icon(add(this.#empty, 'span|class=spark'), SPARK);
    add(this.#empty, 'p|class=hello', 'How can I help?');
    add(this.#empty, 'p|class=hint', 'Ask a question to start the conversation.');
    this.#list = add(this.#scroller, 'div|class=rows');
    this.#typing = add(this.#scroller, 'div|part=typing|class=typing|hidden');
    for (let dot = 0; dot < 3; dot += 1) add(this.#typing, 'i');
    this.#notice = add(this.#scroller, 'div|part=notice|class=notice');
    this.#jump = add(area, 'button|type=button|part=jump|class=jump|data-do=jump|hidden');
    icon(this.#jump, 'M12 5v14m0 0 6-6m-6 6-6-6');
    add(this.#jump, 'span', 'New messages');
    this.#announcer = add(frame, 'div|class=unseen|role=status|aria-live=polite');

    const composer = add(frame, 'div|part=composer|class=composer');
    this.#input = add(composer, 'textarea|part=composer__input|rows=1|dir=auto|enterkeyhint=send|autocomplete=off');
    this.#button = add(composer, 'button|type=button|part=composer__button|class=send');
    icon(this.#button, 'M12 19V5m0 0-6 6m6-6 6 6', 'arrow');
    icon(this.#button, 'M7 7h10v10H7z', 'square');
    this.#disclosure = add(frame, 'p|part=disclosure|class=disclosure|dir=auto|hidden');

    // One listener serves all of it. Scrolling does not bubble.
    for (const name of EVENTS) frame.addEventListener(name, this, name === 'scroll');
    // Once a frame, after the layout and before the picture: nothing here asks for a layout
    // of its own, however many messages a frame brings.
    this.#sizes = new ResizeObserver(() => this.#settle());
    for (const part of [this.#scroller, ...this.#scroller.children]) this.#sizes.observe(part);
  }

  /** Heading and placeholder; the placeholder is the name of the text box as well. */
  setTexts(heading, placeholder) {
    label(this.#frame, (this.#heading.textContent = heading ?? 'Assistant'));
    label(this.#input, (this.#input.placeholder = placeholder ?? 'Write a message'));
  }

  clear() {
    for (const known of [this.#rows, this.#calls, this.#open, this.#questions]) known.clear();
    this.#list.textContent = this.#announcer.textContent = '';
    this.#toAnnounce = false;
    this.#empty.hidden = false;
    this.#follows = this.#mayAsk = true;
    this.setNotice();
  }

  /** A message at the end. The person's own message brings the view there. */
  addMessage(id, role, text) {
    this.#empty.hidden = true;
    const row = new Row(this.#list, id, role);
    this.#news = true;
    if (row.own) this.#follows = true;
    else this.#toAnnounce = true;
    row.write(text);
    this.#rows.set(id, row);
  }

  /** Messages from before the first one. What is in view stays where it is. */
  addEarlier(messages) {
    // A scroll that nobody has told of yet counts.
    this.#scrolled();
    const first = this.#list.firstElementChild;
    const place = () => first?.getBoundingClientRect().top ?? 0;
    const before = place();
    const rows = new DocumentFragment();
    const earlier = messages.map(({ id, role, content, status, citations }) => {
      const row = new Row(rows, id, role);
      row.write(content);
      row.setSources(citations ?? []);
      row.setStatus(status);
      return [id, row];
    });
    this.#rows = new Map([...earlier, ...this.#rows]);
    this.#list.prepend(rows);
    this.#empty.hidden = this.#list.childElementCount > 0;
    this.#scroller.scrollTop += place() - before;
    this.#top = this.#scroller.scrollTop;
    this.#mayAsk = true;
  }

  /** A line about a tool call, at the end or where it is. */
  setTool(id, state, text) {
    this.#empty.hidden = true;
    this.#news = true;
    let line = this.#calls.get(id);
    if (!line) this.#calls.set(id, (line = add(this.#list, 'div|part=tool|class=tool')));
    const [said, path] = CALLS[state];
    line.dataset.state = state;
    line.textContent = '';
    icon(line, path);
    add(line, 'span|class=unseen', `${said}: `);
    add(line, 'span|part=tool__text|dir=auto', text);
    if (state === 'running' || state === 'failed') this.#announcer.textContent = line.textContent;
    this.#open[state === 'running' || state === 'asking' ? 'add' : 'delete'](id);
    this.#showTyping();
  }

  /** Asks the person. Nothing takes the focus; what is asked is read out at once. */
  addQuestion(id, text, details) {
    this.#empty.hidden = true;
    const card = add(this.#list, 'div|part=question|class=card question|role=group');
    label(card, text);
    card.dataset.question = id;
    add(card, 'p|part=question__text|role=alert|dir=auto', text);
    if (details.length) {
      // It scrolls, so keys must reach it.
      const box = add(card, 'div|part=question__details|class=details|role=group|aria-label=Details|tabindex=0');
      const list = add(box, 'dl');
      for (const [name, value] of details) {
        add(list, 'dt|dir=auto', name);
        add(list, 'dd|dir=auto', value);
      }
    }
    const words = add(card, 'div|class=words');
    for (const [name, word] of WORDS) add(words, `button|type=button|part=question__button question__button--${name}|data-do=${name}`, word);
    this.#questions.set(id, card);
    this.#follows = true;
  }

  removeQuestion(id) {
    const card = this.#questions.get(id);
    if (!card) return;
    // The buttons go; whoever stood on one goes on writing.
    const stood = card.contains(this.#root.activeElement);
    card.remove();
    this.#questions.delete(id);
    if (stood) this.#input.focus();
  }

  setSources(id, sources) {
    this.#rows.get(id)?.setSources(sources);
  }

  append(id, text) {
    this.#rows.get(id)?.write(text);
    this.#news = true;
    this.#toAnnounce = true;
  }

  setStatus(id, status) {
    this.#rows.get(id)?.setStatus(status);
  }

  removeMessage(id) {
    this.#rows.get(id)?.element.remove();
    this.#rows.delete(id);
    this.#empty.hidden = this.#list.childElementCount > 0;
  }

  /** What the agent is doing: typing indicator, button, and the finished answer read out. */
  setActivity(activity) {
    this.#activity = this.#frame.dataset.activity = activity;
    this.#showState();
    this.#showTyping();
    if (activity === 'idle' && this.#toAnnounce) {
      this.#toAnnounce = false;
      const last = [...this.#rows.values()].pop();
      this.#announcer.textContent = last && !last.own ? last.body.textContent : '';
    }
    const busy = this.#busy();
    this.#button.dataset.do = busy ? 'stop' : 'send';
    label(this.#button, busy ? 'Stop' : 'Send');
    this.#update();
  }

  /** A notice under the last message, with a button for `action`: retry, reconnect or continue. */
  setNotice(text, error, action) {
    this.#notice.textContent = '';
    this.#frame.classList.toggle('failed', Boolean(error));
    this.#frame.classList.toggle('cut', action === 'reconnect');
    this.#showState();
    if (text === undefined) return;
    this.#news = true;
    // The role comes first: what appears in an alert is read out at once.
    this.#notice.setAttribute('role', error ? 'alert' : 'status');
    const card = add(this.#notice, `div|class=card ${error ? 'error' : ''}`);
    add(card, 'p|part=notice__text|dir=auto', text);
    if (action) {
      add(card, `button|type=button|part=notice__button|data-do=${action}`, action[0].toUpperCase() + action.slice(1));
    }
  }

  setDisclosure(text) {
    this.#disclosure.hidden = !text;
    this.#disclosure.textContent = text ?? '';
  }

  /** The element was moved: gives back what the browser takes, scroll position and focus. */
  reattached() {
    if (!this.#follows) this.#scroller.scrollTop = this.#top;
    this.#settle();
    const { activeElement, body } = this.#frame.ownerDocument;
    if (this.#focused && (!activeElement || activeElement === body)) this.#input.focus();
  }

  /** Takes the panel out of the element; events that are on their way ask for nothing. */
  remove() {
    this.#sizes.disconnect();
    this.#frame.remove();
    for (const name of EVENTS) this.#frame.removeEventListener(name, this, name === 'scroll');
  }

  handleEvent(event) {
    const inInput = event.target === this.#input;
    switch (event.type) {
      case 'scroll':
        return this.#scrolled();
      case 'click':
        return this.#click(event.target.closest('[data-do]'));
      case 'input':
        return this.#resize();
      case 'focusin':
        this.#focused = inInput;
        return this.#update();
      case 'focusout':
        // A move takes the focus away too, and gives it back before this task ends.
        return queueMicrotask(() => {
          this.#focused = this.#root.activeElement === this.#input;
        });
      default:
        return this.#key(event, inInput);
    }
  }

  #click(button) {
    const name = button?.dataset.do;
    if (name === 'jump') {
      this.#follows = true;
      this.#settle();
    } else if (name === 'send') {
      this.#send();
      this.#input.focus();
    } else if (name) {
      this.#tell(name, button.closest('.question')?.dataset.question);
    }
  }

  /**
   * Pages take bare keys for their shortcuts and see the element, not the text box, as the
   * target: those keys stay here. The Enter that picks a candidate of an input method sends
   * nothing, and in one browser comes after the composition ended.
   */
  #key(event, inInput) {
    const { key, shiftKey, ctrlKey, altKey, metaKey } = event;
    let ours = !ctrlKey && !metaKey && key !== 'Escape';
    const plain = !ctrlKey && !altKey && !metaKey && !event.isComposing && event.keyCode !== INPUT_METHOD;
    if (event.type === 'keydown' && plain) {
      if (key === 'Enter' && inInput && !shiftKey) {
        event.preventDefault();
        this.#send();
      } else if (key === 'Escape' && this.#busy() && !event.target.closest('.question')) {
        ours = true;
        event.preventDefault();
        this.#tell('stop');
      }
    }
    if (ours) event.stopPropagation();
  }

  #send() {
    const text = this.#input.value;
    if (!text.trim()) return;
    // Cleared first: listeners run inside, and may look.
    this.#input.value = '';
    this.#resize();
    if (!this.#tell('send', text)) {
      this.#input.value = text;
      this.#resize();
    }
  }

  /** A line that turns says as much as the dots. */
  #showTyping() {
    const works = this.#activity === 'waiting' || this.#activity === 'thinking';
    this.#typing.hidden = !works || this.#open.size > 0;
  }

  /**
   * An error that stands while the session starts is what keeps it from starting; a turn whose
   * connection is tried again goes on where nobody sees it.
   */
  #showState() {
    const { activity } = this.#frame.dataset;
    const lost = activity === 'starting' ? 'failed' : activity !== 'idle' && activity !== 'stopping' && 'cut';
    const isLost = Boolean(lost) && this.#frame.classList.contains(lost);
    this.#state.textContent = isLost ? 'Not connected' : STATES[activity];
    this.#state.classList.toggle('lost', isLost);
  }

  #busy() {
    return this.#activity !== 'starting' && this.#activity !== 'idle';
  }

  /** Without a draft there is nothing to send; the button stays focusable. */
  #update() {
    const off = this.#activity === 'stopping' || (!this.#busy() && !this.#input.value.trim());
    this.#button.setAttribute('aria-disabled', off);
  }

  /** The draft changed: the box grows with it, to the limit of the style sheet. */
  #resize() {
    this.#update();
    this.#input.style.height = 'auto';
    const { scrollHeight } = this.#input;
    if (scrollHeight) this.#input.style.height = `${scrollHeight}px`;
  }

  #scrolled() {
    const { scrollTop, clientHeight } = this.#scroller;
    if (!clientHeight) return;
    const atEnd = this.#atEnd();
    if (scrollTop < this.#top && !atEnd) {
      this.#follows = false;
    } else if (atEnd) {
      this.#follows = true;
      this.#noNews();
    }
    if (scrollTop < NEAR && scrollTop < this.#top && this.#mayAsk) {
      this.#mayAsk = false;
      this.#tell('earlier');
    }
    this.#top = scrollTop;
  }

  /** Something changed its size: stays at the end, or offers the way there. */
  #settle() {
    if (this.#follows) {
      this.#scroller.scrollTop = this.#scroller.scrollHeight;
      this.#top = this.#scroller.scrollTop;
      this.#noNews();
    } else if (!this.#atEnd()) {
      this.#jump.hidden = !this.#news;
    }
  }

  #noNews() {
    this.#news = false;
    this.#jump.hidden = true;
  }

  #atEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight <= SLACK;
  }
}
