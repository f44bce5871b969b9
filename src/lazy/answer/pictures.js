// Pictures of answers and widgets. Drawing one asks no server for anything: a picture is loaded
// when the page allows its origin, or when the person asks for it.

const PICTURE = 'M4 5h16v14H4zM4 16l4.5-4.5L13 16m-1-1 3-3 5 5M15.5 9h.01';

/** The pictures of one panel. */
export class Pictures {
  #kit;

  constructor(kit) {
    this.#kit = kit;
  }

  /** A picture whose alternative text is to come. */
  open(open, parent, url, title) {
    parent.append(open.root);
    open.root.className = 'picture';
    open.close = () => {
      const words = open.root.textContent;
      open.root.textContent = '';
      this.show(open.root, url, words, title);
    };
    return open;
  }

  /** A picture in an empty element, with what it shows in words. */
  show(root, url, words = '', title = '') {
    if (this.#allows(url)) this.#load(root, url, title, words);
    else this.#offer(root, url, title, words);
  }

  /** Whether the page's attribute lists the origin; it lists the page's own as well, or does not. */
  #allows(url) {
    const listed = (this.#kit.host.imageOrigins ?? '').split(/[\s,]+/).filter(Boolean);
    const origin = originOf(url);
    return origin !== undefined && listed.some((one) => originOf(one) === origin);
  }

  #load(root, url, title, words) {
    const { add, text } = this.#kit;
    root.textContent = '';
    root.classList.remove('away');
    const image = document.createElement('img');
    image.referrerPolicy = 'no-referrer';
    image.loading = 'lazy';
    image.decoding = 'async';
    image.alt = words;
    if (title) image.title = title;
    image.onerror = () => {
      image.remove();
      root.classList.add('away');
      add(root, 'span|class=where|dir=auto', text('imageFailed', { host: hostOf(url) }));
    };
    root.append(image);
    image.src = url;
  }

  /** Says where the picture would come from, and loads it when the person wants it. */
  #offer(root, url, title, words) {
    const { add, icon, label, text } = this.#kit;
    root.classList.add('away');
    icon(root, PICTURE);
    const says = add(root, 'span|class=says');
    if (words) add(says, 'span|class=alt|dir=auto', words);
    add(says, 'span|class=where|dir=auto', text('imageFrom', { host: hostOf(url) })).title = url;
    const button = add(root, 'button|type=button|part=image__button|class=small', text('imageLoad'));
    label(button, `${text('imageLoad')}: ${words || text('image')}, ${hostOf(url)}`);
    button.onclick = () => this.#load(root, url, title, words);
  }
}

function parsed(url) {
  try {
    return new URL(url, document.baseURI);
  } catch {
    return undefined;
  }
}

function originOf(url) {
  const { protocol, origin } = parsed(url) ?? {};
  return protocol === 'https:' || protocol === 'http:' ? origin : undefined;
}

function hostOf(url) {
  return parsed(url)?.host ?? '';
}
