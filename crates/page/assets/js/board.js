// The board: all sessions as cards in columns, live, with filters.

import { get, path } from './api.js';
import { CardView } from './card.js';
import { add, button, el, fill, select, text } from './dom.js';
import { here } from './keys.js';
import { ring, bell } from './bell.js';
import { announce, connection, waits } from './shell.js';
import { empty, load } from './states.js';
import { follow } from './stream.js';
import { COLUMNS, clip } from './words.js';

// So many cards of a column are shown at first.
const SHOWN = 60;

export function open(stage, _, query) {
  const board = new Board(stage, query);
  board.start();
  return () => board.end();
}

const order = (card) => Date.parse(card.endedAt ?? card.createdAt);

class Board {
  constructor(stage, query) {
    Object.assign(this, { stage, cards: new Map(), views: new Map(), pending: new Map(), most: {} });
    this.filter = {
      agent: query.get('agent') ?? '',
      project: query.get('project') ?? '',
      text: query.get('text') ?? '',
      archived: query.get('archived') === 'true' ? 'true' : '',
    };
    this.columns = el('div.columns', { test: 'board' });
    this.note = el('div');
    this.more = el('div.more');
    fill(stage, this.head(), this.note, this.columns, this.more);
    for (const name of Object.keys(COLUMNS)) this.columns.append(this.column(name));
    this.ticker = setInterval(() => this.tick(), 1000);
    here(this.shortcuts());
  }

  head() {
    this.lists = el('span.row');
    const search = el('input', {
      type: 'search',
      test: 'filter-text',
      'aria-label': 'Search prompts and titles',
      placeholder: 'Search  /',
      value: this.filter.text,
      'data-search': true,
    });
    let timer;
    search.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.refine('text', search.value.trim()), 200);
    });
    return el('header.page-head', el('h1', 'Board'), el('div.filters', search, this.lists, bell()));
  }

  column(name) {
    const count = el('span.count', { test: 'column-count' }, '0');
    const cards = el('div.cards');
    const rest = button('.plain.rest', 'rest', () => {
      this.most[name] = (this.most[name] ?? SHOWN) + 200;
      this.arrange();
    });
    const id = `column-${name}`;
    const section = el(
      'section.column',
      { test: 'column', data: { column: name }, 'aria-labelledby': id },
      el('h2', { id }, el('span.dot', { 'aria-hidden': 'true' }), COLUMNS[name], count),
      cards,
      rest,
    );
    return Object.assign(section, { cards, count, rest });
  }

  start() {
    this.columns.hidden = true;
    return load(
      this.note,
      () => get('/api/page/board', this.filter),
      (page) => this.show(page),
    );
  }

  // The stream goes on where the page ends, and after a lost connection where it ended.
  follow(after) {
    this.stream ??= follow({
      after,
      address: (at) => path('/api/page/board/stream', { after: at }),
      hear: (message) => this.hear(message),
      lost: (isLost) => connection(this, isLost),
    });
  }

  async refresh() {
    const page = await get('/api/page/board', this.filter).catch(() => undefined);
    if (page && !this.isOver) this.show(page);
  }

  show(page) {
    this.note.replaceChildren();
    this.columns.hidden = false;
    this.cards = new Map(page.cards.map((card) => [card.id, card]));
    this.next = page.next;
    this.showLists(page);
    this.arrange();
    if (!this.isOver) this.follow(page.at);
  }

  showLists({ agents = [], projects = [] }) {
    const key = JSON.stringify([agents, projects, this.filter]);
    if (key === this.listed) return;
    this.listed = key;
    const list = (name, label, all, values) => {
      const known = [...new Set([...values.map((value) => value.id ?? value), this.filter[name]])].filter(Boolean);
      return select(
        `filter-${name}`,
        label,
        [['', all], ...known.map((value) => [value, value])],
        this.filter[name],
        (value) => this.refine(name, value),
      );
    };
    fill(
      this.lists,
      list('agent', 'Agent', 'All agents', agents),
      list('project', 'Project', 'All projects', projects),
      select(
        'filter-archived',
        'Archived',
        [
          ['', 'Not archived'],
          ['true', 'Archived'],
        ],
        this.filter.archived,
        (value) => this.refine('archived', value),
      ),
    );
  }

  hear({ op, card, id }) {
    this.pending.set(card?.id ?? id, op === 'gone' ? null : card);
    if (this.pending.size > 1) return;
    if (document.hidden) setTimeout(() => this.flush(), 200);
    else requestAnimationFrame(() => this.flush());
  }

  flush() {
    const news = this.pending;
    this.pending = new Map();
    if (this.isOver) return;
    for (const [id, card] of news) {
      const before = this.cards.get(id);
      if (card && this.fits(card)) {
        this.cards.set(id, card);
        if (card.column === 'waiting' && before?.waitingFor !== card.waitingFor) this.call(card);
      } else this.cards.delete(id);
    }
    this.arrange();
  }

  call(card) {
    const words = clip(card.waitingFor || card.prompt, 160);
    announce(`${card.agentType} needs you: ${words}`, true);
    ring(card, words);
  }

  fits(card) {
    const { agent, project, text: words } = this.filter;
    const said = `${card.title ?? ''} ${card.prompt}`.toLowerCase();
    return (
      Boolean(card.archived) === Boolean(this.filter.archived) &&
      (!agent || card.agentType === agent) &&
      (!project || card.project === project || card.projectId === project) &&
      (!words || said.includes(words.toLowerCase()))
    );
  }

  // Puts every card into its column and order; cards that are already there are not touched.
  arrange() {
    const columns = Object.fromEntries(Object.keys(COLUMNS).map((name) => [name, []]));
    for (const card of this.cards.values()) (columns[card.column] ?? columns.running).push(card);
    for (const section of this.columns.children) this.arrangeColumn(section, columns[section.dataset.column]);
    for (const [id, view] of this.views) if (!this.cards.has(id)) this.drop(id, view);
    waits(columns.waiting.length);
    const isEmpty = this.cards.size === 0;
    this.columns.hidden = isEmpty;
    if (isEmpty) this.showEmpty();
    else this.note.replaceChildren();
    fill(this.more, this.next && button('', 'more', () => this.loadMore(), 'Show older sessions'));
  }

  arrangeColumn(section, cards) {
    const { column } = section.dataset;
    const most = this.most[column] ?? SHOWN;
    const shown = cards.sort((a, b) => order(b) - order(a) || (a.id < b.id ? 1 : -1)).slice(0, most);
    text(section.count, `${cards.length}${this.next && column !== 'waiting' && column !== 'running' ? '+' : ''}`);
    section.classList.toggle('is-empty', cards.length === 0);
    let place = section.cards.firstElementChild;
    for (const card of shown) {
      const { node } = this.view(card);
      if (node === place) place = place.nextElementSibling;
      else section.cards.insertBefore(node, place);
    }
    while (place) {
      const next = place.nextElementSibling;
      this.drop(place.dataset.id, this.views.get(place.dataset.id), section);
      place = next;
    }
    section.rest.hidden = cards.length <= most;
    text(section.rest, `${cards.length - most} more`);
  }

  view(card) {
    const known = this.views.get(card.id);
    if (!known) {
      const made = new CardView(card, (changed) => this.hear({ card: changed }));
      this.views.set(card.id, made);
      return made;
    }
    if (known.card !== card) known.update(card);
    return known;
  }

  // A card that has moved to another column is dropped only from the old one.
  drop(id, view, section) {
    if (!view || (section && view.node.parentElement !== section.cards)) return;
    if (section && this.cards.get(id)?.column !== section.dataset.column && this.cards.has(id))
      return void view.node.remove();
    view.node.remove();
    this.views.delete(id);
  }

  showEmpty() {
    if (Object.values(this.filter).some(Boolean))
      return void empty(this.note, 'No session fits these filters.');
    empty(
      this.note,
      'No agent is at work yet.',
      el('a.button.primary', { href: '/new' }, 'Start a session'),
      add(el('p.quiet'), 'Or in a terminal: ', el('code', 'switchboard run AGENT "PROMPT"')),
    );
  }

  async loadMore() {
    const page = await get('/api/page/board', { ...this.filter, before: this.next });
    for (const card of page.cards) if (!this.cards.has(card.id)) this.cards.set(card.id, card);
    this.next = page.next;
    for (const name of Object.keys(COLUMNS)) this.most[name] = (this.most[name] ?? SHOWN) + page.cards.length;
    this.arrange();
  }

  refine(name, value) {
    this.filter[name] = value;
    history.replaceState(null, '', path('/', this.filter));
    this.refresh();
  }

  tick() {
    const now = Date.now();
    for (const view of this.views.values()) view.tick(now);
  }

  shortcuts() {
    return [
      { keys: 'j', does: 'next card', act: () => this.step(1) },
      { keys: 'k', does: 'card before', act: () => this.step(-1) },
      ...['a', 's', 'd'].map((key) => ({
        keys: key,
        does: { a: 'allow once', s: 'allow for the session', d: 'decline, with a reason' }[key],
        act: () => this.press(key),
      })),
    ];
  }

  step(by) {
    const links = [...this.columns.querySelectorAll('.card-title')];
    const now = links.indexOf(document.activeElement?.closest('.card')?.querySelector('.card-title'));
    links[Math.max(0, Math.min(links.length - 1, now + by))]?.focus();
  }

  press(key) {
    const form =
      document.activeElement?.closest('.card')?.querySelector('.ask') ??
      (this.columns.querySelectorAll('.ask').length === 1 && this.columns.querySelector('.ask'));
    return form ? form.press(key) : false;
  }

  end() {
    this.isOver = true;
    clearInterval(this.ticker);
    this.stream?.close();
  }
}
