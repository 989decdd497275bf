// A text field with completion: arrows choose, Enter or Tab takes, Escape closes (the pattern of an ARIA combobox).

import { el, fill } from './dom.js';
import { clip } from './words.js';

// A field of its own.
export function combobox({ id, test, value, placeholder, complete }) {
  const input = el('input', {
    id,
    test,
    value,
    placeholder,
    type: 'text',
    role: 'combobox',
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-expanded': 'false',
  });
  return { input, node: completed(input, complete) };
}

// A field and its list. `complete(words)` gives a list of texts, maybe later.
export function completed(input, complete) {
  const list = el('ul.options', { id: `${input.id}-list`, role: 'listbox', hidden: true });
  input.setAttribute('aria-controls', list.id);
  input.setAttribute('aria-autocomplete', 'list');
  const box = { input, list, complete, found: [], at: -1, turn: 0 };
  input.addEventListener('input', () => look(box));
  input.addEventListener('focus', () => look(box));
  input.addEventListener('blur', () => close(box));
  input.addEventListener('keydown', (event) => key(box, event));
  return el('div.combobox', input, list);
}

async function look(box) {
  const turn = (box.turn += 1);
  const found = await Promise.resolve(box.complete(box.input.value.trim())).catch(() => []);
  // Somebody types on: what was asked for before is not wanted any more.
  if (turn !== box.turn || document.activeElement !== box.input) return;
  box.found = found.filter((words) => words !== box.input.value);
  show(box, -1);
}

function show(box, at) {
  const { input, list, found } = box;
  box.at = at;
  const option = (words, i) =>
    el(
      'li',
      {
        role: 'option',
        id: `${input.id}-${i}`,
        test: `${input.id}-option`,
        'aria-selected': String(i === at),
        onpointerdown: (event) => {
          event.preventDefault();
          take(box, i);
        },
      },
      clip(words, 200),
    );
  fill(list, found.map(option));
  list.hidden = found.length === 0;
  if (input.hasAttribute('aria-expanded')) input.setAttribute('aria-expanded', String(!list.hidden));
  if (at >= 0) input.setAttribute('aria-activedescendant', `${input.id}-${at}`);
  else input.removeAttribute('aria-activedescendant');
  list.children[at]?.scrollIntoView({ block: 'nearest' });
}

function take(box, i) {
  box.input.value = box.found[i];
  look(box);
}

function close(box) {
  box.turn += 1;
  box.found = [];
  show(box, -1);
}

function key(box, event) {
  const { found, at } = box;
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by && found.length) show(box, (at + by + found.length + (at < 0 && by < 0 ? 1 : 0)) % found.length);
  else if (event.key === 'Escape' && found.length) close(box);
  else if (event.key === 'Enter' && at >= 0 && !event.ctrlKey && !event.metaKey) take(box, at);
  else if (event.key === 'Tab' && found.length && !event.shiftKey && (at >= 0 || box.input.value))
    take(box, Math.max(at, 0));
  else return;
  event.preventDefault();
  event.stopImmediatePropagation();
}
