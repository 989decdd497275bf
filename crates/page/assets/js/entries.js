// The entries of a session that are in memory: loaded in pages where the reader looks, bounded, kept up to date by what
// the stream says. No page and no drawing here.

import { get } from './api.js';

const PAGE = 60;

// So many entries, and so many characters of them, are kept.
const MOST = 900;
const MOST_TEXT = 6_000_000;

// So much of a text that grows is kept; the whole text comes when it is finished.
const TAIL = 256_000;

export class Entries {
  // `address` is where the session's pages are; `arrived(ns)` is told what was loaded, `failed(problem)` what was not.
  constructor(address, { arrived, failed }) {
    Object.assign(this, { address, arrived, failed, kept: new Map(), total: 0, chars: 0, asked: new Set() });
  }

  get(n) {
    return this.kept.get(n);
  }

  // `isFirst`: the stream goes on where this page ends.
  take(page, isFirst = false) {
    this.total = Math.max(this.total, page.total);
    for (const entry of page.entries) {
      const kept = this.kept.get(entry.n);
      // What the stream has said is newer than a page that was on its way.
      if (kept && !kept.isFrozen && kept.last >= entry.last) continue;
      // What grows while a page of it is made is not in step with the stream: it is read again now and then.
      entry.isFrozen = !isFirst && Boolean(entry.live);
      this.put(entry);
    }
  }

  put(entry) {
    const old = this.kept.get(entry.n);
    this.chars += weight(entry) - (old ? weight(old) : 0);
    this.kept.set(entry.n, entry);
    this.total = Math.max(this.total, entry.n + 1);
  }

  // Whether a page with this entry is on its way.
  isAsked(n) {
    return this.asked.has(Math.floor(n / PAGE));
  }

  // Reads again what grows out of step.
  thaw(ns) {
    const frozen = ns.find((n) => this.kept.get(n)?.isFrozen);
    if (frozen !== undefined && !this.isAsked(frozen)) this.load(Math.floor(frozen / PAGE));
  }

  want(ns) {
    this.wanted = ns.filter((n) => !this.kept.has(n));
    this.next();
  }

  next() {
    if (this.asked.size >= 2) return;
    const missing = this.wanted?.find((n) => !this.kept.has(n) && !this.asked.has(Math.floor(n / PAGE)));
    if (missing === undefined) return;
    this.load(Math.floor(missing / PAGE));
    this.next();
  }

  async load(number) {
    this.asked.add(number);
    try {
      const page = await get(this.address, { from: number * PAGE, count: PAGE });
      this.take(page);
      this.arrived(page.entries.map((entry) => entry.n));
    } catch (problem) {
      this.failed(problem);
      // Not again at once: the reader may scroll, or the connection come back.
      await new Promise((resolve) => setTimeout(resolve, 1500));
    }
    this.asked.delete(number);
    this.next();
  }

  // Text that was said: true if the entry is here and has it now.
  text(n, words) {
    const entry = this.growing(n);
    if (entry) this.grow(entry, '', (entry.tail ?? '') + words);
    return Boolean(entry);
  }

  // Blocks that are finished, and what the tail is now.
  blocks(n, html, tail) {
    const entry = this.growing(n);
    if (entry) this.grow(entry, html, tail);
    return Boolean(entry);
  }

  growing(n) {
    const entry = this.kept.get(n);
    return entry?.isFrozen ? undefined : entry;
  }

  grow(entry, html, tail) {
    const kept = tail.length > TAIL ? tail.slice(-TAIL / 2) : tail;
    this.chars += html.length + kept.length - (entry.tail?.length ?? 0);
    entry.html = (entry.html ?? '') + html;
    entry.tail = kept;
  }

  forget(n) {
    const entry = this.kept.get(n);
    if (!entry) return;
    this.chars -= weight(entry);
    this.kept.delete(n);
  }

  // Drops what is far from these, if there is too much.
  trim(near) {
    if (this.kept.size <= MOST && this.chars <= MOST_TEXT) return;
    const [first, last] = [near[0] ?? 0, near[near.length - 1] ?? 0];
    const far = [...this.kept.keys()].filter((n) => n < first || n > last);
    far.sort((a, b) => distance(b, first, last) - distance(a, first, last));
    for (const n of far) {
      if (this.kept.size <= MOST * 0.7 && this.chars <= MOST_TEXT * 0.7) break;
      const { live, isFrozen, request } = this.kept.get(n);
      if (!request?.open && (!live || isFrozen)) this.forget(n);
    }
  }

  clear() {
    this.kept.clear();
    this.chars = 0;
    this.total = 0;
  }
}

const weight = (entry) => (entry.html?.length ?? 0) + (entry.tail?.length ?? 0) + 500;

const distance = (n, first, last) => (n < first ? first - n : n - last);
