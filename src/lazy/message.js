// The tools of messages: what a person does with one, what is suggested to say next, what the
// model thought, and what its tools did. Loaded when the panel has come to rest.

import { Bars } from './message/bars.js';
import { Chips } from './message/chips.js';
import { Saving } from './message/saving.js';
import { Steps } from './message/steps.js';
import css from './message/style.css';
import { thoughts } from './message/thoughts.js';

/**
 * The tools of one panel. `kit` is the panel's; `parts` are `{ frame, list, chips }`, `edit(id)`,
 * and `transcript()`, what has been said so far.
 */
export default function message(kit, parts) {
  kit.style(css);
  const bars = new Bars(kit, parts);
  const chips = new Chips(kit, parts);
  const saving = new Saving(kit, parts);
  const steps = new Steps(kit, parts);
  kit.watch = (row) => bars.watch(row);
  return {
    /** The panel came to rest or began to work, or rows went. */
    refresh() {
      bars.refresh();
      saving.refresh();
      steps.refresh();
    },
    setFeedback: (row, feedback) => bars.setFeedback(row, feedback),
    suggest: (items) => chips.show(items),
    describe: (line, name, details, duration) => steps.describe(line, name, details, duration),
    ...thoughts(kit),
    end: () => bars.end(),
  };
}
