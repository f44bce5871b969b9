// The npm package in an app of somebody else, put together by the bundlers people use, without
// settings: the page finds both parts of the module and the chunks, also below a path.

import assert from 'node:assert/strict';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer as createHttp } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { consumer } from '../support/consumer.mjs';
import { Host } from '../support/host.mjs';
import { Panel } from '../support/panel.mjs';
import { policy } from '../support/policy.mjs';
import { ScriptedRuntime } from '../support/scripted-runtime.mjs';
import { until } from '../support/wait.mjs';

const require = createRequire(import.meta.url);
const PAGE = (script) => `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>App</title></head><body>
<mindset-agent id="agent" agent-uid="support"></mindset-agent><script type="module" src="${script}"></script></body></html>`;
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };
const ANSWER = 'It is **free**:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nconst a = 1; // one\n```\n';

let project;
let runtime;
let browser;

before(async () => {
  [project, runtime, browser] = await Promise.all([consumer(), ScriptedRuntime.start(), launch()]);
  await writeFile(join(project.folder, 'app.js'), `import { init } from 'mindset-agent';
    init({ appUid: 'acme', server: ${JSON.stringify(runtime.origin)}, locale: 'de' }).catch((error) => { window.initError = error; });`);
  await writeFile(join(project.folder, 'index.html'), PAGE('./app.js'));
});
after(async () => {
  await browser?.close();
  await runtime?.stop();
  await project?.stop();
});

/** Serves a folder below `/app/sub/`; whatever is not there is the app's page, as such servers do. */
async function serve(folder) {
  const server = createHttp(async (request, response) => {
    const name = new URL(request.url, 'http://app').pathname.replace('/app/sub/', '');
    const file = await readFile(join(folder, name)).catch(() => undefined);
    const csp = policy({ 'connect-src': runtime.origin });
    response.writeHead(200, { 'content-type': TYPES[file ? extname(name) : '.html'] ?? 'text/plain', 'content-security-policy': csp });
    response.end(file ?? (await readFile(join(folder, 'index.html'))));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/app/sub/index.html`, stop: () => server.closeAllConnections() ?? server.close() };
}

/** Ways to put the app together; each gives a folder of files, or a server of its own. */
const BUNDLERS = {
  async 'Vite, built'() {
    const { build } = await import('vite');
    const outDir = join(project.folder, 'vite');
    await build({ root: project.folder, base: './', logLevel: 'error', configFile: false, build: { outDir } });
    return serve(outDir);
  },
  async 'Vite, in development'() {
    const { createServer } = await import('vite');
    const server = await createServer({ root: project.folder, logLevel: 'error', configFile: false, server: { host: '127.0.0.1', port: 0 } });
    await server.listen();
    return { url: `http://127.0.0.1:${server.httpServer.address().port}/`, stop: () => server.close() };
  },
  // Its own loader of chunks makes script elements: under Trusted Types it has to be told.
  async webpack() {
    const output = { path: join(project.folder, 'webpack'), filename: 'main.js', trustedTypes: true };
    const { path } = output;
    const compiler = require('webpack')({ mode: 'production', context: project.folder, entry: './app.js', output });
    const stats = await new Promise((resolve, reject) => compiler.run((error, stats) => (error ? reject(error) : resolve(stats))));
    assert.deepEqual(stats.toJson({ errors: true }).errors, []);
    await writeFile(join(path, 'index.html'), PAGE('./main.js'));
    return serve(path);
  },
  // It does not follow addresses of files: they are copied, as the documentation says.
  async 'esbuild, with the modules copied'() {
    const outdir = join(project.folder, 'esbuild');
    await require('esbuild').build({ entryPoints: [join(project.folder, 'app.js')], bundle: true, splitting: true, format: 'esm', outdir, logLevel: 'error' });
    const dist = join(project.folder, 'node_modules', 'mindset-agent', 'dist');
    await mkdir(outdir, { recursive: true });
    for (const name of (await readdir(dist)).filter((name) => name.endsWith('.wasm'))) await copyFile(join(dist, name), join(outdir, name));
    await writeFile(join(outdir, 'index.html'), PAGE('./app.js'));
    return serve(outdir);
  },
};

for (const [name, bundle] of Object.entries(BUNDLERS)) {
  test(`${name}: the module, its later part and the chunks are found`, { timeout: 120_000 }, async () => {
    const app = await bundle();
    let host;
    try {
      host = await Host.open(browser, app.url);
      await host.saw('agent-idle');
      runtime.onRun = (run) => run.start().say(ANSWER).finish();
      await host.page.evaluate(() => document.getElementById('agent').setPageTools([{ name: 'look', description: 'looks', handler: () => 1 }]));
      const panel = new Panel(host.page);
      await panel.say('Is delivery free?');
      const { host: agent } = panel;
      await agent.locator('strong', { hasText: 'free' }).waitFor();
      await agent.getByRole('table').waitFor();
      await agent.locator('pre code span').first().waitFor();
      await agent.getByRole('button', { name: 'Unterhaltungen' }).click();
      await agent.getByRole('dialog').getByRole('button', { name: 'Neue Unterhaltung' }).waitFor();
      assert.equal(runtime.runs.at(-1).input.tools.length, 1);
      assert.deepEqual(await host.violations(), []);
      assert.deepEqual(await host.errors(), []);
      assert.deepEqual((await host.names()).filter((name) => name === 'error'), []);
    } catch (error) {
      error.stack += `; console: ${host?.console.join(' | ')}; errors: ${JSON.stringify((await host?.events().catch(() => []))?.filter(({ name }) => name === 'error'))}`;
      throw error;
    } finally {
      await host?.close();
      await app.stop();
    }
  });
}
