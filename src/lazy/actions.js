// The page's own buttons under answers: each `<button slot="message-actions" name="…">` of the
// element is a pattern, because one node cannot stand under every message.

import css from 'mindset-styles/actions.css';

/** Draws the buttons under every answer that has none yet. */
export default function draw({ root, frame, add, label, style }) {
  const { host } = root;
  style(css);
  const patterns = [...host.querySelectorAll(':scope > [slot=message-actions][name]')];
  for (const row of frame.querySelectorAll('.row[data-role=assistant]:not(:has(> .actions))')) {
    const bar = add(row, 'div|part=message__actions|class=actions|role=group');
    for (const pattern of patterns) {
      const name = pattern.getAttribute('name');
      const button = add(bar, 'button|type=button|part=message__action', pattern.textContent.trim());
      button.part.add(`message__action--${name}`);
      const words = pattern.getAttribute('aria-label');
      if (words) label(button, words);
      button.title = pattern.title;
      button.addEventListener('click', () => {
        const detail = Object.freeze({ name, messageId: row.dataset.messageId });
        host.dispatchEvent(new CustomEvent('mindset:message-action', { bubbles: true, composed: true, detail }));
      });
    }
  }
}
