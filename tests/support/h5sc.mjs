// The vectors of the HTML5 Security Cheatsheet, which no package carries: fetched as they stood at
// one commit, and taken only if they are those. `H5SC` names a file that is there already.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { ROOT } from './paths.mjs';

const SOURCE = 'https://raw.githubusercontent.com/cure53/H5SC/1a91bbc085426579ebcdefb1bc5450760db3dad5/vectors.txt';
const SHA256 = 'f20510fead76dedc89cfb680a5905d59e57bd8a793a7c5b5b080fd55f6438059';

/** Where they lie. */
export const VECTORS = process.env.H5SC ?? join(ROOT, 'target', 'corpora', 'h5sc.txt');

const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Gets them if they are not there; says in a sentence what there is. */
export async function fetchVectors(path = VECTORS, source = SOURCE) {
  if (existsSync(path)) return `they lie at ${path}`;
  try {
    const response = await fetch(source, { signal: AbortSignal.timeout(20_000) });
    const bytes = Buffer.from(await response.arrayBuffer());
    if (!response.ok) throw new Error(`status ${response.status}`);
    if (digest(bytes) !== SHA256) throw new Error('the file is another one than expected');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
    return `fetched to ${path}`;
  } catch (error) {
    return `MISSING (${error.cause?.code ?? error.message}): the run goes on without them; set H5SC to a copy of their vectors.txt`;
  }
}

/** One text for each vector, or nothing where they are not there. */
export function vectors() {
  if (!existsSync(VECTORS)) return [];
  const parts = readFileSync(VECTORS, 'utf8').split(/\/\/\["'`-->\]\]>\]<\/div>/);
  return parts.map((part) => part.replace(/^[\s\S]*?<div id="\d+">/, '')).filter(Boolean);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(`summary: ${await fetchVectors()}`);
