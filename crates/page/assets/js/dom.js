// Making elements. `safe` is the only place where text becomes HTML, and only text that the server made safe.

// `el("p.note", { test: "empty" }, "text", child)`: an element with classes, properties (or none) and children.
export function el(spec, ...parts) {
  const [tag, ...classes] = spec.split('.');
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(' ');
  const props = parts[0]?.constructor === Object ? parts.shift() : {};
  for (const [name, value] of Object.entries(props)) put(node, name, value);
  return add(node, parts);
}

function put(node, name, value) {
  if (value == null || value === false) return;
  if (name === 'test') node.dataset.test = value;
  else if (name === 'data') Object.assign(node.dataset, value);
  else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
  else if (name === 'value' || name === 'checked' || name === 'disabled' || name === 'hidden') node[name] = value;
  else node.setAttribute(name, value === true ? '' : value);
}

// Adds children; nothing is added for what is null or false.
export function add(node, ...kids) {
  for (const kid of kids.flat(Infinity)) if (kid != null && kid !== false) node.append(kid);
  return node;
}

export function fill(node, ...kids) {
  node.replaceChildren();
  return add(node, kids);
}

// Adds HTML that the server made safe (the fields `title` and `html` of an entry) at the end of an element, or beside it.
export function safe(node, html, where = 'beforeend') {
  if (html) node.insertAdjacentHTML(where, html);
  return node;
}

// Sets a text, and touches the page only if it is another one.
export function text(node, value) {
  const words = value ?? '';
  if (node.textContent !== words) node.textContent = words;
  return node;
}

// A button: `button(".plain", "copy", act, "Copy")`.
export const button = (style, test, act, ...kids) => el(`button${style}`, { type: 'button', test, onclick: act }, kids);

// A list to choose from: `values` are pairs of a value and its words.
export function select(test, label, values, chosen, act) {
  const options = values.map(([value, words]) =>
    el('option', { value, selected: value === chosen }, String(words).slice(0, 80)),
  );
  return el(
    'select',
    { test, 'aria-label': label, title: label, onchange: (event) => act?.(event.target.value) },
    options,
  );
}

export const spoken = (words) => el('span.sr', words);

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, props, ...kids) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === 'test') node.dataset.test = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value != null) node.setAttribute(name, value);
  }
  return add(node, kids);
}

const MARKS = {
  bell: 'M4 11.5V7a4 4 0 0 1 8 0v4.5M2.5 11.5h11M7 13.5h2',
  chevron: 'M6 4l4 4-4 4',
  user: 'M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M3.5 13.5a4.5 4.5 0 0 1 9 0',
  answer: 'M3 4h10M3 8h10M3 12h6',
  reasoning: 'M8 2.5a4 4 0 0 0-2 7.4V12h4V9.9a4 4 0 0 0-2-7.4M6.5 14h3',
  command: 'M3 4l4 4-4 4M8.5 12H13',
  change: 'M11 2.5l2.5 2.5L6 12.5l-3 .5.5-3z',
  tool: 'M10 3a3 3 0 0 0-3.7 3.9L2.5 10.7l2.8 2.8 3.8-3.8A3 3 0 0 0 13 6l-2 2-2.5-.5L8 5z',
  mcp: 'M5 2v4M11 2v4M3.5 6h9v2a4.5 4.5 0 0 1-9 0zM8 12.5V14',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3L13.5 13.5',
  plan: 'M2.5 4l1 1 2-2M2.5 9l1 1 2-2M8 4.5h5.5M8 9.5h5.5M8 13h5.5',
  subagent: 'M4 2.5v6a2 2 0 0 0 2 2h6M9.5 8l2.5 2.5L9.5 13',
  request: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M6.3 6.3a1.7 1.7 0 1 1 2.4 1.6c-.5.2-.7.5-.7 1.1M8 11v.1',
  notice: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 7.3V11M8 5v.1',
  session: 'M5 3l7 5-7 5z',
  unknown: 'M3 5l-1.5 3L3 11M13 5l1.5 3-1.5 3M9 4l-2 8',
  copy: 'M5.5 5.5h7v8h-7zM3.5 10.5v-8h7',
  raw: 'M6 3.5c-2 0-1.5 1.5-1.5 2.5S4.5 8 3 8c1.5 0 1.5 1 1.5 2s-.5 2.5 1.5 2.5M10 3.5c2 0 1.5 1.5 1.5 2.5s0 2 1.5 2c-1.5 0-1.5 1-1.5 2s.5 2.5-1.5 2.5',
  dots: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  back: 'M10 3L5 8l5 5',
  close: 'M4 4l8 8M12 4l-8 8',
  archive: 'M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.5h3',
};

export function mark(name) {
  const path = svg('path', { d: MARKS[name] ?? MARKS.unknown });
  return svg('svg', { class: 'mark', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, path);
}
