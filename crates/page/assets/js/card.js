// One session on the board. It changes in place; what it asks can be answered here.

import { get, part, post } from './api.js';
import { askForm } from './ask.js';
import { el, fill, mark, spoken, text } from './dom.js';
import { attempt } from './shell.js';
import { ago, clip, elapsed, folder, moment, money, short, standing, ticking } from './words.js';

export class CardView {
  constructor(card) {
    this.agent = el('span.agent');
    this.project = el('span.project');
    this.time = el('time');
    this.title = el('a.card-title', { test: 'card-title', href: `/s/${part(card.id)}` });
    this.doing = el('p.doing', { test: 'card-doing' });
    this.asks = el('div.card-asks', { test: 'card-waiting' });
    this.cost = el('span', { test: 'card-cost' });
    this.state = el('span.sr');
    this.away = el('button.plain.away', { type: 'button', test: 'card-archive', title: 'Archive', onclick: () => this.archive() }, mark('archive'), spoken('Archive'));
    this.node = el('article.card', { test: 'card', data: { id: card.id } },
      el('header', null, el('span.dot', { 'aria-hidden': 'true' }), this.state, this.agent, this.project, this.time),
      el('h3', null, this.title), this.doing, this.asks, el('footer', null, this.cost, this.away));
    this.update(card);
  }

  update(card) {
    this.card = card;
    this.node.dataset.column = card.column;
    this.node.dataset.state = card.state;
    text(this.agent, card.agentType);
    text(this.project, clip(card.project || folder(card.workingDirectory), 60));
    this.project.title = card.workingDirectory ?? '';
    text(this.title, clip(card.title || card.prompt || 'Without a prompt', 240));
    text(this.state, standing(card));
    text(this.doing, clip(this.activity(), 200));
    this.doing.hidden = !this.doing.textContent;
    const facts = [card.model, card.tokens?.total ? `${short(card.tokens.total)} tokens` : '', money(card.costUsd || null), card.archived ? 'archived' : ''];
    text(this.cost, facts.filter(Boolean).join(' · '));
    this.away.hidden = card.state === 'running' || card.archived;
    this.tick();
    this.showAsks();
  }

  activity() {
    const { card } = this;
    if (card.column === 'failed') return card.error?.message ?? (card.state === 'cancelled' ? 'Cancelled' : 'Failed');
    if (card.column === 'waiting') return '';
    return card.state === 'running' ? card.activityText || (card.activity === 'idle' ? 'Waits for a prompt' : 'Working') : '';
  }

  tick(now = Date.now()) {
    const { card } = this;
    const isOver = card.state !== 'running';
    text(this.time, isOver ? ago(card.endedAt ?? card.updatedAt) : ticking(elapsed(card, now)));
    const took = isOver ? `, took ${ticking(elapsed(card))}` : '';
    this.time.title = `begun ${moment(card.createdAt)}${took}`;
  }

  /// What is asked is looked up once for each thing that is asked.
  async showAsks() {
    const { card } = this;
    const key = card.column === 'waiting' ? `${card.waitingFor}|${card.approvals}` : '';
    if (key === this.asked) return;
    this.asked = key;
    if (!key) return void fill(this.asks);
    fill(this.asks, el('p.asked', null, clip(card.waitingFor || 'It asks something', 300)));
    const { approvals } = await get(`/api/sessions/${part(card.id)}/approvals`).catch(() => ({ approvals: [] }));
    if (this.asked !== key || !approvals.length) return;
    const [first] = approvals;
    const what = first.command || first.changes?.map((change) => change.path).join('\n');
    fill(this.asks, el('p.asked', null, clip(first.title || card.waitingFor, 300)), what && what !== first.title && el('pre.asked-what', null, what.slice(0, 1000)),
      askForm(card.id, first), approvals.length > 1 && el('p.quiet', null, `and ${approvals.length - 1} more`));
  }

  async archive() {
    const { id } = this.card;
    await attempt(() => post(`/api/sessions/${part(id)}/archive`, { archived: true }), 'Archived');
  }
}
