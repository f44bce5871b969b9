// What screen readers hear of an answer: its words, without what is tiresome to hear.

/** About a minute and a half of speech, in characters. */
const MOST = 1_200;
const SILENT = 'button, svg, [hidden], [aria-hidden=true]';
/** Elements that stand within a line. */
const INLINE = 'a, b, code, del, em, i, s, span, strong, sub, sup';

/** The words below `node`; of code and formulas only that they are there, of addresses the host. */
export function spoken(node, text) {
  let said = '';
  const walk = ({ childNodes }) => {
    for (const child of childNodes) {
      if (child.nodeType === Node.TEXT_NODE) said += child.data;
      else if (child.localName === 'pre') said += ` ${text('code')} `;
      else if (!child.matches(SILENT)) {
        walk(child);
        if (!child.matches(INLINE)) said += ' ';
      }
    }
  };
  walk(node);
  said = said.replace(/\bhttps?:\/\/([^\s/?#]+)\S*/g, '$1').replace(/\s+/g, ' ').trim();
  if (said.length <= MOST) return said;
  return `${said.slice(0, MOST).replace(/(.*[.!?\u3002\u0964]|.* ).*/s, '$1').trim()} \u2026 ${text('more')}`;
}
