// The states that every page has: loading, empty, failed, signed out.

import { add, button, el, fill } from './dom.js';

// Nothing is shown for what takes less than this.
const PATIENCE = 150;

// Shows that something loads, unless it is there soon. Returns what ends it.
export function loading(place, words = 'Loading…') {
  const timer = setTimeout(
    () => fill(place, el('p.state.quiet', { test: 'loading', role: 'status' }, words)),
    PATIENCE,
  );
  return () => clearTimeout(timer);
}

// Waits for something and shows it; on the way shows that it loads, or why it failed, with a way to try again.
export async function load(place, work, show) {
  const done = loading(place);
  try {
    const result = await work();
    done();
    return show(result);
  } catch (problem) {
    done();
    if (problem.name !== 'AbortError') failed(place, problem, () => load(place, work, show));
    return undefined;
  }
}

export function failed(place, problem, retry) {
  if (problem.status === 401) return signedOut(place);
  if (!('status' in problem)) console.error(problem);
  const again = retry && button('', 'retry', retry, 'Try again');
  const hint = problem.hint && el('p.quiet', problem.hint);
  const name = problem.status === 404 ? 'Not found' : 'That did not work';
  return fill(
    place,
    el('section.state', { test: 'error', role: 'alert' }, el('h1', name), el('p', problem.message), hint, again),
  );
}

export function empty(place, words, ...more) {
  return fill(place, el('section.state', { test: 'empty' }, el('p', words), more));
}

// Whoever has no token sees how to get in, and nothing else.
export function signedOut(place) {
  document.body.classList.add('outside');
  const code = (words) => el('code', words);
  return fill(
    place,
    el(
      'section.state',
      { test: 'signed-out', role: 'alert' },
      el('h1', 'You are signed out'),
      add(
        el('p'),
        'Open the link that ',
        code('switchboard serve'),
        ' printed when it started. It signs this browser in.',
      ),
      add(el('p.quiet'), 'Programs send the token, which ', code('switchboard token'), ' prints.'),
      button('', 'retry', () => location.reload(), 'Try again'),
    ),
  );
}
