// The npm entry. On a server, importing it does nothing.
import { MindsetError, setUp } from './shell.js';

function locate() {
  // Bundlers look for exactly this expression to take the file along.
  if (import.meta.url) return new URL(__WASM_FILE__, import.meta.url).href;
  throw new MindsetError({
    code: 'wasm-load',
    message: 'the CommonJS build does not know where its .wasm file lies: load the package with import, not require.',
  });
}

const page =
  typeof customElements === 'object' && typeof HTMLElement === 'function'
    ? setUp(locate, import.meta.url ?? '')
    : undefined;

/** Page set-up, once, before or after elements exist. */
export async function init(config) {
  if (!page) {
    throw new MindsetError({ code: 'unsupported-browser', message: 'init works in a page only: call it in the browser.' });
  }
  return page.init(config);
}

/** The version of this package. */
export const version = __VERSION__;

export { MindsetError };
