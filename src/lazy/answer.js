// Answers: draws what the Markdown of a message says. Loaded before the first answer is drawn.

import { CodeBlocks } from './answer/code.js';
import { Drawing } from './answer/drawing.js';
import { Formulas } from './answer/formulas.js';
import { Pictures } from './answer/pictures.js';
import css from './answer/style.css';

/** The drawer of one panel. `kit` is the panel's. */
export default (kit) => {
  kit.style(css);
  const parts = { kit, code: new CodeBlocks(kit), formulas: new Formulas(kit), pictures: new Pictures(kit) };
  return {
    /** An answer that begins in `element`. */
    begin: (element) => new Drawing(parts, element),
    /** What stands in `element` is about to be taken away. */
    forget: (element) => parts.code.forget(element),
  };
};
