// A project of somebody else with the npm package in it, packed and unpacked as npm does.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { built, ROOT } from './paths.mjs';

const run = promisify(execFile);

/** A folder with the package installed; `stop()` removes it. */
export async function consumer() {
  built('mindset-agent.mjs');
  const folder = await mkdtemp(join(tmpdir(), 'mindset-consumer-'));
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], { cwd: ROOT });
  const target = join(folder, 'node_modules', 'mindset-agent');
  await mkdir(target, { recursive: true });
  await run('tar', ['-xzf', join(folder, stdout.trim().split('\n').at(-1)), '-C', target, '--strip-components=1']);
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  return { folder, stop: () => rm(folder, { recursive: true, force: true }) };
}
