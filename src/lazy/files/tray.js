// The files of the message that is being written.

import { Upload } from './upload.js';
import { beside, kinds, size } from './words.js';

const CLIP = 'M8 12.5l6.2-6.2a2.5 2.5 0 0 1 3.5 3.5L10 17.5a4.2 4.2 0 0 1-6-6l7-7';
const CROSS = 'M7 7l10 10M17 7 7 17';
/** Edge of a preview in pixels. */
const PREVIEW = 40;

/** A button, a drop target and a list of chips around the composer. */
export class Tray {
  #kit;
  #terms;
  #composer;
  #list;
  #status;
  #items = [];
  /** What was said of files that were not taken: what is said of the others does not replace it. */
  #refused = '';

  constructor(kit, terms, composer, frame) {
    this.#kit = kit;
    this.#terms = terms;
    this.#composer = composer;
    const { add, icon, label, text } = kit;
    const box = composer.input.parentElement;
    const button = add(box, 'button|type=button|part=attach|class=attach');
    icon(button, CLIP);
    label(button, (button.title = text('attach')));
    const picker = add(box, 'input|type=file|multiple|hidden|tabindex=-1');
    picker.accept = terms.types.join(',');
    composer.input.before(button);
    this.#list = add(frame, 'ul|part=attachments|class=attachments|hidden');
    label(this.#list, text('files'));
    // Said once for each file: the list itself changes too often.
    this.#status = add(frame, 'p|part=attachments__status|class=attachments-status|role=status');
    box.before(this.#list, this.#status);
    button.addEventListener('click', () => picker.click());
    picker.addEventListener('change', () => {
      this.add(picker.files);
      picker.value = '';
      composer.input.focus();
    });
    composer.input.addEventListener('paste', (event) => this.#pasted(event));
    for (const name of ['dragenter', 'dragover', 'dragleave', 'drop']) {
      frame.addEventListener(name, (event) => this.#dragged(event, frame));
    }
    this.shown = button;
  }

  /** How many there are. */
  get count() {
    return this.#items.length;
  }

  /** Whether all have arrived; says so if not. */
  ready() {
    if (this.#items.every((item) => item.sent)) return true;
    this.#say(this.#kit.text(this.#items.some((item) => item.failed) ? 'fileUnsent' : 'fileWait'));
    return false;
  }

  /** What is sent with the message, as JSON text. */
  text() {
    return this.#items.length ? JSON.stringify(this.#items.map((item) => item.sent)) : '';
  }

  /** The message has taken them. */
  clear() {
    for (const item of this.#items) item.element.remove();
    this.#items = [];
    this.#refused = '';
    this.#changed();
    this.#say('');
  }

  /** Takes over what another one has; what has not arrived is sent anew. */
  take(other) {
    for (const { file, sent, upload } of other.#items) {
      upload.abort();
      this.#begin(file, sent);
    }
  }

  /** Takes files, as far as they fit. */
  add(files) {
    const { locale, text } = this.#kit;
    const { types, maxBytes, maxFiles } = this.#terms;
    const faults = [];
    for (const file of files) {
      const { name } = file;
      if (this.#items.length >= maxFiles) {
        faults.push(text('fileTooMany', { limit: maxFiles }));
        break;
      }
      if (!types.includes(file.type)) faults.push(text('fileType', { name, types: kinds(types) }));
      else if (file.size > maxBytes) faults.push(text('fileTooLarge', { name, ...beside(locale, file.size, maxBytes) }));
      else if (!file.size) faults.push(text('fileEmpty', { name }));
      else this.#begin(file);
    }
    this.#refused = faults.join(' ');
    if (faults.length) this.#say(this.#refused, true);
  }

  #begin(file, sent) {
    const { add, icon, label, text } = this.#kit;
    const { name } = file;
    const element = add(this.#list, 'li|part=attachment|class=attachment');
    const item = { element, file, sent, upload: new Upload(file, () => this.#ask()) };
    const preview = add(element, 'canvas|class=attachment-preview|aria-hidden=true|hidden');
    add(element, 'span|class=file-name|dir=auto', name);
    item.note = add(element, 'span|class=file-size', size(this.#kit.locale, file.size));
    item.bar = add(element, 'progress|part=attachment__progress|max=1|value=0');
    label(item.bar, text('fileUploading', { name }));
    item.again = add(element, 'button|type=button|class=attachment-button|hidden', text('retry'));
    label(item.again, text('fileRetry', { name }));
    const remove = add(element, 'button|type=button|part=attachment__remove|class=attachment-button');
    icon(remove, CROSS);
    label(remove, text('fileRemove', { name }));
    item.again.addEventListener('click', () => this.#send(item));
    remove.addEventListener('click', () => this.#remove(item));
    this.#items.push(item);
    this.#changed();
    if (file.type.startsWith('image/')) draw(preview, file);
    item.bar.hidden = Boolean(sent);
    if (!sent) this.#send(item);
  }

  async #send(item) {
    const { text } = this.#kit;
    const { file, bar, note, again } = item;
    item.failed = false;
    again.hidden = true;
    bar.hidden = false;
    bar.value = 0;
    note.textContent = size(this.#kit.locale, file.size);
    this.#changed();
    try {
      item.sent = await item.upload.send((part) => (bar.value = part));
      const added = text('fileAdded', { name: file.name });
      this.#say(this.#refused ? `${this.#refused} ${added}` : added, Boolean(this.#refused));
    } catch (error) {
      item.failed = true;
      again.hidden = false;
      note.textContent = error?.message || text('fileFailed');
      this.#say(`${file.name}: ${note.textContent}`, true);
    }
    bar.hidden = true;
    this.#changed();
  }

  async #remove(item) {
    const { text } = this.#kit;
    item.upload.abort();
    item.element.remove();
    this.#items = this.#items.filter((other) => other !== item);
    this.#changed();
    this.#say(text('fileRemoved', { name: item.file.name }));
    this.#composer.input.focus();
    if (!item.sent) return;
    // What stays is deleted by the server after a while.
    const { url, authorization } = await this.#ask().catch(() => ({}));
    if (url) fetch(`${url}/${item.sent.id}`, { method: 'DELETE', headers: authorization ? { authorization } : {} }).catch(() => {});
  }

  #ask() {
    return new Promise((resolve, reject) => {
      this.#kit.tell('uploads', (value, error) => (value ? resolve(value) : reject(error ?? new Error(''))));
    });
  }

  #pasted(event) {
    const { files } = event.clipboardData ?? {};
    if (!files?.length) return;
    event.preventDefault();
    this.add(files);
  }

  #dragged(event, frame) {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    const leaves = event.type === 'dragleave' && !frame.contains(event.relatedTarget);
    frame.classList.toggle('dropping', event.type !== 'drop' && !leaves);
    if (event.type === 'drop') this.add(event.dataTransfer.files);
  }

  #changed() {
    this.#list.hidden = this.#items.length === 0;
    this.#composer.update();
  }

  #say(words, fault = false) {
    this.#status.textContent = words;
    this.#status.classList.toggle('fault', fault);
  }
}

/** A small picture by canvas: an image by address would need the page's policy to allow it. */
async function draw(canvas, file) {
  try {
    const picture = await createImageBitmap(file);
    const scale = Math.max(PREVIEW / picture.width, PREVIEW / picture.height);
    const [width, height] = [picture.width * scale, picture.height * scale];
    canvas.width = canvas.height = PREVIEW;
    canvas.getContext('2d').drawImage(picture, (PREVIEW - width) / 2, (PREVIEW - height) / 2, width, height);
    picture.close();
    canvas.hidden = false;
  } catch {
    // What the browser cannot draw has no preview.
  }
}
