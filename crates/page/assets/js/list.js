// A list of any length that scrolls freely: only what is near the viewport is in the page. Heights are measured where
// rows are shown and estimated elsewhere; what changes above the reader never moves what is read.

import { el } from './dom.js';
import { Heights } from './heights.js';

// So far beyond the viewport rows are kept ready, in pixels.
const BEYOND = 700;

// Longer than this browsers cannot scroll; estimates are made smaller then.
const LONGEST = 12_000_000;

// A line of text and what surrounds an entry, roughly, in pixels.
const LINE = 20;
const FRAME = 18;

// An entry is not thought higher than this before it is seen.
const HIGHEST = 640;

const guess = (size) => (size === 0 ? 0 : Math.min(HIGHEST, FRAME + size * LINE));

export class List {
  // `draw(n)` gives the row of an entry, `{ node, end() }`, or a stand-in; `moved()` is called when the reader moved.
  constructor({ scroller, draw, moved }) {
    Object.assign(this, { scroller, draw, moved, rows: new Map(), measured: new Set(), isStuck: true, lastTop: 0 });
    this.heights = new Heights();
    this.above = el('div', { 'aria-hidden': 'true' });
    this.below = el('div', { 'aria-hidden': 'true' });
    this.scroller.replaceChildren(this.above, this.below);
    this.watcher = new ResizeObserver((changes) => this.resized(changes));
    this.watcher.observe(scroller);
    this.onScroll = () => this.scrolled();
    scroller.addEventListener('scroll', this.onScroll, { passive: true });
    this.view = scroller.clientHeight;
  }

  // Takes how many lines each entry has; those that were seen keep what was measured.
  outline(sizes) {
    const guesses = sizes.map(guess);
    const sum = guesses.reduce((all, one) => all + one, 0);
    const scale = sum > LONGEST ? LONGEST / sum : 1;
    const anchor = this.anchor();
    const before = this.heights.top(anchor);
    const values = guesses.map((height, n) => (this.measured.has(n) ? this.heights.get(n) : height * scale));
    this.heights.fill(values);
    this.place();
    if (this.isStuck) this.toEnd();
    else this.shift(this.heights.top(anchor) - before);
  }

  grow(total, size = 2) {
    while (this.heights.length < total) this.heights.push(guess(size));
  }

  // An entry that was hidden is shown, or the other way round.
  reveal(n, isShown, size = 2) {
    if (isShown === this.heights.get(n) > 0) return;
    this.heights.set(n, isShown ? guess(size || 2) : 0);
    this.measured.delete(n);
  }

  anchor() {
    return this.heights.length ? this.heights.at(this.scroller.scrollTop) : 0;
  }

  near(beyond = BEYOND) {
    const top = this.scroller.scrollTop;
    const first = this.heights.at(Math.max(0, top - beyond));
    const last = this.heights.at(top + this.view + beyond);
    const near = [];
    for (let n = first; n <= last && n < this.heights.length; n += 1) if (this.heights.get(n) > 0) near.push(n);
    return near;
  }

  // Shows what is near and drops what is not.
  update() {
    this.isDue = false;
    if (this.isOver || !this.heights.length) return;
    const near = this.isStuck ? this.last() : this.near();
    const wanted = new Set(near);
    for (const [n, row] of this.rows) if (!wanted.has(n)) this.drop(n, row);
    let before = this.above;
    for (const n of near) {
      const row = this.rows.get(n) ?? this.insert(n, before);
      before = row.node;
    }
    this.place(near);
    if (this.isStuck) this.toEnd();
    this.moved?.(near);
  }

  // Who is at the end sees the last ones, whatever the estimates say.
  last() {
    const last = [];
    let room = this.view + BEYOND;
    for (let n = this.heights.length - 1; n >= 0 && room > 0; n -= 1) {
      if (this.heights.get(n) === 0) continue;
      last.unshift(n);
      room -= this.heights.get(n);
    }
    return last;
  }

  insert(n, before) {
    const row = this.draw(n, this.heights.get(n));
    this.rows.set(n, row);
    before.after(row.node);
    this.watcher.observe(row.node);
    return row;
  }

  drop(n, row) {
    this.watcher.unobserve(row.node);
    row.end?.();
    row.node.remove();
    this.rows.delete(n);
  }

  redraw(n) {
    const row = this.rows.get(n);
    if (!row) return;
    const before = row.node.previousElementSibling;
    this.drop(n, row);
    this.insert(n, before);
  }

  // Sets the room above and below the rows that are shown.
  place(near = [...this.rows.keys()].sort((a, b) => a - b)) {
    const first = near[0] ?? 0;
    const behind = near.length ? near[near.length - 1] + 1 : 0;
    this.above.style.height = `${this.heights.top(first)}px`;
    this.below.style.height = `${Math.max(0, this.heights.total - this.heights.top(behind))}px`;
  }

  // Rows got another size: what the reader sees stays where it is, before anything is painted.
  resized(changes) {
    const anchor = this.anchor();
    let shift = 0;
    for (const { target, borderBoxSize } of changes) {
      if (target === this.scroller) this.view = target.clientHeight;
      else shift += this.measure(Number(target.dataset.n), borderBoxSize[0].blockSize, anchor);
    }
    if (this.isStuck) this.toEnd();
    else if (shift) this.shift(shift);
    this.later();
  }

  measure(n, height, anchor) {
    if (!this.rows.has(n) || height === 0) return 0;
    const more = height - this.heights.get(n);
    if (!this.rows.get(n).isStandIn) this.measured.add(n);
    this.heights.set(n, height);
    return n < anchor ? more : 0;
  }

  shift(by) {
    this.lastTop = this.scroller.scrollTop += by;
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.lastTop = this.scroller.scrollTop;
  }

  isAtEnd() {
    const { scrollTop, scrollHeight } = this.scroller;
    return scrollTop + this.view >= scrollHeight - 4 && this.rows.has(this.heights.length - 1);
  }

  scrolled() {
    const { scrollTop } = this.scroller;
    if (this.isAtEnd()) this.isStuck = true;
    else if (scrollTop < this.lastTop - 1) this.isStuck = false;
    this.lastTop = scrollTop;
    this.update();
  }

  later() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => this.update());
  }

  stick() {
    this.isStuck = true;
    this.update();
  }

  // Brings an entry into view: to the top, or as little as needed.
  seek(n, { toTop = true } = {}) {
    const row = this.rows.get(n);
    const top = row ? row.node.offsetTop - this.above.offsetTop : this.heights.top(n);
    const height = this.heights.get(n);
    const { scrollTop } = this.scroller;
    const fits = top >= scrollTop + 8 && top + Math.min(height, this.view * 0.6) <= scrollTop + this.view - 8;
    if (!toTop && row && fits) return;
    const place = toTop || top < scrollTop || height > this.view * 0.6 ? top - 8 : top + height - this.view + 24;
    this.scroller.scrollTop = place;
    this.lastTop = this.scroller.scrollTop;
    this.isStuck = this.isAtEnd();
    this.update();
  }

  end() {
    this.isOver = true;
    this.watcher.disconnect();
    this.scroller.removeEventListener('scroll', this.onScroll);
    for (const [n, row] of this.rows) this.drop(n, row);
  }
}
