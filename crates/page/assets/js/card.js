// One session on the board. It changes in place; what it asks can be answered here.

import { part } from './api.js';
import { archive } from './archive.js';
import { askBox, openAsks } from './ask.js';
import { button, el, fill, mark, spoken, text } from './dom.js';
import { ago, clip, elapsed, folder, moment, money, short, standing, ticking } from './words.js';

export class CardView {
  // `changed` is told what the card is when somebody has archived it here.
  constructor(card, changed) {
    this.agent = el('span.agent');
    this.project = el('span.project');
    this.time = el('time');
    this.title = el('a.card-title', { test: 'card-title', href: `/s/${part(card.id)}` });
    this.doing = el('p.doing', { test: 'card-doing' });
    this.asks = el('div.card-asks', { test: 'card-waiting' });
    this.cost = el('span', { test: 'card-cost' });
    this.state = el('span.sr');
    this.awayName = spoken('');
    this.away = button('.plain.away', 'card-archive', () => this.archive(changed), mark('archive'), this.awayName);
    this.node = el(
      'article.card',
      { test: 'card', data: { id: card.id } },
      el('header', el('span.dot', { 'aria-hidden': 'true' }), this.state, this.agent, this.project, this.time),
      el('h3', this.title),
      this.doing,
      this.asks,
      el('footer', this.cost, this.away),
    );
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
    const facts = [
      card.model,
      card.tokens?.total ? `${short(card.tokens.total)} tokens` : '',
      money(card.costUsd || null),
      card.archived ? 'archived' : '',
    ];
    text(this.cost, facts.filter(Boolean).join(' · '));
    this.away.hidden = card.state === 'running';
    text(this.awayName, card.archived ? 'Put back on the board' : 'Archive');
    this.away.title = this.awayName.textContent;
    this.tick();
    this.showAsks();
  }

  activity() {
    const { card } = this;
    if (card.column === 'failed') return card.error?.message ?? (card.state === 'cancelled' ? 'Cancelled' : 'Failed');
    if (card.column === 'waiting') return '';
    return card.state === 'running'
      ? card.activityText || (card.activity === 'idle' ? 'Waits for a prompt' : 'Working')
      : '';
  }

  tick(now = Date.now()) {
    const { card } = this;
    const isOver = card.state !== 'running';
    text(this.time, isOver ? ago(card.endedAt ?? card.updatedAt) : ticking(elapsed(card, now)));
    const took = isOver ? `, took ${ticking(elapsed(card))}` : '';
    this.time.title = `begun ${moment(card.createdAt)}${took}`;
  }

  // What is asked is looked up once for each thing that is asked.
  async showAsks() {
    const { card } = this;
    const key = card.column === 'waiting' ? `${card.waitingFor}|${card.approvals}` : '';
    if (key === this.asked) return;
    this.asked = key;
    if (!key) return void fill(this.asks);
    fill(this.asks, el('p.asked', clip(card.waitingFor || 'It asks something', 300)));
    const open = await openAsks(card.id);
    if (this.asked !== key || !open.length) return;
    fill(this.asks, askBox(card.id, open[0]), open.length > 1 && el('p.quiet', `and ${open.length - 1} more`));
  }
  async archive(changed) {
    const { archived } = this.card;
    if (await archive(this.card)) changed({ ...this.card, archived: !archived });
  }
}
