// The entries of a session or a log as a list that scrolls: drawing, folding, moving by keyboard, native records.

import { get, getText } from './api.js';
import { button, el, fill, text } from './dom.js';
import { Entries } from './entries.js';
import { show } from './keys.js';
import { List } from './list.js';
import { Row, standIn } from './row.js';
import { copy, recall, refuse, remember } from './shell.js';
import { KINDS, whole } from './words.js';

export class Transcript {
  // `address` is where its pages are, `session` the id that approvals go to, if any.
  constructor(place, address, session) {
    Object.assign(this, { address, session, folds: new Map(), cursor: -1, unseen: 0 });
    this.entries = new Entries(address, { arrived: (ns) => this.arrived(ns), failed: refuse });
    this.scroller = el('div.entries', {
      test: 'entries',
      tabindex: '0',
      role: 'feed',
      'aria-label': 'What happened',
      'aria-busy': 'false',
    });
    this.latest = button('.latest', 'latest', () => this.toEnd());
    this.latest.hidden = true;
    fill(place, this.scroller, this.latest);
    this.list = new List({
      scroller: this.scroller,
      draw: (n, height) => this.draw(n, height),
      moved: (near) => this.moved(near),
    });
    this.scroller.dataset.diff = recall('diff', innerWidth > 1100 ? 'side' : 'inline');
    this.ticker = setInterval(() => this.tick(), 1000);
  }

  // Takes the first page, and shows its end.
  open(page) {
    this.entries.take(page, true);
    this.list.grow(page.total);
    for (const entry of page.entries) this.learn(entry);
    this.list.stick();
    this.outline();
  }

  async outline() {
    try {
      const { sizes } = await get(`${this.address}/outline`);
      while (sizes.length < this.list.heights.length) sizes.push(2);
      this.list.outline(sizes);
    } catch {
      // Without it the scroll bar is less exact.
    }
  }

  draw(n, height) {
    const entry = this.entries.get(n);
    return entry ? new Row(entry, this) : standIn(n, height);
  }

  moved(near) {
    this.entries.want(near);
    this.entries.trim(near);
    if (this.list.isStuck) this.unseen = 0;
    this.seen?.();
    this.showLatest();
  }

  arrived(ns) {
    for (const n of ns) {
      this.learn(this.entries.get(n));
      const row = this.list.rows.get(n);
      if (row?.isStandIn) this.list.redraw(n);
      else if (row && row.entry !== this.entries.get(n)) row.update(this.entries.get(n));
    }
    this.list.later();
  }

  // Whether an entry is hidden in a folded one above it.
  learn(entry) {
    if (entry?.parent == null) return;
    this.list.reveal(entry.n, !this.isHidden(entry), entry.size);
  }

  isHidden(entry) {
    const parent = this.entries.get(entry.parent);
    return (
      (this.folds.get(entry.parent) ?? parent?.fold ?? false) ||
      Boolean(parent?.parent != null && this.isHidden(parent))
    );
  }

  fold(n) {
    const row = this.list.rows.get(n);
    if (!row?.entry) return;
    this.folds.set(n, !row.isFolded);
    row.showBody();
    if (row.entry.kind === 'subagent') this.foldBelow(n);
  }

  // What lies below a subagent is shown or hidden with it.
  async foldBelow(n) {
    for (const entry of this.entries.kept.values()) if (entry.n > n) this.learn(entry);
    this.list.later();
    // What is hidden was not loaded: a page of it, and the rest as the reader comes near.
    const ahead = Array.from({ length: 120 }, (_, i) => n + 1 + i).filter((one) => one < this.entries.total);
    if (!this.folds.get(n)) this.entries.want(ahead);
  }

  // Applies what the stream said.
  apply({ op, n, entry, text: words, html, tail = '' }) {
    if (op === 'entry') this.put(entry);
    else if (op === 'text' && this.entries.text(n, words)) this.list.rows.get(n)?.text?.(words);
    else if (op === 'blocks' && this.entries.blocks(n, html, tail)) this.list.rows.get(n)?.blocks?.(html, tail);
  }

  put(entry) {
    const isNew = entry.n >= this.list.heights.length;
    if (isNew && !this.list.isStuck) this.unseen += 1;
    // What nobody has loaded is loaded when somebody looks at it.
    if (!isNew && !this.entries.get(entry.n) && !this.entries.isAsked(entry.n)) return;
    this.entries.put(entry);
    this.list.grow(entry.n + 1, entry.size);
    this.learn(entry);
    const row = this.list.rows.get(entry.n);
    if (row?.update) row.update(entry);
    else if (row) this.list.redraw(entry.n);
    else this.list.later();
    this.showLatest();
  }

  showLatest() {
    const isAway = !this.list.isStuck && this.list.heights.total > this.list.view + 8;
    if (this.latest.hidden === isAway) this.latest.hidden = !isAway;
    text(this.latest, this.unseen ? `↓ ${whole(this.unseen)} new` : '↓ Latest');
  }

  toEnd() {
    this.unseen = 0;
    this.list.stick();
  }

  tick() {
    const now = Date.now();
    for (const row of this.list.rows.values()) if (row.entry?.status === 'running') row.tick(now);
    this.entries.thaw([...this.list.rows.keys()]);
  }

  step(by) {
    const focused = document.activeElement?.closest?.('.entry')?.dataset.n;
    const { heights } = this.list;
    let n = focused ? Number(focused) : this.cursor;
    if (!this.list.rows.has(n))
      n =
        by > 0
          ? this.list.anchor() - 1
          : Math.min(this.list.heights.length, this.list.heights.at(this.scroller.scrollTop + this.list.view) + 1);
    do n += by;
    while (n >= 0 && n < heights.length && heights.get(n) === 0);
    if (n >= 0 && n < heights.length) this.focus(n);
  }

  focus(n, toTop = false) {
    this.cursor = n;
    this.list.seek(n, { toTop });
    this.list.rows.get(n)?.node.focus({ preventScroll: true });
  }

  current() {
    const focused = document.activeElement?.closest?.('.entry')?.dataset.n;
    return this.list.rows.get(focused ? Number(focused) : this.cursor);
  }

  switchDiff() {
    const shape = this.scroller.dataset.diff === 'side' ? 'inline' : 'side';
    this.scroller.dataset.diff = shape;
    remember('diff', shape);
    return shape;
  }

  copy(entry, node) {
    const address = `${this.address}/entries/${entry.n}/text`;
    copy(getText(address).catch(() => node.innerText));
  }

  // The events of an entry as they are, with what the agent said.
  async raw(entry) {
    const place = el('div.raw', el('p.quiet', 'Loading…'));
    show(`${KINDS[entry.kind] ?? 'Entry'} ${entry.n}: native record`, place);
    try {
      const { events, next } = await get(`${this.address}/entries/${entry.n}/raw`);
      fill(place, events.map(rawEvent), next && el('p.quiet', 'There are more; the export as JSON lines has all.'));
    } catch (problem) {
      fill(place, el('p', problem.message));
    }
  }

  shortcuts() {
    return [
      { keys: 'j', does: 'next entry', act: () => this.step(1) },
      { keys: 'k', does: 'entry before', act: () => this.step(-1) },
      { keys: 'o', does: 'fold or unfold', act: () => this.current() && this.fold(this.current().entry.n) },
      { keys: 'v', does: 'diffs inline or side by side', act: () => this.switchDiff() },
      { keys: 'r', does: 'native record', act: () => (this.current() ? this.raw(this.current().entry) : false) },
      { keys: 'G, End', does: 'to the latest', act: () => this.toEnd() },
      { keys: 'g g, Home', does: 'to the beginning', act: () => this.focus(0, true) },
    ];
  }

  end() {
    clearInterval(this.ticker);
    this.list.end();
  }
}

function rawEvent(event) {
  const { native, ...rest } = event;
  const name = `${event.seq ?? ''} ${event.kind ?? ''}`;
  const code = (value) =>
    el('pre.code', { tabindex: '0' }, typeof value === 'string' ? value : JSON.stringify(value, null, 1));
  return el(
    'details',
    { open: true, test: 'raw-event' },
    el('summary', name),
    native !== undefined && [el('h3', 'As the agent said it'), code(native)],
    el('h3', 'Event'),
    code(rest),
  );
}
