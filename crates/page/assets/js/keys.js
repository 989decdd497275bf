// Keyboard shortcuts: a page says which it has, and `?` shows them all.

import { button, el, fill, spoken } from './dom.js';

// Who types into a field that goes away does not mean shortcuts with what comes next, until there was a pause.
const PAUSE = 1500;

const GLOBAL = [];
let typing;
let page = [];
let leader = '';
let leaderTimer;

// Shortcuts that every page has: `{ keys, does, act }`.
export const everywhere = (...shortcuts) => GLOBAL.push(...shortcuts);

// Shortcuts of the page that is shown. `act` returns false if it does not apply now.
export function here(shortcuts) {
  page = shortcuts;
}

const isField = (node) =>
  node.closest?.('input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]');

function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === 'Escape') return escape(event);
  if (isField(event.target)) return;
  if (document.querySelector('dialog[open]') || isTyping()) return;
  typing = undefined;
  // Only steps from one to the next may be held down.
  if (event.repeat && !'jk'.includes(event.key)) return;
  const keys = leader ? `${leader} ${event.key}` : event.key;
  const all = [...page, ...GLOBAL];
  leader = '';
  clearTimeout(leaderTimer);
  const found = all.find((one) => one.keys.split(', ').includes(keys) && one.act(event) !== false);
  if (found) event.preventDefault();
  else if (all.some((one) => one.keys.startsWith(`${keys} `))) {
    leader = keys;
    leaderTimer = setTimeout(() => (leader = ''), 1500);
  }
}

function isTyping() {
  if (!typing || Date.now() - typing.at > PAUSE) return false;
  const { field } = typing;
  if (field.isConnected && !field.closest('[hidden], [inert]')) return false;
  typing.at = Date.now();
  return true;
}

function escape(event) {
  const field = isField(event.target);
  if (field) field.blur();
  page.find((one) => one.keys === 'Escape')?.act(event);
}

export function help() {
  const row = ({ keys, does }) =>
    el(
      'tr',
      el(
        'td',
        keys.split(' ').map((key) => el('kbd', key.replace(',', ''))),
      ),
      el('td', does),
    );
  const table = (name, rows) => rows.length > 0 && el('table', el('caption', name), el('tbody', rows.map(row)));
  show('Keyboard shortcuts', table('This page', page), table('Everywhere', GLOBAL));
}

// Shows a dialog with a heading. It closes with Escape, its button or a click beside it.
export function show(heading, ...content) {
  const dialog = document.getElementById('dialog');
  const close = button('.plain', 'close', () => dialog.close(), '✕', spoken('Close'));
  fill(dialog, el('header', el('h2', heading), close), el('div.dialog-body', content));
  if (!dialog.open) dialog.showModal();
  return dialog;
}

// Whoever sends what was typed, or leaves the field, is done with typing.
function types(event) {
  const isDone = event.key === 'Enter' || event.key === 'Escape';
  if (isField(event.target)) typing = isDone ? undefined : { field: event.target, at: Date.now() };
}

export function start() {
  document.addEventListener('keydown', types, true);
  document.addEventListener('keydown', pressed);
  const dialog = document.getElementById('dialog');
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  dialog.addEventListener('close', () => dialog.replaceChildren());
  everywhere({ keys: '?', does: 'show shortcuts', act: help });
}
