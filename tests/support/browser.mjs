// Chromium, started once per test file, and a fresh profile per page.

import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { chromium } from 'playwright-core';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** Starts the browser named by `CHROMIUM`, else the first one on PATH. */
export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? onPath(), args: ARGS });
}

function onPath() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (!found) throw new Error('no Chromium on PATH: install it, or set CHROMIUM to its program');
  return found;
}
