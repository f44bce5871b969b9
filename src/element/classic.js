// The classic script. Its own URL is known only while it runs for the first time.
const script = document.currentScript?.src || document.baseURI;

import { setUp } from './shell.js';

if (typeof customElements === 'object') {
  const page = setUp(() => new URL(__WASM_FILE__, script).href, script, new URL(script).origin);
  window.mindset ??= page;
}
