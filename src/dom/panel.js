// The chat panel's nodes. What changes, the session says in patches (`dom/mod.rs`); here is
// how a change looks. Drawing is JavaScript because the same calls from Rust weigh four
// times as much on the wire.

import { Cards } from './cards.js';
import { Composer } from './composer.js';
import { Frames } from './frames.js';
import { Header } from './header.js';
import { Keys } from './keys.js';
import { kits, lazy } from './lazy.js';
import { SPARK, add, icon, label, style } from './nodes.js';
import { Rows } from './rows.js';
import { Follow } from './scroll.js';
import { spoken } from './speech.js';
import { textsOf } from './texts.js';

const EVENTS = [
  'click', 'input', 'keydown', 'keypress', 'keyup', 'focusin', 'focusout', 'scroll', 'wheel', 'mousedown', 'touchstart',
  'compositionstart', 'compositionend', 'cut', 'copy', 'paste',
];
/** So long older messages are drawn at a time, in milliseconds. */
const SLICE = 8;

/** The panel of one element. `tell(name, text)` asks for something; false if it was refused. */
export class Panel {
  #root;
  #kit;
  #tell;
  #text;
  #activity;
  #frame;
  #header;
  #empty;
  #list;
  #typing;
  #notice;
  #announcer;
  #disclosure;
  #rows;
  #cards;
  #composer;
  #keys;
  #follow;
  /** Messages of the turn that are to be read out at its end. */
  #unsaid = new Set();
  /** The styles of chunks. */
  #styles = new Set();
  /** Whether what draws answers is there, or `undefined` while it is being loaded. */
  #rich;
  #isLoading = false;
  #frames;
  /** Whether older messages are being drawn. */
  #isDrawing = false;
  #filesAsked = false;
  /** Files of the panel that was here before. */
  #left;
  /** What the tools of messages do, once they are there. */
  #tools;
  #toolParts;
  /** What the model thinks now, and since when. */
  #thought;
  #transcript;
  /** Messages that wait, and what shows them, once it is there. */
  #queued = [];
  #queue;

  constructor(root, tell) {
    this.#root = root;
    this.#tell = tell;
    const text = (this.#text = textsOf(root));
    const kit = (this.#kit = {
      add,
      icon,
      label,
      text,
      locale: text.locale,
      lazy,
      tell: (name, words) => this.#ask(name, words),
      root,
      host: root.host,
      style: (css) => this.#styles.add(css) && style(root, css),
      announce: (words) => (this.#announcer.textContent = words),
    });
    const frame = (this.#frame = add(root, 'section|part=panel|class=panel'));
    kit.frame = frame;
    kits.set(root, kit);
    frame.lang = text.locale;
    frame.dir = text.direction;
    this.#header = new Header(kit, frame);
    const area = add(frame, 'div|class=area');
    // Screen readers hear each answer once, when it is whole, from the announcer.
    const scroller = add(area, 'div|part=transcript|class=scroller|role=log|aria-live=off|tabindex=0');
    label(scroller, text('conversation'));
    this.#empty = add(scroller, 'div|part=empty|class=empty');
    const hello = add(this.#empty, 'slot|name=empty');
    icon(add(hello, 'span|part=mark|class=spark'), SPARK);
    add(hello, 'p|part=empty__title|class=hello', text('emptyTitle'));
    add(hello, 'p|part=empty__hint|class=hint', text('emptyHint'));
    this.#list = add(scroller, 'div|class=rows');
    this.#typing = add(scroller, 'div|part=typing|class=typing|hidden');
    for (let dot = 0; dot < 3; dot += 1) add(this.#typing, 'i');
    this.#notice = add(scroller, 'div|part=notice|class=notice');
    const chips = add(scroller, 'div');
    const jump = add(area, 'button|type=button|part=jump|class=jump|data-do=jump|hidden');
    icon(jump, 'M12 5v14m0 0 6-6m-6 6-6-6');
    add(jump, 'span', text('jump'));
    add(jump, 'span|class=count');
    this.#announcer = add(frame, 'div|class=unseen|role=status|aria-live=polite');

    this.#rows = new Rows(kit, this.#list);
    this.#cards = new Cards(kit, this.#rows);
    this.#composer = new Composer(kit, frame, (name, draft) => this.#ask(name, draft));
    this.#keys = new Keys(this.#composer, {
      lastOwn: () => this.#rows.lastOwn(),
      edit: (id) => this.edit(id),
      isBusy: () => this.#busy(),
      stop: () => this.#tell('stop'),
    });
    this.#disclosure = add(frame, 'p|part=disclosure|class=disclosure|dir=auto|hidden');
    this.#follow = new Follow(scroller, this.#list, jump, () => tell('earlier'));
    this.#frames = new Frames(frame, () => tell('draw'));

    const transcript = () => tell('transcript') && this.#transcript;
    this.#toolParts = { frame, list: this.#list, chips, transcript, edit: (id) => this.edit(id) };

    // One listener serves all of it. Scrolling does not bubble, and does not wait for listeners.
    for (const name of EVENTS) {
      const passive = name === 'wheel' || name === 'touchstart';
      frame.addEventListener(name, this, { passive, capture: name === 'scroll' });
    }
  }

  /** Heading and placeholder, and whether the server keeps conversations. */
  setTexts(heading, placeholder, keeps) {
    const words = heading ?? this.#text('heading');
    this.#header.setTexts(words, keeps);
    this.#composer.lines = keeps;
    // The shell tells of a failure.
    if (/^(bubble|panel)$/i.test(this.#root.host.layout)) lazy('layout').then((lay) => lay(this.#root.host, this.#kit), () => {});
    label(this.#frame, words);
    this.#composer.setPlaceholder(placeholder ?? this.#text('placeholder'));
    this.#allowFiles();
  }

  /** With `uploads` people may attach files, as far as the server takes them. */
  #allowFiles() {
    const { uploads } = this.#root.host;
    if (this.#composer.files) this.#composer.files.shown.hidden = !uploads;
    if (!uploads || this.#filesAsked || this.#activity !== 'idle') return;
    this.#filesAsked = true;
    const allowed = this.#rows.files().then((part) => part.attach(this.#composer, this.#frame));
    const take = (tray) => {
      this.#composer.files = tray;
      if (this.#left) tray?.take(this.#left);
      this.#left = undefined;
    };
    allowed.then(take, () => (this.#filesAsked = false));
  }

  /** What is being written. */
  get draft() {
    return this.#composer.input.value;
  }

  set draft(text) {
    this.#composer.write(text);
  }

  setFiles(id, files) {
    this.#rows.setFiles(id, files);
  }

  /** Brings a message of one's own into the composer, to be changed and sent again, if that may be. */
  edit(id) {
    const row = this.#rows.get(id);
    const may = Boolean(row?.own) && this.#tell('edit', id);
    if (may) this.#composer.edit(id, row.text);
    return may;
  }

  /** Nothing can be written, for this reason, which may be empty. */
  setClosed(reason) {
    this.#composer.setClosed(reason);
  }

  /** Where the draft outlives a reload, if it does. */
  setDraft(key, keeps) {
    this.#composer.setDraft(key, keeps);
  }

  clear() {
    this.#follow.reset();
    for (const known of [this.#rows, this.#cards, this.#unsaid]) known.clear();
    this.#list.textContent = this.#announcer.textContent = '';
    this.#empty.hidden = false;
    this.#composer.endEdit();
    this.#thought = undefined;
    this.setSuggestions([]);
    this.setNotice();
  }

  /** A message at the end. The view goes there only if it is there already. */
  addMessage(id, role, text) {
    this.#empty.hidden = true;
    const row = this.#rows.add(id, role, text);
    this.#follow.note(1);
    if (row.own) return;
    this.#toSay(id);
    this.#load();
  }

  /** More of an answer: a program of the drawer, or `plain` text. */
  draw(id, program, plain, ended) {
    this.#rows.draw(id, program, plain, ended);
    this.#follow.note();
    this.#toSay(id);
    this.#showTyping();
  }

  /** Text of an answer came: it is drawn with the next frame. */
  drawSoon() {
    this.#frames.ask();
  }

  /** There are messages from before the first one: they are drawn as long as nothing else waits. */
  addEarlier() {
    this.#empty.hidden = true;
    this.#load();
    if (this.#rich === undefined || this.#isDrawing) return;
    this.#isDrawing = true;
    this.#drawSome();
  }

  /** The newest of the messages before the first one. */
  drawEarlier(messages) {
    this.#rows.prepend(messages);
    this.#offer();
    for (const { id, feedback } of messages) if (feedback) this.setFeedback(id, feedback);
  }

  /** A line about a tool call, at the end or where it is. */
  setTool(id, state, words) {
    this.#empty.hidden = true;
    this.#follow.note();
    const line = this.#cards.setTool(id, state, words);
    if (state === 'running' || state === 'failed') this.#announcer.textContent = line.textContent;
    this.#showTyping();
  }

  /** Asks with these words, or whether a tool may be used, and these words say why. */
  addQuestion(id, words, details, tool) {
    this.#empty.hidden = true;
    this.#cards.addQuestion(id, tool ? `${this.#text('mayUse', { tool })} ${words}`.trim() : words, details);
    this.#follow.note(1);
  }

  /** Asks the person several things, as soon as what draws that is there. */
  addQuestionnaire(id, questionnaire) {
    this.#empty.hidden = true;
    const card = this.#cards.hold(id);
    lazy('questionnaire').then((ask) => ask(this.#kit, card, questionnaire), () => this.setNotice(this.#text('notLoaded'), true));
    this.#follow.note(1);
  }

  /** What waits for its turn: `[{ runId, text, state, isFixed }]`. */
  setQueue(items) {
    this.#queued = items;
    if (this.#queue) return this.#queue.show(items);
    if (!items.length) return;
    this.#empty.hidden = true;
    const make = (queue) => (this.#queue ??= queue(this.#kit, this.#composer)).show(this.#queued);
    lazy('queue').then(make, () => this.setNotice(this.#text('notLoaded'), true));
  }

  /** A message that could not be sent comes back into the text box. */
  giveBack(text) {
    const { draft } = this;
    this.draft = draft.trim() ? `${text}\n${draft}` : text;
  }

  removeQuestion(id) {
    const { activeElement } = this.#root;
    if (this.#cards.removeQuestion(id)?.contains(activeElement)) this.#goOnWriting();
  }

  setSources(id, sources) {
    this.#rows.get(id)?.setSources(sources);
  }

  setWidget(id, widget) {
    this.#rows.setWidget(id, widget);
  }

  setFeedback(id, feedback) {
    const row = this.#rows.get(id)?.element;
    if (row) this.#use((tools) => tools.setFeedback(row, feedback));
  }

  /** What the agent suggests to say next. */
  setSuggestions(items) {
    if (this.#tools || items.length) this.#use((tools) => tools.suggest(items));
  }

  /** A piece of what the model thinks: shown folded, and read out to nobody. */
  think(text) {
    this.#empty.hidden = true;
    if (!this.#thought) {
      this.#thought = { box: add(this.#rows.page, 'div|part=thinking|class=thinking'), since: performance.now() };
      this.#follow.note();
      this.#showTyping();
    }
    const { box } = this.#thought;
    this.#use((tools) => tools.think(box, text));
  }

  /** What else there is to know of a tool call. */
  describeTool(id, name, details, duration) {
    const line = this.#cards.line(id);
    if (line) this.#use((tools) => tools.describe(line, name, details, duration));
  }

  /** The transcript that was asked for. */
  take(transcript) {
    this.#transcript = transcript;
  }

  setStatus(id, status) {
    this.#rows.get(id)?.setStatus(status);
  }

  removeMessage(id) {
    this.#rows.remove(id);
    this.#unsaid.delete(id);
    this.#showEmpty();
  }

  /** What the agent is doing: typing indicator, button, and the finished answer read out. */
  setActivity(activity) {
    this.#activity = this.#frame.dataset.activity = activity;
    this.#header.show(activity, this.#frame);
    this.#showTyping();
    this.#allowFiles();
    if (activity === 'idle' && this.#unsaid.size) {
      const answers = [...this.#unsaid].map((id) => spoken(this.#rows.get(id).body, this.#text));
      this.#unsaid.clear();
      this.#announcer.textContent = answers.join(' ');
    }
    this.#composer.setBusy(this.#busy(), activity === 'stopping');
    // The first answer will need it.
    if (activity === 'idle') {
      this.#load();
      this.#offer();
    }
    if (this.#thought && activity !== 'thinking') {
      const { box, since } = this.#thought;
      const seconds = Math.max(1, Math.round((performance.now() - since) / 1_000));
      this.#thought = undefined;
      this.#use((tools) => tools.thought(box, seconds));
    }
    if (this.#tools || activity === 'idle') this.#use((tools) => tools.refresh());
  }

  /** The page's own buttons under the answers. */
  #offer() {
    if (this.#root.host.querySelector('[slot=message-actions]')) lazy('actions').then((draw) => draw(this.#kit), () => {});
  }

  /**
   * A notice under the last message, with a button for `action`: retry, reconnect or continue.
   * `about` says it in other languages: a key, and names of tools that acted or may have.
   */
  setNotice(words, error, action, about) {
    const stood = this.#notice.contains(this.#root.activeElement);
    this.#notice.textContent = '';
    if (stood) this.#goOnWriting();
    this.#frame.classList.toggle('failed', Boolean(error));
    this.#frame.classList.toggle('cut', action === 'reconnect');
    this.#frame.classList.toggle('away', about?.[0] === 'network');
    this.#header.show(this.#activity, this.#frame);
    this.#tools?.refresh();
    if (words === undefined) return;
    this.#follow.note();
    // The role comes first: what appears in an alert is read out at once.
    this.#notice.setAttribute('role', error ? 'alert' : 'status');
    const card = add(this.#notice, `div|class=card ${error ? 'error' : ''}`);
    add(card, 'p|part=notice__text|dir=auto', this.#text.notice(words, about));
    if (action) add(card, `button|type=button|part=notice__button|data-do=${action}`, this.#text(action));
  }

  setDisclosure(words) {
    this.#disclosure.hidden = !words;
    this.#disclosure.textContent = words ?? '';
  }

  /** The element was moved: gives back what the browser takes, scroll position and focus. */
  reattached() {
    for (const css of this.#styles) style(this.#root, css);
    this.#follow.restore();
    const { activeElement, body } = this.#frame.ownerDocument;
    if (this.#composer.focused && (!activeElement || activeElement === body)) {
      this.#composer.input.focus({ preventScroll: true });
    }
  }

  /** What the person is doing in it, for the panel that is drawn in its place. */
  leave() {
    // A scroll that nobody has told of yet counts.
    this.#follow.scrolled();
    const files = this.#composer.files ?? this.#left;
    return { ...this.#composer.leave(), files, place: this.#follow.place(), hasTools: Boolean(this.#tools) };
  }

  /** Goes on where the panel before was left. */
  goOn(left) {
    this.#left = left.files;
    this.#composer.goOn(left);
    this.#follow.lose(left.place);
    if (left.hasTools) this.#use((tools) => tools.refresh());
  }

  /** Takes the panel out of the element; events that are on their way ask for nothing. */
  remove() {
    this.#follow.end();
    this.#frames.end();
    this.#rows.clear();
    this.#tools?.end();
    this.#frame.remove();
    for (const name of EVENTS) this.#frame.removeEventListener(name, this, name === 'scroll');
  }

  handleEvent(event) {
    const composer = this.#composer;
    const { type, target } = event;
    const inInput = target === composer.input;
    switch (type) {
      case 'scroll':
        return this.#follow.scroll();
      case 'wheel':
        return this.#follow.wheel(event);
      case 'mousedown':
        if (composer.holds(target)) event.preventDefault();
        return this.#follow.press(event);
      case 'touchstart':
        return this.#follow.press(event);
      case 'click':
        return this.#click(target);
      case 'input':
        return composer.changed();
      case 'compositionstart':
      case 'compositionend':
        return composer.compose(type === 'compositionstart');
      case 'focusin':
        composer.focused = inInput;
        return composer.update();
      case 'focusout':
        // A move takes the focus away too, and gives it back before this task ends.
        return queueMicrotask(() => {
          composer.focused = this.#root.activeElement === composer.input;
        });
      case 'cut':
      case 'copy':
      case 'paste':
        return inInput && event.stopPropagation();
      default:
        if (type === 'keydown' && !inInput) this.#follow.key(event.key);
        return this.#keys.handle(event, inInput);
    }
  }

  #click(target) {
    const composer = this.#composer;
    const button = target.closest('[data-do]');
    // What the page has put into a slot has a say of its own.
    const name = button?.getRootNode() === this.#root && button.dataset.do;
    if (name === 'jump') {
      this.#follow.glide();
    } else if (name === 'conversations') {
      lazy('drawer').then((drawer) => drawer(this.#kit), () => this.setNotice(this.#text('notLoaded'), true));
    } else if (name === 'send') {
      composer.send();
      composer.input.focus();
    } else if (name === 'cancel') {
      composer.endEdit();
      composer.input.focus();
    } else if (name) {
      this.#ask(name, button.closest('.question')?.dataset.question);
    } else if (composer.isAround(target)) {
      composer.input.focus();
    }
  }

  /** The person asks for something. What starts a turn brings the view to its end. */
  #ask(name, text) {
    const isDone = this.#tell(name, text);
    if (isDone && /^(send|resend|retry|continue)$/.test(name)) this.#follow.follow();
    return isDone;
  }

  /** The button that had the focus is gone: with keys one goes on writing, on a screen reading. */
  #goOnWriting() {
    const isTouch = this.#frame.ownerDocument.defaultView.matchMedia('(pointer: coarse)').matches;
    (isTouch ? this.#list.parentElement : this.#composer.input).focus({ preventScroll: true });
  }

  /** What is said in a turn is read out at its end; what was said before is not. */
  #toSay(id) {
    if (this.#busy()) this.#unsaid.add(id);
  }

  /** Gets what draws answers, if it is not there: text waits for it, and is plain without it. */
  #load() {
    if (this.#rich || this.#isLoading) return;
    this.#isLoading = true;
    const take = (drawer) => {
      this.#isLoading = false;
      this.#rich = Boolean(drawer);
      if (drawer) this.#rows.drawer = drawer(this.#kit);
      this.#tell(drawer ? 'rich' : 'plain');
    };
    new Promise((resolve) => resolve(lazy('answer'))).then(take, () => take());
  }

  #drawSome() {
    const until = performance.now() + SLICE;
    let more = true;
    this.#follow.prepend(() => {
      while (more && performance.now() < until) more = this.#tell('rows');
    });
    this.#isDrawing = more;
    this.#showEmpty();
    if (more) setTimeout(() => this.#drawSome());
  }

  /** Has the tools of messages do something, as soon as they are there. Without them one can read and write. */
  #use(call) {
    if (this.#tools) return call(this.#tools);
    new Promise((resolve) => resolve(lazy('message'))).then(
      (part) => call((this.#tools ??= part(this.#kit, this.#toolParts))),
      () => {},
    );
  }

  #showEmpty() {
    this.#empty.hidden = !this.#rows.isEmpty;
  }

  /** A line that turns and what the model thinks say as much as the dots. */
  #showTyping() {
    const waits = this.#activity === 'answering' && !this.#rows.last()?.body.firstChild;
    const works = this.#activity === 'waiting' || this.#activity === 'thinking' || waits;
    this.#typing.hidden = !works || this.#cards.works || (this.#thought && this.#activity === 'thinking');
  }

  #busy() {
    return this.#activity !== 'starting' && this.#activity !== 'idle';
  }
}
