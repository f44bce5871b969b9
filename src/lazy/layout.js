// The layouts `bubble` and `panel`: the launcher, what opens and closes the panel, the count of
// what came meanwhile, and the whole screen where there is little of it.

import css from 'mindset-styles/layout.css';

import { isPlain } from '../dom/composer.js';
import { add, icon, label, style } from '../dom/nodes.js';

const BUBBLE = 'M12 4c5 0 9 3.4 9 7.7s-4 7.7-9 7.7c-1 0-2-.1-2.9-.4L4.5 20.5l1-3.7C3.9 15.4 3 13.6 3 11.7 3 7.400 7 4 12 4z';
const CROSS = 'M6 6l12 12M18 6L6 18';
/** Where the panel takes the whole screen; the style sheet says the same. */
const SMALL = '(max-width: 480px), (max-height: 480px)';
/** More are as good as many. */
const MOST = 99;

/** The layout of each element that has one. */
const layouts = new WeakMap();

/** Layouts that hold the page behind them, and how it could scroll before. */
const holders = new Set();
let before = '';

/**
 * Brings the layout of an element up to its attributes. Its panel, once there is one, gives its
 * `kit`.
 */
export default function lay(host, kit) {
  if (!layouts.has(host)) layouts.set(host, new Layout(host));
  layouts.get(host).update(kit);
}

class Layout {
  #host;
  #root;
  #dock;
  #launcher;
  #badge;
  #news;
  #kit;
  #isOpen = false;
  #unread = 0;
  /** How much of the page the person sees, as properties of the host. */
  #view;
  #small;
  /** Whether the person stands where the panel will be. */
  #waited = false;
  /** Whether Tab is what moves the focus just now, and where to: 1 or -1. */
  #tab = 0;

  constructor(host) {
    this.#host = host;
    this.#root = host.shadowRoot;
    const dock = (this.#dock = add(this.#root, 'div|class=dock stays'));
    this.#launcher = add(dock, 'button|type=button|part=launcher|class=launcher|aria-controls=panel');
    icon(add(this.#launcher, 'slot|name=launcher'), BUBBLE);
    icon(this.#launcher, 'M6 9l6 6 6-6', 'down');
    this.#badge = add(this.#launcher, 'span|part=badge|class=badge|aria-hidden=true|hidden');
    this.#news = add(dock, 'span|class=unseen|role=status|aria-live=polite');
    this.#launcher.addEventListener('click', () => this.#toggle());
    this.#root.addEventListener('keydown', (event) => this.#key(event));
    this.#root.addEventListener('keydown', (event) => this.#tabbed(event), true);
    host.addEventListener('mindset:runtime-event', (event) => event.target === host && this.#count(event.detail));

    const page = host.ownerDocument.defaultView;
    this.#small = page.matchMedia(SMALL);
    this.#small.addEventListener('change', () => this.#fit());
    for (const name of ['resize', 'scroll']) page.visualViewport?.addEventListener(name, () => this.#fit());
    host.ownerDocument.addEventListener('focusin', (event) => this.#focused(event));
  }

  /** Attributes changed, the panel came, or the element went. */
  update(kit) {
    const host = this.#host;
    style(this.#root, css);
    if (kit && kit !== this.#kit) this.#join(kit);
    const isOpen = this.#isLaid && host.open;
    if (isOpen !== this.#isOpen) {
      this.#isOpen = isOpen;
      if (isOpen) this.#unread = 0;
      else this.#leave();
      const name = isOpen ? 'mindset:open' : 'mindset:close';
      host.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail: Object.freeze({}) }));
    }
    if (this.#isOpen && !this.#panel) this.#wait();
    this.#show();
    this.#fit();
  }

  get #isLaid() {
    return this.#host.isConnected && /^(bubble|panel)$/i.test(this.#host.layout);
  }

  /** The panel, or what stands in its place. */
  get #panel() {
    return this.#root.querySelector('.panel, .fallback');
  }

  /** The panel is there: it can be closed, and who waited for it writes on. */
  #join(kit) {
    const { frame } = kit;
    this.#kit = kit;
    frame.id = 'panel';
    frame.tabIndex = -1;
    this.#addClose(frame.querySelector('.tools'), kit.text('close'));
    this.#root.querySelector('.wait')?.remove();
    // What had the focus went with what was waited in.
    const { activeElement, body } = frame.ownerDocument;
    if (this.#waited && this.#isOpen && (!activeElement || activeElement === body)) this.#enter();
    this.#waited = false;
  }

  #addClose(parent, words) {
    const button = add(parent, 'button|type=button|part=header__button header__button--close|class=round close');
    label(button, words);
    icon(button, CROSS);
    button.addEventListener('click', () => this.#toggle());
  }

  /** Stands for the panel while it is loaded. */
  #wait() {
    const frame = add(this.#root, 'section|part=panel|class=panel wait|id=panel|tabindex=-1|aria-busy=true');
    label(frame, this.#name);
    const header = add(frame, 'header|part=header|class=header');
    add(header, 'p|part=heading|class=heading|dir=auto', this.#name);
    this.#addClose(add(header, 'div|class=tools'), 'Close');
    const dots = add(frame, 'div|class=typing');
    for (let dot = 0; dot < 3; dot += 1) add(dots, 'i');
  }

  get #name() {
    return this.#host.heading?.trim() || (this.#kit?.text('heading') ?? 'Assistant');
  }

  /** What launcher and badge say. */
  #show() {
    const news = this.#unread && this.#kit ? this.#kit.text('unread', { count: this.#unread }) : '';
    label(this.#launcher, news ? `${this.#name}. ${news}` : this.#name);
    this.#launcher.setAttribute('aria-expanded', this.#isOpen);
    this.#badge.hidden = !news;
    this.#badge.textContent = this.#unread > MOST ? `${MOST}+` : this.#unread;
    this.#news.textContent = news;
  }

  /** The person opens or closes it. */
  #toggle() {
    this.#host.open = !this.#isOpen;
    this.update();
    if (this.#isOpen) this.#enter();
  }

  /** The focus goes in. On a touch screen the keyboard comes when it is asked for. */
  #enter() {
    const { defaultView: page } = this.#host.ownerDocument;
    const input = page.matchMedia('(pointer: fine)').matches && this.#kit?.frame.querySelector('textarea');
    (input || this.#panel).focus({ preventScroll: true });
    this.#waited = !this.#kit;
  }

  /** The focus that was inside goes to what opens it again. */
  #leave() {
    if (this.#panel?.contains(this.#root.activeElement)) this.#launcher.focus({ preventScroll: true });
  }

  /** Escape closes, unless somebody inside had a use for it. */
  #key(event) {
    if (!this.#isOpen || event.key !== 'Escape' || event.defaultPrevented || !isPlain(event)) return;
    event.preventDefault();
    event.stopPropagation();
    this.#toggle();
  }

  #tabbed({ key, shiftKey }) {
    if (key !== 'Tab') return;
    this.#tab = shiftKey ? -1 : 1;
    setTimeout(() => (this.#tab = 0));
  }

  /** Nobody tabs to what lies behind the whole screen. */
  #focused({ target }) {
    const tab = this.#tab;
    if (!tab || target === this.#host || this.#host.contains(target) || !this.#isWhole) return;
    this.#tab = 0;
    const stops = this.#panel.querySelectorAll('button:not([hidden]), textarea, [href], [tabindex="0"]');
    stops[tab > 0 ? 0 : stops.length - 1]?.focus();
  }

  /** Answers and questions that come while it is closed. */
  #count({ type, messages }) {
    if (this.#isOpen || !this.#isLaid) return;
    if (type === 'complete') this.#unread += messages.filter(({ role, content }) => role === 'assistant' && content).length;
    else if (type === 'permission_requested' || type === 'question_requested') this.#unread += 1;
    else return;
    this.#show();
  }

  get #isWhole() {
    return this.#isOpen && this.#small.matches;
  }

  /** The panel is as high as what the person sees: the keyboard of a touch screen covers the page. */
  #fit() {
    const { ownerDocument: document } = this.#host;
    const { visualViewport: view, innerHeight, CSSStyleSheet } = document.defaultView;
    if (!this.#view || !(this.#view instanceof CSSStyleSheet)) {
      this.#view = new CSSStyleSheet();
      this.#view.replaceSync(':host{}');
    }
    const { adoptedStyleSheets: adopted } = this.#root;
    if (!adopted.includes(this.#view)) this.#root.adoptedStyleSheets = [...adopted, this.#view];
    const { style: properties } = this.#view.cssRules[0];
    const set = (name, value) => properties.setProperty(name, value);
    // Whoever has magnified the page looks around in it.
    const isSeen = this.#isOpen && view && view.scale < 1.01;
    const hidden = isSeen ? Math.max(0, Math.round(innerHeight - view.height - view.offsetTop)) : 0;
    set('--_keyboard', `${hidden}px`);
    set('--_height', isSeen ? `${Math.round(view.height)}px` : '100dvh');
    set('--_top', isSeen ? `${Math.round(view.offsetTop)}px` : '0px');
    set('--_side', document.defaultView.getComputedStyle(this.#host).direction === 'rtl' ? -1 : 1);
    this.#hold();
  }

  /** Behind the whole screen nothing scrolls. */
  #hold() {
    const { style: page } = this.#host.ownerDocument.documentElement;
    const had = holders.size;
    holders[this.#isWhole ? 'add' : 'delete'](this);
    if (holders.size && !had) {
      before = page.overflow;
      page.overflow = 'hidden';
    } else if (had && !holders.size) {
      page.overflow = before;
    }
  }
}
