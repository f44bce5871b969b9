// The list of conversations in a drawer over the panel: opened, begun, renamed, deleted.

import css from 'mindset-styles/drawer.css';

import { isPlain } from '../dom/composer.js';

const CROSS = 'M6 6l12 12M18 6L6 18';
const PLUS = 'M12 5v14M5 12h14';
const PEN = 'M4 20l1-4L16.5 4.5a2.1 2.1 0 0 1 3 3L8 19z';
const BIN = 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13';
/** Titles are no longer. */
const LONGEST = 200;
/** Where the drawers of other pages hear that something has changed. */
const CHANNEL = 'mindset-agent:conversations';
/** After these events of the element the list may be another one. */
const EVENTS = ['mindset:conversation', 'mindset:agent-idle'];

/** The drawer of each panel. */
const drawers = new WeakMap();

/** Opens the drawer of a panel, or closes it. */
export default function drawer(kit) {
  if (!drawers.has(kit.frame)) drawers.set(kit.frame, new Drawer(kit));
  drawers.get(kit.frame).toggle();
}

class Drawer {
  #kit;
  #host;
  #opener;
  #drawer;
  #new;
  #state;
  #list;
  #rows = new Map();
  #ended;
  #channel;
  /** Counts the lists that were asked for: only the last one is drawn. */
  #asked = 0;

  constructor(kit) {
    this.#kit = kit;
    this.#host = kit.root.host;
    this.#opener = kit.frame.querySelector('[data-do=conversations]');
    kit.style(css);
  }

  toggle() {
    if (this.#drawer) this.close();
    else this.#open();
  }

  /** Takes it away; the focus goes back to where it came from, or on to `next`. */
  close(next = this.#opener) {
    const had = this.#drawer.contains(this.#kit.root.activeElement);
    this.#ended.abort();
    this.#channel?.close();
    this.#drawer.remove();
    this.#drawer = undefined;
    this.#rows.clear();
    this.#hide(false);
    if (had) next?.focus({ preventScroll: true });
  }

  #open() {
    const { add, icon, label, text, frame } = this.#kit;
    const drawer = (this.#drawer = add(frame, 'div|part=drawer|class=drawer'));
    const sheet = add(drawer, 'div|part=drawer__sheet|class=drawer-sheet|role=dialog|aria-modal=true');
    label(sheet, text('conversations'));
    const top = add(sheet, 'div|class=drawer-top');
    add(top, 'p|part=drawer__heading|class=drawer-heading', text('conversations'));
    this.#button(top, CROSS, text('close'), () => this.close()).part = 'drawer__button';
    this.#new = add(sheet, 'button|type=button|part=drawer__new|class=drawer-new');
    icon(this.#new, PLUS);
    add(this.#new, 'span', text('newConversation'));
    this.#state = add(sheet, 'div|part=drawer__state|class=drawer-state|role=status');
    this.#list = add(sheet, 'ul|part=drawer__list|role=list');
    const isOpen = () => this.#drawer === drawer;
    this.#kit.tell('permissions', (permissions) => {
      const { run, read } = permissions?.declared ?? {};
      if (run || read) this.#kit.lazy('settings').then((settings) => isOpen() && settings(this.#kit, sheet, permissions), () => {});
    });

    this.#ended = new AbortController();
    const { signal } = this.#ended;
    this.#new.addEventListener('click', () => this.#leave(() => this.#host.newConversation()));
    drawer.addEventListener('keydown', (event) => this.#key(event));
    drawer.addEventListener('click', ({ target }) => target === drawer && this.close());
    for (const name of EVENTS) this.#host.addEventListener(name, () => this.#refresh(), { signal });
    const { ownerDocument: document } = this.#host;
    document.addEventListener('visibilitychange', () => document.hidden || this.#refresh(), { signal });
    document.defaultView.addEventListener('focus', () => this.#refresh(), { signal });
    try {
      this.#channel = new BroadcastChannel(CHANNEL);
      this.#channel.onmessage = () => this.#refresh();
    } catch {
      // Pages that cannot talk to each other.
    }
    this.#hide(true);
    this.#new.focus({ preventScroll: true });
    this.#bones();
    this.#refresh();
  }

  /** What lies below cannot be reached; what is read out still is. */
  #hide(isOpen) {
    this.#opener?.setAttribute('aria-expanded', isOpen);
    for (const part of this.#kit.frame.children) {
      if (part !== this.#drawer && !part.matches('.unseen')) part.inert = isOpen;
    }
  }

  #bones() {
    this.#list.setAttribute('aria-busy', true);
    this.#list.classList.add('drawer-bones');
    for (let bone = 0; bone < 3; bone += 1) this.#kit.add(this.#list, 'li|aria-hidden=true');
    this.#say(this.#kit.text('loading'));
  }

  /** Asks for the list and draws it over what stands there. */
  async #refresh() {
    // The panel went with it.
    if (!this.#drawer.isConnected) return this.close();
    const asked = (this.#asked += 1);
    let list;
    let error;
    try {
      list = await this.#host.conversations();
    } catch (thrown) {
      error = thrown;
    }
    if (!this.#drawer || asked !== this.#asked) return;
    this.#list.removeAttribute('aria-busy');
    if (this.#list.classList.replace('drawer-bones', 'drawer-list')) this.#list.textContent = '';
    if (error) return this.#fail(error, () => this.#refresh());
    this.#say(list.length ? '' : this.#kit.text('noConversations'));
    this.#draw(list);
  }

  /** Rows keep their nodes, so that whoever is in one stays there. */
  #draw(list) {
    const { root } = this.#kit;
    const { activeElement } = root;
    const rows = new Map(list.map((conversation) => [conversation.id, this.#rows.get(conversation.id) ?? this.#row()]));
    for (const [id, { element }] of this.#rows) rows.has(id) || element.remove();
    this.#rows = rows;
    for (const conversation of list) rows.get(conversation.id).show(conversation);
    let place = this.#list.firstElementChild;
    for (const { element } of rows.values()) {
      if (element === place) place = place.nextElementSibling;
      else if (!element.contains(root.activeElement)) this.#list.insertBefore(element, place);
    }
    if (activeElement && !root.activeElement) this.#new.focus({ preventScroll: true });
    this.#enter();
  }

  /** One row is what Tab reaches: that of the focus, else the open one, else the first. */
  #enter(row) {
    const rows = [...this.#rows.values()];
    const active = this.#kit.root.activeElement;
    const one = row ?? rows.find(({ element }) => element.contains(active)) ?? rows.find(({ isOpen }) => isOpen) ?? rows[0];
    for (const each of rows) {
      for (const button of each.element.querySelectorAll('button, input')) button.tabIndex = each === one ? 0 : -1;
    }
  }

  /** A row of the list: its title, what can be done, and in their place an input or a question. */
  #row() {
    const { add, text, frame } = this.#kit;
    const element = document.createElement('li');
    element.setAttribute('part', 'drawer__item');
    let shown;
    let drawn;
    const row = {
      element,
      isOpen: false,
      isAsking: false,
      show: (conversation) => {
        shown = conversation;
        row.isOpen = Boolean(conversation.isOpen);
        if (row.isOpen) element.setAttribute('aria-current', true);
        else element.removeAttribute('aria-current');
        if (!row.isAsking) rest();
      },
    };
    const title = () => shown.title || text('untitled');
    const back = () => {
      const had = element.contains(this.#kit.root.activeElement);
      row.isAsking = false;
      rest();
      this.#enter(had ? row : undefined);
      if (had) element.querySelector('button').focus({ preventScroll: true });
    };
    const rest = () => {
      const when = moment(shown.updatedAt, frame.lang);
      const words = [title(), when, text('delete', { title: title() })].join('\n');
      // Whoever is at it is not disturbed for nothing.
      if (drawn === words) return;
      drawn = words;
      const places = [...element.querySelectorAll('button')];
      const place = places.indexOf(this.#kit.root.activeElement);
      element.textContent = '';
      const open = add(element, 'button|type=button|part=drawer__title|class=drawer-title');
      add(open, 'span|dir=auto', title());
      if (when) add(open, 'span|class=when', when);
      open.addEventListener('click', () => this.#leave(() => this.#host.switchConversation(shown.id)));
      this.#button(element, PEN, text('rename', { title: title() }), rename).part = 'drawer__button drawer__button--rename';
      this.#button(element, BIN, text('delete', { title: title() }), ask).part = 'drawer__button drawer__button--delete';
      if (place >= 0) element.querySelectorAll('button')[place]?.focus({ preventScroll: true });
    };
    const rename = () => {
      row.isAsking = true;
      drawn = undefined;
      element.textContent = '';
      const form = add(element, 'form');
      const input = add(form, `input|part=drawer__input|dir=auto|enterkeyhint=done|autocomplete=off|maxlength=${LONGEST}`);
      this.#kit.label(input, text('title'));
      input.value = shown.title ?? '';
      let isOver = false;
      const leave = () => {
        isOver = true;
        back();
      };
      const save = async () => {
        const name = input.value.trim();
        // What is asked in this row by now may be another question.
        if (isOver) return;
        const before = shown.title;
        if (name) shown = { ...shown, title: name };
        leave();
        if (!name || name === before) return;
        if (!(await this.#do(() => this.#host.renameConversation(shown.id, name)))) {
          shown = { ...shown, title: before };
          if (!row.isAsking) rest();
        }
      };
      form.addEventListener('submit', (event) => {
        event.preventDefault();
        save();
      });
      input.addEventListener('blur', () => setTimeout(save));
      input.addEventListener('keydown', (event) => {
        if (event.key === 'Enter' && !isPlain(event)) event.preventDefault();
        if (event.key !== 'Escape' || !isPlain(event)) return;
        event.stopPropagation();
        event.preventDefault();
        leave();
      });
      input.focus();
      input.select();
    };
    const ask = () => {
      row.isAsking = true;
      drawn = undefined;
      element.textContent = '';
      const box = add(element, 'div|part=drawer__question|class=drawer-sure|role=group');
      this.#kit.label(box, text('delete', { title: title() }));
      add(box, 'p|role=alert|dir=auto', text('deleteSure', { title: title() }));
      const words = add(box, 'div');
      const no = add(words, 'button|type=button', text('cancel'));
      const yes = add(words, 'button|type=button|class=danger', text('deleteNow'));
      no.addEventListener('click', back);
      yes.addEventListener('click', async () => {
        const next = element.nextElementSibling ?? element.previousElementSibling;
        if (!(await this.#do(() => this.#host.deleteConversation(shown.id)))) return back();
        const had = element.contains(this.#kit.root.activeElement);
        this.#rows.delete(shown.id);
        element.remove();
        this.#enter();
        if (!this.#rows.size) this.#say(text('noConversations'));
        if (had) (next?.querySelector('button') ?? this.#new).focus({ preventScroll: true });
      });
      box.addEventListener('keydown', (event) => {
        if (event.key !== 'Escape' || !isPlain(event)) return;
        event.stopPropagation();
        event.preventDefault();
        back();
      });
      no.focus();
    };
    return row;
  }

  #button(parent, path, words, act) {
    const { add, icon, label } = this.#kit;
    const button = add(parent, 'button|type=button|class=round');
    label(button, words);
    icon(button, path);
    button.addEventListener('click', act);
    return button;
  }

  /** Does what changes the list; tells other pages, or what went wrong. */
  async #do(act) {
    try {
      await act();
    } catch (error) {
      if (this.#drawer) this.#fail(error);
      return false;
    }
    if (this.#drawer) this.#say('');
    this.#channel?.postMessage(0);
    return true;
  }

  /** Leaves for another conversation, and the drawer with it. */
  async #leave(act) {
    if (!(await this.#do(act)) || !this.#drawer) return;
    const isFine = this.#host.ownerDocument.defaultView.matchMedia('(pointer: fine)').matches;
    this.close(isFine ? this.#kit.frame.querySelector('textarea') : undefined);
  }

  #say(words) {
    this.#state.classList.remove('error');
    if (this.#state.textContent !== words) this.#state.textContent = words;
  }

  #fail({ message }, again) {
    const { add, text } = this.#kit;
    this.#say('');
    this.#state.classList.add('error');
    add(this.#state, 'p|role=alert|dir=auto', message);
    if (again) add(this.#state, 'button|type=button', text('retry')).addEventListener('click', again);
  }

  /** Escape closes; arrows go along the titles; Tab goes round. */
  #key(event) {
    const { key } = event;
    if (!isPlain(event)) return;
    if (key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      return this.close();
    }
    const titles = [...this.#list.querySelectorAll('.drawer-title')];
    const active = this.#kit.root.activeElement;
    const at = titles.indexOf(active?.closest('li')?.querySelector('.drawer-title'));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: titles.length - 1 }[key];
    if (key === 'Tab') return this.#round(event, active);
    if (to === undefined || active?.matches('input') || (at < 0 && key !== 'ArrowDown')) return;
    event.preventDefault();
    const row = titles[to]?.closest('li');
    if (!row) return;
    this.#enter([...this.#rows.values()].find(({ element }) => element === row));
    titles[to].focus();
  }

  /** The first and the last stop lie beside each other. */
  #round(event, active) {
    const stops = [...this.#drawer.querySelectorAll('button, input')].filter((stop) => stop.tabIndex >= 0);
    const [from, to] = event.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
    if (active !== from) return;
    event.preventDefault();
    to.focus();
  }
}

/** When it was, as people say it: the time of today, else the day. */
function moment(text, language) {
  const time = new Date(text ?? NaN);
  if (Number.isNaN(time.getTime())) return '';
  const isToday = time.toDateString() === new Date().toDateString();
  return new Intl.DateTimeFormat(language || undefined, isToday ? { timeStyle: 'short' } : { dateStyle: 'medium' }).format(time);
}
