// Free loopback ports, for programs that cannot pick one themselves.

import { createServer } from 'node:net';

/** A port nobody listens on at the moment. */
export async function freePort() {
  const server = createServer();
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
