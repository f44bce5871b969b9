// A plain web site on another port, for pages that are not the runtime's own.

import { createServer } from 'node:http';

/** Serves `pages`, a map of path to HTML. */
export async function site(pages) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://site');
    const body = pathname === '/favicon.ico' ? '' : pages[pathname];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(body);
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
