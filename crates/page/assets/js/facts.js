// The head of a session's page: what it is, how it stands, what it has cost, and what can be done with all of it.

import { getText, part, path, post, remove } from './api.js';
import { archive } from './archive.js';
import { button, el, fill, mark, spoken, text } from './dom.js';
import { show } from './keys.js';
import { go } from './router.js';
import { attempt, copy } from './shell.js';
import { clip, elapsed, folder, moment, money, short, standing, ticking, whole } from './words.js';

export class Facts {
  constructor(id, transcript) {
    Object.assign(this, { id, transcript, address: `/api/sessions/${part(id)}` });
    this.title = el('h1', { test: 'session-title' });
    this.state = el('span.pill', { test: 'session-state' });
    this.time = el('span', { test: 'elapsed', title: 'Elapsed' });
    this.line = el('p.facts');
    this.tokens = el('span', { test: 'tokens' });
    this.cost = el('span', { test: 'cost' });
    this.context = el('span.context', { test: 'context', hidden: true });
    this.node = el(
      'header.session-head',
      el(
        'div.row',
        el('a.plain.back', { href: '/', 'aria-label': 'To the board' }, mark('back')),
        this.title,
        this.state,
        this.menu(),
      ),
      el('div.facts', this.line, this.time, this.tokens, this.cost, this.context),
    );
    this.ticker = setInterval(() => this.tick(), 1000);
  }

  update(card) {
    this.card = card;
    const name = card.title || card.prompt || 'Session';
    text(this.title, clip(name, 240));
    this.title.title = clip(card.prompt, 1000);
    text(this.state, standing(card));
    this.state.dataset.column = card.column ?? '';
    this.state.title = card.error?.message ?? '';
    const parts = [card.agentType, card.model, card.project || folder(card.workingDirectory)].filter(Boolean);
    if (this.parts !== parts.join()) {
      this.parts = parts.join();
      fill(
        this.line,
        parts.map((words) => el('span', clip(words, 80))),
      );
      this.line.title = `${card.workingDirectory}\nbegun ${moment(card.createdAt)}`;
    }
    const { tokens } = card;
    text(this.tokens, tokens?.total ? `${short(tokens.total)} tokens` : '');
    this.tokens.title = tokens
      ? `in ${whole(tokens.input)} · out ${whole(tokens.output)} · cache read ${whole(tokens.cacheRead)} · cache written ${whole(tokens.cacheWrite)}`
      : '';
    text(this.cost, money(card.costUsd || null));
    text(this.archived, card.archived ? 'Put back on the board' : 'Archive');
    this.showContext(card.context);
    this.tick();
  }

  showContext(context) {
    const share = context?.size ? Math.min(1, context.used / context.size) : undefined;
    this.context.hidden = share === undefined;
    if (share === undefined) return;
    this.meter ??= this.context.appendChild(
      el('meter', { min: 0, max: 1, high: 0.8, optimum: 0, 'aria-label': 'Context used' }),
    );
    this.meter.value = share;
    this.percent ??= this.context.appendChild(el('span'));
    text(this.percent, `${Math.round(share * 100)}% context`);
    this.context.title = `${whole(context.used)} of ${whole(context.size)} tokens`;
  }

  tick() {
    if (this.card) text(this.time, ticking(elapsed(this.card)));
  }

  menu() {
    const item = (test, words, act) => button('', test, act, words);
    const exported = (format) => path(`/api/page/sessions/${part(this.id)}/export`, { format });
    const file = (format, words) => el('a', { test: `export-${format}`, href: exported(format), download: '' }, words);
    const list = el(
      'div.menu-list',
      { role: 'menu', test: 'menu-list' },
      item('fork', 'Fork…', () => this.fork()),
      item('diff-switch', 'Diffs: inline or side by side', () => this.transcript()?.switchDiff()),
      item('copy-all', 'Copy as Markdown', () => copy(getText(exported('markdown')))),
      item('copy-link', 'Copy its id', () => copy(this.id)),
      file('markdown', 'Export as Markdown'),
      file('html', 'Export as HTML'),
      file('jsonl', 'Export as JSON lines'),
      (this.archived = item('archive', 'Archive', () => this.archive())),
      item('delete', 'Delete…', () => this.delete()),
    );
    const menu = el(
      'details.menu',
      { test: 'menu' },
      el('summary.plain', { 'aria-label': 'More' }, mark('dots'), spoken('More')),
      list,
    );
    for (const one of list.children) one.setAttribute('role', 'menuitem');
    list.addEventListener('click', () => (menu.open = false));
    menu.addEventListener('keydown', (event) => moveInMenu(event, menu));
    this.away = (event) => !menu.contains(event.target) && (menu.open = false);
    document.addEventListener('click', this.away);
    return menu;
  }

  fork() {
    const words = el('textarea', {
      rows: 4,
      test: 'fork-prompt',
      'aria-label': 'Prompt for the copy',
      placeholder: 'What should the copy do?',
    });
    const start = async () => {
      const made = await attempt(() => post('/api/sessions', { sessionId: this.id, fork: true, prompt: words.value }));
      if (made) {
        dialog.close();
        go(`/s/${part(made.id)}`);
      }
    };
    const dialog = show(
      'Fork',
      el('p.quiet', 'A copy goes on from here, under an id of its own. This session stays as it is.'),
      words,
      el('div.row', button('.primary', 'fork-start', start, 'Start the copy')),
    );
    words.addEventListener('keydown', (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && start());
    words.focus();
  }

  async archive() {
    const { archived } = this.card;
    if (!(await archive(this.card))) return;
    if (archived) this.update({ ...this.card, archived: false });
    else go('/');
  }

  delete() {
    const sure = async () => {
      dialog.close();
      if (await attempt(() => remove(this.address), 'Deleted')) go('/');
    };
    const dialog = show(
      'Delete this session?',
      el('p', 'Its log is deleted for good. If it runs, it is ended first.'),
      el(
        'div.row',
        button('.danger', 'delete-sure', sure, 'Delete'),
        button('', 'keep', () => dialog.close(), 'Keep it'),
      ),
    );
  }

  end() {
    clearInterval(this.ticker);
    document.removeEventListener('click', this.away);
  }
}

function moveInMenu(event, menu) {
  const items = [...menu.querySelectorAll('[role=menuitem]')];
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === 'Escape') {
    menu.open = false;
    menu.querySelector('summary').focus();
  } else if (by) {
    menu.open = true;
    event.preventDefault();
    items[(items.indexOf(document.activeElement) + by + items.length) % items.length].focus();
  }
}
