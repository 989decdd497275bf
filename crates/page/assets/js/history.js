// History: every session of every agent on this machine, with filters and full-text search.

import { agents, get, part, path } from './api.js';
import { add, button, el, fill, select } from './dom.js';
import { here } from './keys.js';
import { empty, load } from './states.js';
import { ago, clip, folder, moment, short } from './words.js';

const SINCE = [
  ['', 'Any time'],
  ['1d', 'Last day'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['365d', 'Last year'],
];

export function open(stage, _, query) {
  return new HistoryPage(stage, query).leave;
}

class HistoryPage {
  constructor(stage, query) {
    this.filter = Object.fromEntries(['q', 'agent', 'project', 'since'].map((name) => [name, query.get(name) ?? '']));
    this.results = el('div.results');
    const type = (name) => (event) => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.refine(name, event.target.value.trim()), 250);
    };
    this.agents = select('filter-agent', 'Agent', [['', 'All agents']], '', (value) => this.refine('agent', value));
    fill(
      stage,
      el(
        'header.page-head',
        el('h1', 'History'),
        el(
          'form.filters',
          { role: 'search', onsubmit: (event) => event.preventDefault() },
          el('input.wide-field', {
            type: 'search',
            test: 'history-search',
            'data-search': true,
            'aria-label': 'Search everything that was said',
            placeholder: 'Search everything: words, "phrases", begin*',
            value: this.filter.q,
            oninput: type('q'),
          }),
          this.agents,
          el('input', {
            type: 'search',
            test: 'filter-project',
            'aria-label': 'Folder',
            placeholder: 'Folder',
            value: this.filter.project,
            oninput: type('project'),
          }),
          select('filter-since', 'Time', SINCE, this.filter.since, (value) => this.refine('since', value)),
        ),
      ),
      this.results,
    );
    if (query.has('find')) stage.querySelector('[data-search]').focus();
    here([
      { keys: 'j', does: 'next session', act: () => this.step(1) },
      { keys: 'k', does: 'session before', act: () => this.step(-1) },
    ]);
    this.leave = () => this.end();
    this.nameAgents();
    this.find();
  }

  async nameAgents() {
    const known = await agents().catch(() => new Map());
    add(
      this.agents,
      [...known.values()].map((agent) =>
        el('option', { value: agent.id, selected: agent.id === this.filter.agent }, agent.title),
      ),
    );
  }

  refine(name, value) {
    if (this.filter[name] === value) return;
    this.filter[name] = value;
    history.replaceState(null, '', path('/history', this.filter));
    this.find();
  }

  // Searches if there are words, else lists. What is on its way for other words is dropped.
  find() {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const { q, ...rest } = this.filter;
    const ask = q ? () => get('/api/search', { ...rest, q, limit: 100 }, signal) : () => get('/api/logs', rest, signal);
    return load(this.results, ask, (page) => (q ? this.showHits(page) : this.showLogs(page)));
  }

  showLogs({ sessions, next }) {
    if (!sessions.length)
      return empty(
        this.results,
        Object.values(this.filter).some(Boolean)
          ? 'No session fits these filters.'
          : 'No agent has left a session on this machine.',
      );
    const list = el('ol.logs', { test: 'logs' }, sessions.map(logItem));
    const more = button('', 'more', () => older(), 'Show older sessions');
    const older = async () => {
      const page = await get('/api/logs', { ...this.filter, q: '', before: next });
      add(list, page.sessions.map(logItem));
      next = page.next;
      more.hidden = !next;
    };
    more.hidden = !next;
    return fill(this.results, list, more);
  }

  showHits({ hits, more }) {
    if (!hits.length) return empty(this.results, 'Nothing was found.');
    return fill(
      this.results,
      el('ol.logs', { test: 'hits' }, hits.map(hitItem)),
      more && el('p.quiet', 'There is more: say more words, or fewer sessions.'),
    );
  }

  step(by) {
    const links = [...this.results.querySelectorAll('a')];
    links[Math.max(0, Math.min(links.length - 1, links.indexOf(document.activeElement) + by))]?.focus();
  }

  end() {
    clearTimeout(this.timer);
    this.asking?.abort();
  }
}

const address = (id, own) => (own ? `/s/${part(own.id)}` : `/h/${part(id)}`);

function logItem(log) {
  const facts = [
    log.agent,
    log.project && folder(log.project),
    log.branch,
    log.model,
    `${log.turns} ${log.turns === 1 ? 'prompt' : 'prompts'}`,
    log.bytes && `${short(log.bytes)}B`,
    log.gone && 'kept: the agent deleted it',
    log.archived && 'archived',
  ];
  return el(
    'li.log',
    { test: 'log', data: { id: log.id } },
    el(
      'a.log-title',
      { href: address(log.id, log.switchboard), test: 'log-title' },
      clip(log.title || log.prompt || log.id, 200),
    ),
    el('time', { title: moment(log.updated ?? log.began) }, ago(log.updated ?? log.began)),
    el(
      'p.facts',
      { title: log.project },
      facts.filter(Boolean).map((words) => el('span', clip(words, 60))),
    ),
  );
}

function hitItem(hit) {
  const facts = [
    hit.agent,
    hit.project && folder(hit.project),
    hit.eventType?.replaceAll('_', ' '),
    hit.tool,
    hit.subagent && 'subagent',
  ];
  return el(
    'li.log',
    { test: 'hit', data: { session: hit.session } },
    el('a.snippet', { href: path(`/h/${part(hit.session)}`, { at: hit.at }) }, marked(hit.snippet, hit.marks)),
    el('time', { title: moment(hit.at) }, ago(hit.at)),
    el(
      'p.facts',
      { title: hit.project },
      facts.filter(Boolean).map((words) => el('span', clip(words, 60))),
    ),
  );
}

// A text with what was found highlighted. Marks count bytes.
export function marked(snippet, marks) {
  const bytes = new TextEncoder().encode(snippet);
  const words = (from, to) => new TextDecoder().decode(bytes.subarray(from, to));
  const parts = [];
  let at = 0;
  for (const [from, to] of [...(marks ?? [])].sort((a, b) => a[0] - b[0])) {
    if (from < at) continue;
    parts.push(words(at, from), el('mark', words(from, to)));
    at = to;
  }
  return [...parts, words(at)];
}
