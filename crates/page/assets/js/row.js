// One entry as it is shown. It changes in place: what is already there is not drawn again.

import { add, button, el, fill, mark, safe, spoken, text } from './dom.js';
import { Tail } from './tail.js';
import { askForm } from './ask.js';
import { KINDS, clip, moment, span } from './words.js';

// Kinds whose body is the whole entry.
const BARE = new Set(['answer', 'user']);

export class Row {
  // `page` gives `session` (its id, if it can be answered), `address`, `folds`, `fold(n)`, `raw(entry)`, `copy(entry)`.
  constructor(entry, page) {
    Object.assign(this, { page, drawn: '' });
    this.gutter = el('span.gutter');
    this.title = el('div.title', { test: 'entry-title' });
    this.label = el('span.label', { test: 'entry-label' });
    this.time = el('span.time');
    this.state = el('span.sr');
    this.head = el('header.line');
    this.main = el('div.main', this.head);
    this.node = el(
      'article.entry',
      { test: 'entry', tabindex: '-1', data: { n: entry.n, kind: entry.kind } },
      this.gutter,
      this.main,
    );
    this.build(entry);
    this.update(entry);
  }

  build(entry) {
    this.fold = button('.fold', 'fold', () => this.page.fold(entry.n), mark('chevron'), spoken('Fold'));
    const tools = el(
      'span.tools',
      tool('copy', 'Copy', () => this.page.copy(this.entry, this.node)),
      tool('raw', 'Native record', () => this.page.raw(this.entry)),
    );
    add(this.gutter, mark(entry.kind));
    add(this.head, this.fold, this.state, this.title, this.label, this.time, tools);
    this.title.addEventListener('click', (event) => this.clicked(event));
  }

  // A click on the title folds too, unless it is on a link or marks text.
  clicked(event) {
    if (event.target.closest('a') || !getSelection().isCollapsed || this.fold.hidden) return;
    this.page.fold(this.entry.n);
  }

  update(entry) {
    const before = this.entry;
    this.entry = entry;
    const { dataset } = this.node;
    dataset.status = entry.status;
    dataset.depth = Math.min(entry.depth ?? 0, 6);
    this.node.classList.toggle('bare', BARE.has(entry.kind));
    if (before?.title !== entry.title) safe(fill(this.title), entry.title || KINDS[entry.kind]);
    text(this.label, clip(entry.label, 200));
    text(this.state, `${KINDS[entry.kind] ?? entry.kind}, ${entry.status}:`);
    this.gutter.title = moment(entry.at);
    this.tick();
    this.showBody();
  }

  tick(now = Date.now()) {
    const { ms, at, status, kind } = this.entry;
    const runs = status === 'running' && kind !== 'turn' && this.page.session;
    const took = runs ? Math.floor((now - Date.parse(at)) / 1000) * 1000 : ms;
    text(this.time, (runs ? took >= 2000 : took >= 100) ? span(took) : '');
  }

  get isFolded() {
    return this.page.folds.get(this.entry.n) ?? Boolean(this.entry.fold);
  }

  showBody() {
    const { entry } = this;
    const has = Boolean(entry.html || entry.tail || entry.live || entry.more) || entry.kind === 'subagent';
    this.fold.hidden = !has || (BARE.has(entry.kind) && !entry.fold) || entry.kind === 'turn';
    const isOpen = has && !this.isFolded;
    this.fold.setAttribute('aria-expanded', String(isOpen));
    this.node.classList.toggle('folded', has && !isOpen);
    if (isOpen) this.drawBody();
    else this.dropBody();
    this.showAsk();
  }

  drawBody() {
    const { entry } = this;
    const html = entry.html ?? '';
    if (!this.body) {
      this.body = el('div.body', { test: 'entry-body' });
      this.head.after(this.body);
    }
    if (!html.startsWith(this.drawn)) {
      this.dropText();
      this.body.querySelectorAll(':scope > :not(.all)').forEach((node) => node.remove());
      this.drawn = '';
    }
    this.addHtml(html.slice(this.drawn.length));
    if (entry.live || entry.tail) this.grow(entry.tail ?? '');
    else this.dropText();
    this.showAll();
  }

  // Adds what is finished behind what is there, before the text that grows.
  addHtml(html) {
    if (!html) return;
    this.drawn += html;
    if (this.tail) safe(this.tail.node, html, 'beforebegin');
    else safe(this.body, html);
    if (/<(pre|input)/.test(html)) ease(this.body);
  }

  grow(words) {
    if (!this.tail) {
      this.tail = new Tail(this.entry.live);
      this.body.append(this.tail.node);
    }
    this.tail.set(words);
  }

  dropText() {
    this.tail?.node.remove();
    this.tail = undefined;
  }

  dropBody() {
    this.dropText();
    this.body?.remove();
    this.body = undefined;
    this.drawn = '';
  }

  showAll() {
    this.all?.remove();
    if (!this.entry.more) return;
    const address = `${this.page.address}/entries/${this.entry.n}/text`;
    this.all = el('a.all', { href: address, download: `entry-${this.entry.n}.txt`, test: 'all' }, 'Download all of it');
    this.body.append(this.all);
  }

  text(words) {
    if (!this.body) return;
    if (!this.tail) this.grow('');
    this.tail.append(words);
    this.follow();
  }

  // Blocks are finished: they are added once, and the tail is now this.
  blocks(html, words) {
    if (!this.body) return;
    this.addHtml(html);
    this.grow(words);
    this.follow();
  }

  // A box that scrolls by itself stays at its end, unless the reader has scrolled it.
  follow() {
    const box = this.tail?.node;
    if (this.entry.live !== 'output' || box.dataset.held) return;
    box.onwheel ??= () => (box.dataset.held = box.scrollTop + box.clientHeight < box.scrollHeight - 40 ? 'yes' : '');
    box.scrollTop = 1e9;
  }

  showAsk() {
    const { request } = this.entry;
    const isOpen = Boolean(request?.open && this.page.session);
    this.node.classList.toggle('asks', isOpen);
    if (isOpen && !this.ask) {
      this.ask = askForm(this.page.session, request);
      // A question that is the title is not said twice.
      this.ask.classList.toggle('titled', request.questions?.[0]?.question.trim() === this.title.textContent.trim());
      this.main.append(this.ask);
    } else if (!isOpen && this.ask) {
      this.ask.remove();
      this.ask = undefined;
    }
  }
}

// What screen readers and keyboards need beside the HTML: ticks have names, long boxes can be scrolled.
function ease(body) {
  for (const tick of body.querySelectorAll('input:not([aria-label])'))
    tick.setAttribute('aria-label', tick.checked ? 'done' : 'to do');
  for (const box of body.querySelectorAll('pre:not([tabindex])')) if (box.textContent.length > 600) box.tabIndex = 0;
}

function tool(name, words, act) {
  return Object.assign(button('.plain', name, act, mark(name), spoken(words)), { title: words });
}

export function standIn(n, height) {
  const node = el('div.entry.stand-in', { data: { n }, 'aria-hidden': 'true' });
  node.style.height = `${height}px`;
  return { node, isStandIn: true };
}
