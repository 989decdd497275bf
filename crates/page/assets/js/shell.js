// What surrounds every page: title, banner of a lost connection, short messages, what screen readers are told, themes.

import { el, fill, text } from './dom.js';

const byId = (id) => document.getElementById(id);

export const stage = byId('page');

let base = 'Switchboard';
let waiting = 0;

export function title(words) {
  base = words ? `${words} · Switchboard` : 'Switchboard';
  renderTitle();
}

// How many things wait for an answer: shown before the name of the page.
export function waits(count) {
  waiting = count;
  renderTitle();
}

function renderTitle() {
  const name = waiting ? `(${waiting}) ${base}` : base;
  if (document.title !== name) document.title = name;
}

// Says something to screen readers: `urgent` at once.
export function announce(words, urgent = false) {
  text(byId(urgent ? 'alert' : 'status'), words);
}

const broken = new Set();

// Shows or hides the banner of a lost connection. `who` is any object.
export function connection(who, isLost) {
  if (isLost) broken.add(who);
  else broken.delete(who);
  byId('offline').hidden = broken.size === 0;
}

let toastTimer;

// A short message at the bottom; a mistake stays longer.
export function toast(words, { bad = false } = {}) {
  const box = byId('toast');
  fill(box, el('p', { test: 'toast', class: bad ? 'bad' : '' }, words));
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (box.hidden = true), bad ? 9000 : 3500);
}

export function refuse(problem) {
  if (problem.name === 'AbortError') return;
  toast(problem.hint ? `${problem.message}. ${problem.hint}` : problem.message, { bad: true });
}

// Does something, and says if it is refused. Returns whether it worked.
export async function attempt(work, done) {
  try {
    const result = await work();
    if (done) toast(done);
    return result ?? true;
  } catch (problem) {
    refuse(problem);
    return false;
  }
}

export function recall(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`switchboard.${name}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(`switchboard.${name}`, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing is no reason to stop.
  }
}

const THEMES = ['auto', 'light', 'dark'];

// The switch between light, dark, and what the system says.
export function themes() {
  const button = byId('theme');
  const show = () => {
    const theme = recall('theme', 'auto');
    button.setAttribute('aria-label', `Theme: ${theme}. Change`);
    button.title = `Theme: ${theme}`;
    document.documentElement.dataset.theme = theme;
  };
  button.addEventListener('click', () => {
    remember('theme', THEMES[(THEMES.indexOf(recall('theme', 'auto')) + 1) % THEMES.length]);
    show();
  });
  show();
}

export async function copy(words, done = 'Copied') {
  try {
    await navigator.clipboard.writeText(await words);
    toast(done);
  } catch (error) {
    toast(error.message || 'The browser does not let the page copy', { bad: true });
  }
}
