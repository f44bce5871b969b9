// Files that people attach: chosen, dropped, pasted, uploaded, taken away, sent, and shown again.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64');
const file = (name, mimeType = 'image/png', buffer = PNG) => ({ name, mimeType, buffer });

function ready(attributes = 'uploads') {
  return s.ready({ elements: `<mindset-agent id="agent" agent-uid="support" ${attributes}></mindset-agent>` });
}

const button = (host) => host.panel.host.getByRole('button', { name: 'Attach files' });
const chips = (host) => host.panel.host.locator('[part~="attachment"]');
const status = (host) => host.panel.host.locator('[part~="attachments__status"]');
const picker = (host) => host.panel.host.locator('input[type=file]');

/** Everything has arrived. */
const settled = (host, count) => until(
  async () => await chips(host).count() === count && await chips(host).locator('progress:visible').count() === 0,
  `${count} files to be there`,
);

test('a file is chosen, uploaded with the session\'s credentials, and sent by its id', async () => {
  const host = await ready();
  await button(host).waitFor();
  await picker(host).setInputFiles([file('a.png'), file('b.pdf', 'application/pdf', Buffer.from('%PDF-1.7'))]);
  await settled(host, 2);
  assert.equal(await chips(host).locator('canvas:visible').count(), 1, 'a preview of the picture');
  assert.match(await status(host).textContent(), /^(a\.png|b\.pdf) is attached\.$/);
  assert.deepEqual(s.runtime.uploads.map(({ name, authorization }) => [name, authorization]).sort(), [
    ['a.png', 'Bearer token-1'], ['b.pdf', 'Bearer token-1'],
  ]);
  // Without a word: files are enough.
  await host.panel.sendButton.click();
  const run = await until(() => s.runtime.runs[0], 'the message');
  assert.deepEqual(run.input.forwardedProps.mindset.uploads.toSorted(), ['upload-1', 'upload-2']);
  assert.doesNotMatch(JSON.stringify(run.input.messages), /upload-|a\.png/);
  await until(async () => await host.panel.host.locator('.file').count() === 2, 'the files under the message');
  assert.equal(await chips(host).count(), 0);
  // The next message has none.
  await host.send('again');
  assert.equal(s.runtime.runs[1].input.forwardedProps.mindset.uploads, undefined);
});

test('dropped and pasted files; a page that allows none, and a server that takes none', async () => {
  const host = await ready();
  await button(host).waitFor();
  await host.run(() => {
    const root = document.getElementById('agent').shadowRoot;
    const data = (name) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(['x'], name, { type: 'image/png' }));
      return transfer;
    };
    const more = { bubbles: true, cancelable: true, composed: true };
    root.querySelector('[part~=panel]').dispatchEvent(new DragEvent('drop', { ...more, dataTransfer: data('drop.png') }));
    root.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', { ...more, clipboardData: data('paste.png') }));
  });
  await settled(host, 2);
  assert.deepEqual(await chips(host).locator('.file-name').allTextContents(), ['drop.png', 'paste.png']);
  const plain = await ready('');
  assert.equal(await button(plain).count(), 0);
  assert.equal(s.runtime.requests.filter((line) => line === 'GET /v1/uploads').length, 3, 'limits, and two uploads');
  s.runtime.onUploadTerms = () => ({ enabled: false, types: [], maxBytes: 1, maxFiles: 1 });
  const closed = await ready();
  await until(() => s.runtime.requests.filter((line) => line === 'GET /v1/uploads').length === 4, 'the question');
  assert.equal(await button(closed).count(), 0);
});

test('what does not fit is said before anything is sent', async () => {
  s.runtime.onUploadTerms = () => ({ enabled: true, types: ['image/png', 'application/pdf'], maxBytes: 1000, maxFiles: 2 });
  const host = await ready();
  await button(host).waitFor();
  for (const [files, says] of [
    [[file('a.exe', 'application/x-msdownload')], 'a.exe cannot be attached. Choose one of these: PNG, PDF.'],
    [[file('big.png', 'image/png', Buffer.alloc(2000))], 'big.png has 2 kB, the limit is 1 kB.'],
    [[file('more.png', 'image/png', Buffer.alloc(1001))], 'more.png has 1,001 bytes, the limit is 1,000 bytes.'],
    [[file('no.png', 'image/png', Buffer.alloc(0))], 'no.png is empty.'],
  ]) {
    await picker(host).setInputFiles(files);
    await until(async () => await status(host).textContent() === says, says);
  }
  assert.equal(await chips(host).count(), 0);
  assert.deepEqual(s.runtime.uploads, []);
  await picker(host).setInputFiles([file('1.png'), file('2.png'), file('3.png')]);
  await settled(host, 2);
});

test('what is said of a file that is refused stays when others arrive', async () => {
  const host = await ready();
  await button(host).waitFor();
  await picker(host).setInputFiles([file('a.exe', 'application/x-msdownload'), file('a.png')]);
  await settled(host, 1);
  const says = 'a.exe cannot be attached. Choose one of these: PNG, PDF. a.png is attached.';
  await until(async () => await status(host).textContent() === says, says);
  await picker(host).setInputFiles([file('b.png')]);
  await until(async () => await status(host).textContent() === 'b.png is attached.', 'the refusal to be past');
});

test('sizes are written in the language of the panel', async () => {
  const host = await ready('uploads locale="de"');
  await host.panel.host.getByRole('button', { name: 'Dateien anhängen' }).waitFor();
  await picker(host).setInputFiles([file('a.png', 'image/png', Buffer.alloc(1_500_000))]);
  await until(async () => /1,5\sMB/.test(await chips(host).textContent()), 'a comma');
});

test('an upload that fails is tried again, or taken away; unsent files stop the message', async () => {
  const host = await ready();
  await button(host).waitFor();
  s.runtime.onUpload = () => ({ status: 413, body: { error: { code: 'too-large', message: 'The server has no room.' } } });
  await picker(host).setInputFiles([file('a.png')]);
  await until(async () => (await chips(host).textContent()).includes('The server has no room.'), 'the reason');
  await host.panel.input.fill('look');
  await host.panel.input.press('Enter');
  await until(async () => (await status(host).textContent()).startsWith('Some files were not uploaded.'), 'the notice');
  assert.equal(s.runtime.runs.length, 0);
  s.runtime.onUpload = undefined;
  await host.panel.host.getByRole('button', { name: 'Upload a.png again' }).click();
  await settled(host, 1);
  await host.panel.host.getByRole('button', { name: 'Remove a.png' }).click();
  await until(() => s.runtime.requests.some((line) => line.startsWith('DELETE /v1/uploads/upload-')), 'it to be taken back');
  assert.equal(await chips(host).count(), 0);
  await host.panel.input.press('Enter');
  const run = await until(() => s.runtime.runs[0], 'the message');
  assert.equal(run.input.forwardedProps.mindset.uploads, undefined);
});

test('history shows what messages had', async () => {
  s.runtime.conversations.set('c1', {
    messages: [{ id: 'm1', role: 'user', content: 'look', files: [{ id: 'f', name: '<b>x</b>.png', type: 'image/png', size: 1500000 }] }],
  });
  const host = await ready('conversation-id="c1"');
  await until(async () => await host.panel.host.locator('.file').count() === 1, 'the file');
  assert.equal(await host.panel.host.locator('.file').textContent(), '<b>x</b>.png1.5 MB');
});
