// The npm entry of Node, which has no pages: the module is read from the package.
import { readFile } from 'node:fs/promises';

import { MindsetError } from './loader.js';
import { setUp } from './shell.js';

async function compile() {
  try {
    const file = import.meta.url ? new URL(__WASM_FILE__, import.meta.url) : `${__dirname}/${__WASM_FILE__}`;
    return await WebAssembly.compile(await readFile(file));
  } catch (error) {
    throw new MindsetError({
      code: 'wasm-load',
      message: `the package's .wasm file could not be read (${error.message}). Install the package again, and keep it out of bundles for servers.`,
      retryable: true,
    });
  }
}

export const { init, createChat, version } = setUp({ compile });

export { MindsetError };
