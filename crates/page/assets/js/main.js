// The entry: what pages there are, and what every page has.

import * as board from './board.js';
import * as fresh from './new.js';
import * as history from './history.js';
import * as keys from './keys.js';
import * as log from './log.js';
import * as router from './router.js';
import * as session from './session.js';
import * as shell from './shell.js';
import * as usage from './usage.js';

const PAGES = [
  { id: 'board', nav: 'board', name: '', address: /^\/$/, open: board.open },
  { id: 'new', nav: 'new', name: 'New session', address: /^\/new$/, open: fresh.open },
  { id: 'session', nav: 'board', name: 'Session', address: /^\/s\/([^/]+)$/, open: session.open },
  { id: 'history', nav: 'history', name: 'History', address: /^\/history$/, open: history.open },
  { id: 'log', nav: 'history', name: 'Transcript', address: /^\/h\/([^/]+)$/, open: log.open },
  { id: 'usage', nav: 'usage', name: 'Usage', address: /^\/usage$/, open: usage.open },
];

// The search of the page, else that of everything.
function search() {
  const field = document.querySelector('[data-search]');
  if (field) field.focus();
  else router.go('/history?find');
}

keys.start();
keys.everywhere(
  { keys: 'n', does: 'new session', act: () => router.go('/new') },
  { keys: 'g b', does: 'go to the board', act: () => router.go('/') },
  { keys: 'g h', does: 'go to history', act: () => router.go('/history') },
  { keys: 'g u', does: 'go to usage', act: () => router.go('/usage') },
  { keys: '/', does: 'search', act: search },
);
document.getElementById('shortcuts').addEventListener('click', keys.help);
shell.themes();
router.start(PAGES);
