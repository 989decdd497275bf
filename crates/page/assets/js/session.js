// The page of a session: what happens, what it asks, and ways to steer it. Live.

import { get, part, path } from './api.js';
import { openAsks } from './ask.js';
import { Composer } from './composer.js';
import { el, fill } from './dom.js';
import { Facts } from './facts.js';
import { here } from './keys.js';
import { go } from './router.js';
import { announce, connection, title, toast, waits } from './shell.js';
import { load } from './states.js';
import { follow } from './stream.js';
import { Transcript } from './transcript.js';
import { clip } from './words.js';

// A tab that nobody has looked at for so long lets go of its connection: browsers have six for a server.
const UNSEEN = 5_000;

export function open(stage, id) {
  const page = new SessionPage(stage, id);
  page.load();
  return () => page.end();
}

class SessionPage {
  constructor(stage, id) {
    Object.assign(this, { stage, id, address: `/api/page/sessions/${part(id)}`, pending: [] });
    this.hides = () => this.hidden();
    document.addEventListener('visibilitychange', this.hides);
  }

  load() {
    return load(
      this.stage,
      () => get(this.address),
      (page) => this.show(page),
    );
  }

  // Too much was missed: the entries are read again, and the reader stays where he is.
  async again() {
    this.stream.close();
    const page = await get(this.address).catch(() => undefined);
    if (page) this.show(page);
    else if (!this.isOver) setTimeout(() => this.again(), 2000);
  }

  build() {
    this.body = el('div.transcript');
    this.facts = new Facts(this.id, () => this.transcript);
    this.composer = new Composer(this.id);
    fill(
      this.stage,
      el('div.session', { test: 'session', data: { id: this.id } }, this.facts.node, this.body, this.composer.node),
    );
  }

  show(page) {
    if (this.isOver) return;
    if (!this.body) this.build();
    const list = this.transcript?.list;
    const place = list && !list.isStuck ? list.anchor() : undefined;
    this.transcript?.end();
    this.pending = [];
    this.transcript = new Transcript(this.body, this.address, this.id);
    this.transcript.seen = () => this.showAway();
    this.take(page.session, page.choices);
    this.transcript.open(page);
    if (place !== undefined) this.transcript.list.seek(place);
    this.announced ??= new Set();
    this.tellAsks();
    here(this.shortcuts());
    this.follow(page.seq);
  }

  follow(after) {
    this.stream = follow({
      after,
      address: (seq) => path(`${this.address}/stream`, { after: seq }),
      hear: (message) => this.hear(message),
      lost: (isLost) => {
        connection(this, isLost);
        if (isLost) this.check();
      },
    });
    // It may have been opened behind another tab.
    if (document.hidden) this.hidden();
  }

  // A stream that cannot be opened may be one of a session that somebody deleted.
  async check() {
    const problem = await get(`/api/sessions/${part(this.id)}`).then(() => null, (found) => found);
    if (problem?.status !== 404 || this.isOver) return;
    toast('This session was deleted');
    go('/');
  }

  // What was said is applied together, with the next frame.
  hear(message) {
    if (message.op === 'reset') return void this.again();
    this.pending.push(message);
    if (this.pending.length > 1) return;
    const flush = () => this.flush();
    // A tab in the background has no frames, but its title must still be true.
    if (document.hidden) setTimeout(flush, 200);
    else requestAnimationFrame(flush);
  }

  flush() {
    const messages = this.pending;
    this.pending = [];
    if (this.isOver) return;
    for (const message of messages) {
      if (message.op === 'session') this.take(message.session, message.choices);
      else this.transcript.apply(message);
    }
    this.tellAsks();
  }

  take(card, choices) {
    this.card = card;
    this.stage.firstElementChild.dataset.state = card.state;
    title(clip(card.title || card.prompt || 'Session', 60));
    waits(card.activity === 'waiting' ? Math.max(1, card.approvals ?? 0) : 0);
    this.facts.update(card);
    this.composer.update(card, choices);
  }

  asks() {
    const open = [...this.transcript.entries.kept.values()].filter((entry) => entry.request?.open);
    return open.sort((a, b) => a.n - b.n);
  }

  // What is asked further up than the entries that are loaded is asked above the box.
  async showFar() {
    const known = this.asks().map((entry) => entry.request.id);
    const { activity, approvals = 0 } = this.card;
    const key = activity === 'waiting' && approvals > known.length ? `${approvals} ${known}` : '';
    if (key === this.far) return;
    this.far = key;
    const open = key ? await openAsks(this.id) : [];
    if (this.far === key) this.composer.showForms(open.filter((one) => !known.includes(one.id)));
  }

  tellAsks() {
    const open = this.asks();
    this.showFar();
    for (const entry of open) {
      if (this.announced.has(entry.n)) continue;
      this.announced.add(entry.n);
      announce(`The agent asks: ${clip(this.card.waitingFor ?? 'something', 200)}`, true);
    }
    this.showAway();
  }

  // What waits outside the window is named below it.
  showAway() {
    const away = this.asks().filter((entry) => !this.transcript.list.rows.has(entry.n));
    this.composer.showAsks(away.length, () => this.transcript.focus(away[0].n, true));
  }

  // A key for what is asked: in the entry that has the focus, else for the oldest.
  press(key) {
    const focused = document.activeElement?.closest?.('.entry')?.querySelector('.ask');
    const form =
      focused ??
      this.asks()
        .map((entry) => this.transcript.list.rows.get(entry.n)?.ask)
        .find(Boolean);
    return form?.press(key) ?? false;
  }

  shortcuts() {
    const digits = '123456789'.split('').join(', ');
    return [
      { keys: 'a', does: 'allow once', act: () => this.press('a') },
      { keys: 's', does: 'allow for the session', act: () => this.press('s') },
      { keys: 'd', does: 'decline, with a reason', act: () => this.press('d') },
      { keys: digits, does: 'choose an answer', act: (event) => this.press(event.key) },
      { keys: 'i', does: 'write a follow-up', act: () => this.composer.focus() },
      { keys: 'x', does: 'interrupt the turn', act: () => this.composer.interrupt() },
      ...this.transcript.shortcuts(),
      { keys: 'Escape', does: 'leave a field, unmark the entry', act: () => document.activeElement?.blur() },
    ];
  }

  hidden() {
    clearTimeout(this.unseen);
    if (document.hidden) this.unseen = setTimeout(() => this.pause(), UNSEEN);
    else if (this.isPaused) {
      this.isPaused = false;
      this.follow(this.stream.seq);
    }
  }

  pause() {
    if (!this.stream || this.isOver) return;
    this.flush();
    this.stream.close();
    this.isPaused = true;
  }

  close() {
    this.stream?.close();
    this.transcript?.end();
    this.facts?.end();
    this.composer?.end();
    this.pending = [];
  }

  end() {
    this.isOver = true;
    clearTimeout(this.unseen);
    document.removeEventListener('visibilitychange', this.hides);
    this.close();
  }
}
