// Text that grows: appended as text, in pieces, so that what is already there is neither drawn nor measured again.

import { el } from './dom.js';

// A piece is full after so many characters, and so many pieces are kept.
const FULL = 4000;
const MOST = 60;

export class Tail {
  // `form` is `text`, `output` or `plain`.
  constructor(form) {
    this.node = el(form === 'output' ? 'pre.tail.term' : 'div.tail', { 'aria-live': 'off' });
    this.words = '';
  }

  set(words) {
    if (words.startsWith(this.words) && this.words) return this.append(words.slice(this.words.length));
    this.node.replaceChildren();
    this.words = '';
    this.last = undefined;
    return this.append(words);
  }

  append(words) {
    if (!words) return;
    this.words = (this.words + words).slice(-FULL * 2);
    let rest = words;
    while (rest) rest = this.put(rest);
    while (this.node.childElementCount > MOST) this.node.firstElementChild.remove();
  }

  // Puts into the last piece what fits, and gives the rest. A full piece ends at a space or a line where there is one.
  put(words) {
    if (!this.last) {
      this.last = document.createTextNode('');
      this.node.append(el('span.piece', this.last));
    }
    const room = FULL - this.last.length;
    if (words.length <= room) return void this.last.appendData(words);
    const end = cut(words, Math.max(room, 1));
    this.last.appendData(words.slice(0, end).replace(/\n$/, ''));
    this.last = undefined;
    return words.slice(end);
  }
}

function cut(words, most) {
  const line = words.lastIndexOf('\n', most);
  if (line > 0) return line + 1;
  const space = words.lastIndexOf(' ', most);
  if (space > 0) return space + 1;
  // Not between the halves of one character.
  return most + (/[\uDC00-\uDFFF]/.test(words[most] ?? '') ? 1 : 0);
}
