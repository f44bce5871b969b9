// Files that people attach: chosen, dropped or pasted, uploaded with progress, and listed under
// their message. Loaded when the page allows them, or when a message has some.

import css from './files/files.css';
import { Tray } from './files/tray.js';
import { size } from './files/words.js';

/** `list(row, files)` shows what a message has; `attach(composer, frame)` lets people add some. */
export default function files(kit) {
  kit.style(css);
  return {
    list(row, files) {
      const { add, label, text } = kit;
      row.querySelector('.files')?.remove();
      const list = add(row, 'ul|part=message__files|class=files');
      label(list, text('files'));
      for (const file of files) {
        const item = add(list, 'li|class=file');
        add(item, 'span|class=file-name|dir=auto', file.name);
        add(item, 'span|class=file-size', size(kit.locale, file.size));
      }
    },
    async attach(composer, frame) {
      const terms = await new Promise((resolve, reject) => {
        kit.tell('uploads', (value, error) => (value ? resolve(value) : reject(error)));
      });
      return terms.enabled ? new Tray(kit, terms, composer, frame) : undefined;
    },
  };
}
