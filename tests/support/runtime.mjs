// The real runtime, on a free port, with a database of its own.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DIST, ROOT, runtimeBinary } from './paths.mjs';
import { freePort } from './ports.mjs';
import { Program } from './process.mjs';

/** The shipped configuration of the demo page. */
export const DEMO_CONFIG = join(ROOT, 'www', 'mindset.toml');

/** A runtime process and the folder it keeps its files in. */
export class Runtime {
  /**
   * Starts one. `config` is the text of a `mindset.toml`, without it the demo's;
   * `env` adds variables, or is a function of the port that gives them; `args` is what the
   * command line says.
   */
  static async start({ config, env = {}, args = [] } = {}) {
    const folder = await mkdtemp(join(tmpdir(), 'mindset-test-'));
    const file = config === undefined ? DEMO_CONFIG : join(folder, 'mindset.toml');
    if (config !== undefined) await writeFile(file, config);
    const port = await freePort();
    const variables = typeof env === 'function' ? env(port) : env;
    const runtime = new Runtime(folder, file, { port, env: variables, args });
    await runtime.again();
    return runtime;
  }

  constructor(folder, file, { port, env, args }) {
    this.args = args;
    this.folder = folder;
    this.file = file;
    this.port = port;
    this.origin = `http://127.0.0.1:${port}`;
    this.env = {
      MINDSET__SERVER__LISTEN: `127.0.0.1:${port}`,
      MINDSET__SERVER__DATABASE: join(folder, 'mindset.db'),
      MINDSET__SERVER__ASSETS: DIST,
      ...env,
    };
  }

  /** Starts the process (again), with the same files on the same port. */
  async again() {
    this.process = new Program(runtimeBinary(), ['--config', this.file, ...this.args], {
      env: this.env,
      // The demo names its files from where it stands.
      cwd: this.file === DEMO_CONFIG ? ROOT : this.folder,
    });
    await this.process.answers(`${this.origin}/healthz`);
  }

  /** What the process wrote. */
  get output() {
    return this.process.output;
  }

  /** Ends it and removes its files. */
  async stop() {
    await this.process.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A token of a new anonymous user. */
  async token(agentUid = 'demo', appUid = 'demo') {
    const response = await this.post('/v1/anonymous', { appUid, agentUid });
    if (response.status !== 200) throw new Error(`sign-in: ${response.status} ${await response.text()}`);
    return (await response.json()).authToken;
  }

  /** POSTs JSON. */
  post(path, body, headers = {}) {
    return fetch(this.origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }
}
