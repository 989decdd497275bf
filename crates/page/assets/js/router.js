// Which address shows which page. Links inside the page do not load it again.

import { failed } from './states.js';
import { here } from './keys.js';
import { stage, title, waits } from './shell.js';

let routes = [];
let leave;
let shown = 0;

export function go(address, { replace = false } = {}) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  show();
}

// Shows the page of the address. A page is `{ name, open(stage, match, query) }`, and `open` may return what ends it.
async function show() {
  const turn = (shown += 1);
  leave?.();
  leave = undefined;
  here([]);
  waits(0);
  const [route, match] = find(location.pathname);
  document.body.dataset.page = route?.id ?? 'none';
  mark(route?.nav);
  title(route?.name);
  stage.replaceChildren();
  scrollTo(0, 0);
  if (!route) return failed(stage, { status: 404, message: 'There is no such page.' });
  const left = route.open(stage, match, new URLSearchParams(location.search));
  // Whoever has gone on meanwhile is not the one that this page must end for.
  if (turn === shown) leave = left;
  else left?.();
  return undefined;
}

function find(address) {
  for (const route of routes) {
    const match = route.address.exec(address);
    if (match) return [route, decodeURIComponent(match[1] ?? '')];
  }
  return [];
}

function mark(nav) {
  for (const link of document.querySelectorAll('.nav a')) {
    if (link.dataset.nav === nav) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

function clicked(event) {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
    return;
  const link = event.target.closest?.('a[href]');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!find(link.pathname)[0]) return;
  event.preventDefault();
  go(link.href);
}

export function start(table) {
  routes = table;
  addEventListener('popstate', show);
  document.addEventListener('click', clicked);
  show();
}
