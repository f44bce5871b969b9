// How long the tasks of a page take, in processor time: a busy machine makes none longer.

const CATEGORIES = ['disabled-by-default-devtools.timeline', '__metadata'];

/** The tasks of the page's main threads while `work` goes on: the longest and all of them, in milliseconds. */
export async function tasks(page, work) {
  const browser = page.context().browser();
  await browser.startTracing(page, { categories: CATEGORIES });
  await work();
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const main = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid}/${tid}`),
  );
  const all = traceEvents.filter(({ name, pid, tid }) => name === 'RunTask' && main.has(`${pid}/${tid}`));
  // A task that goes on when the trace ends has no time.
  const times = all.map(({ tdur, dur }) => (tdur ?? dur) / 1000).filter(Number.isFinite);
  if (!times.length) throw new Error('the trace has no task: the browser names them otherwise');
  return { longest: Math.max(...times), sum: times.reduce((sum, time) => sum + time, 0) };
}

/** The longest of them. */
export async function longest(page, work) {
  return (await tasks(page, work)).longest;
}
