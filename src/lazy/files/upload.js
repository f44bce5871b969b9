// One file on its way to the server.

/** Asks for today's credentials right before it sends; `progress` gets 0 to 1. */
export class Upload {
  #ask;
  #file;
  #request;
  #gone = false;

  constructor(file, ask) {
    this.#file = file;
    this.#ask = ask;
  }

  /** Sends it; resolves with `{ id, name, type, size }` or rejects with what people read. */
  async send(progress) {
    this.#gone = false;
    let answer = await this.#post(await this.#ask(), progress);
    // Credentials that have just ended are renewed by asking again.
    if (answer.status === 401) answer = await this.#post(await this.#ask(), progress);
    const { body } = answer;
    if (answer.status !== 201) throw new Error(body?.error?.message ?? '');
    return { id: body.uploadId, name: body.name, type: body.mimeType, size: body.size };
  }

  /** Nobody wants it any more. */
  abort() {
    this.#gone = true;
    this.#request?.abort();
  }

  #post({ url, authorization }, progress) {
    return new Promise((resolve, reject) => {
      if (this.#gone) return;
      // `fetch` tells no progress of what it sends.
      const request = (this.#request = new XMLHttpRequest());
      const form = new FormData();
      form.append('file', this.#file, this.#file.name || 'file');
      request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
      request.onload = () => resolve({ status: request.status, body: read(request.responseText) });
      request.onerror = request.ontimeout = () => reject(new Error(''));
      request.open('POST', url);
      if (authorization) request.setRequestHeader('Authorization', authorization);
      request.send(form);
    });
  }
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
