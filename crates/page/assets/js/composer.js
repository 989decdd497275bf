// The box below a session: follow-ups (at once, or when the turn is over), interrupt, cancel, models, modes, options.

import { agents, part, post } from './api.js';
import { askBox } from './ask.js';
import { completed } from './combobox.js';
import { button, el, fill, select, spoken, text } from './dom.js';
import { attempt, toast } from './shell.js';
import { clip } from './words.js';

export class Composer {
  constructor(id) {
    Object.assign(this, { id, address: `/api/sessions/${part(id)}`, held: [] });
    this.box = el('textarea', {
      id: 'follow-up',
      test: 'follow-up',
      rows: 1,
      'aria-label': 'Follow-up',
      maxlength: 100000,
      oninput: () => this.typed(),
    });
    const field = completed(this.box, (words) => this.complete(words));
    // What chooses a command from the list does not send it.
    this.box.addEventListener('keydown', (event) => this.key(event));
    this.send = el('button.primary', { test: 'send' }, 'Send');
    this.hold = button('', 'hold', () => this.keep(), 'After this turn');
    this.stop = button('', 'interrupt', () => this.interrupt(), 'Interrupt');
    this.quit = button('.danger', 'cancel', () => this.cancel(), 'End session');
    this.selectors = el('div.selectors');
    this.waiting = el('div.held', { test: 'held' });
    this.forms = el('div.forms');
    this.asks = button('.asks-away', 'asks');
    for (const one of [this.hold, this.stop, this.quit, this.asks]) one.hidden = true;
    this.node = el(
      'div.composer',
      { test: 'composer' },
      this.forms,
      this.asks,
      this.waiting,
      el(
        'form',
        { onsubmit: (event) => this.submit(event) },
        field,
        el('div.row', this.selectors, el('span.grow'), this.quit, this.stop, this.hold, this.send),
      ),
    );
  }

  update(card, choices) {
    const ended = this.card?.activity === 'running' && card.activity !== 'running';
    this.card = card;
    const runs = card.state === 'running';
    const isBusy = runs && card.activity !== 'idle';
    this.stop.hidden = !isBusy;
    this.quit.hidden = !runs;
    this.box.placeholder = isBusy
      ? 'Follow up while it works…'
      : runs
        ? 'Next prompt…'
        : 'Follow up: the agent resumes…';
    this.showSend(isBusy);
    if (choices) this.showChoices(card, choices);
    if (ended || !isBusy) this.release();
  }

  // Whether a prompt joins the turn or waits is up to the agent; the button says which.
  async showSend(isBusy) {
    const known = await agents().catch(() => new Map());
    const way = known.get(this.card.agentType)?.abilities?.whileRunning;
    this.steers = isBusy && way === 'steer';
    this.hold.hidden = !this.steers;
    this.queues = isBusy && !this.steers;
    text(this.send, !isBusy ? (this.card.state === 'running' ? 'Send' : 'Resume') : this.steers ? 'Steer' : 'Queue');
  }

  showChoices(card, { models = [], modes = [], options = [], commands = [], model, mode }) {
    this.names = commands.map((command) => command.name ?? command);
    this.box.title = this.names.length ? `Commands: ${clip(this.names.map((name) => `/${name}`).join(' '), 300)}` : '';
    const key = JSON.stringify([models, modes, options, model, mode, card.model, card.state]);
    if (key === this.shown) return;
    this.shown = key;
    const isOpen = card.state === 'running';
    const set = (what, body) => attempt(() => post(`${this.address}/${what}`, body));
    const byModel =
      models.length > 1 &&
      chooser('session-model', 'Model', models, model ?? card.model, (value) => set('model', { model: value }));
    const byMode =
      modes.length > 1 && chooser('session-mode', 'Mode', modes, mode, (value) => set('mode', { mode: value }));
    const own = options.map((option) => {
      const made = chooser('session-option', option.name, option.values ?? [], option.value, (value) =>
        set('option', { id: option.id, value }),
      );
      made.dataset.id = option.id;
      return made;
    });
    fill(this.selectors, isOpen && [byModel, byMode, own]);
  }

  // The commands that the agent has, for who begins to name one.
  complete(words) {
    if (!/^\/\S*$/.test(words) || this.card?.state !== 'running') return [];
    return (this.names ?? []).map((name) => `/${name} `).filter((name) => name.startsWith(words) && name.trim() !== words);
  }

  showAsks(count, act) {
    this.asks.hidden = count === 0;
    text(this.asks, `${count === 1 ? 'A request waits' : `${count} requests wait`} for your answer. Show`);
    this.asks.onclick = act;
  }

  showForms(open) {
    fill(
      this.forms,
      open.map((request) => askBox(this.id, request)),
    );
  }

  typed() {
    this.box.style.height = 'auto';
    this.box.style.height = `${Math.min(this.box.scrollHeight + 2, innerHeight * 0.4)}px`;
  }

  key(event) {
    if (event.key !== 'Enter' || event.isComposing) return;
    const isPhone = matchMedia('(pointer: coarse)').matches;
    if (event.ctrlKey || event.metaKey || (!event.shiftKey && !isPhone)) this.submit(event);
  }

  async submit(event) {
    event.preventDefault();
    const words = this.box.value.trim();
    if (!words || this.isSending) return;
    this.isSending = true;
    const said = this.queues ? 'Queued: it is sent when this turn is over' : undefined;
    if (await attempt(() => this.deliver(words), said)) this.empty();
    this.isSending = false;
  }

  // A line that names a command of the agent is one.
  deliver(words) {
    const [, name, rest] = /^\/(\S+)\s*([\s\S]*)$/.exec(words) ?? [];
    if (name && this.names?.includes(name) && this.card.state === 'running')
      return post(`${this.address}/command`, { name, arguments: rest || undefined });
    return post(`${this.address}/prompt`, { prompt: words });
  }

  // Keeps a prompt in this page until the turn is over.
  keep() {
    const words = this.box.value.trim();
    if (!words) return;
    this.held.push(words);
    this.empty();
    this.showHeld();
  }

  showHeld() {
    const drop = (words) => {
      this.held = this.held.filter((one) => one !== words);
      this.showHeld();
    };
    fill(
      this.waiting,
      this.held.map((words) =>
        el(
          'span.chip',
          `After this turn: ${clip(words, 80)}`,
          button('.plain', 'unhold', () => drop(words), '✕', spoken('Do not send')),
        ),
      ),
    );
  }

  async release() {
    const words = this.held.shift();
    if (!words) return;
    this.showHeld();
    if (await attempt(() => this.deliver(words))) return;
    // What was not taken is not lost.
    this.box.value = [words, this.box.value].filter(Boolean).join('\n\n');
    this.typed();
  }

  empty() {
    this.box.value = '';
    this.box.dispatchEvent(new Event('input'));
  }

  interrupt() {
    if (this.stop.hidden) return false;
    return attempt(() => post(`${this.address}/interrupt`), 'Interrupting…');
  }

  cancel() {
    return attempt(() => post(`${this.address}/cancel`), 'Ending…');
  }

  focus() {
    this.box.focus();
  }

  end() {
    if (this.held.length) toast('Prompts that waited for the turn to end were not sent', { bad: true });
  }
}

// A list of what the agent offers; what is set now need not be in it.
function chooser(test, name, offered, chosen, act) {
  const values = offered.map((value) => [value.id, value.name || value.id]);
  if (!offered.some((value) => value.id === chosen)) values.unshift(['', chosen || name]);
  return select(test, name, values, chosen ?? '', (value) => value && act(value));
}
