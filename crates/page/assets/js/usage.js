// Usage: tokens and cost by day, model and project, as charts and as a table.

import { get, path } from './api.js';
import { barChart, dayChart, narrow } from './chart.js';
import { el, fill, select } from './dom.js';
import { empty, load } from './states.js';
import { clip, folder, money, short, whole } from './words.js';

const RANGES = { '7d': '7 days', '30d': '30 days', '90d': '90 days', '365d': 'A year', '': 'All' };
const MEASURES = { cost: 'Cost', tokens: 'Tokens' };
const STACKS = { model: 'by model', agent: 'by agent' };
const TABLES = {
  day: 'Day',
  week: 'Week',
  month: 'Month',
  agent: 'Agent',
  model: 'Model',
  project: 'Project',
  session: 'Session',
  tool: 'Tool',
};

export function open(stage, _, query) {
  const page = new UsagePage(stage, query);
  const redraw = () => page.data && page.show(page.data);
  narrow.addEventListener('change', redraw);
  return () => narrow.removeEventListener('change', redraw);
}

class UsagePage {
  constructor(stage, query) {
    const said = (name, otherwise) => query.get(name) ?? otherwise;
    this.chosen = {
      range: said('range', '30d'),
      measure: said('measure', 'cost'),
      stack: said('stack', 'model'),
      by: said('by', 'day'),
    };
    this.body = el('div.usage');
    const pick = (name, words, values) =>
      select(name, words, Object.entries(values), this.chosen[name], (value) => this.choose(name, value));
    this.csv = el('a.button', { test: 'csv', download: 'usage.csv' }, 'CSV');
    fill(
      stage,
      el(
        'header.page-head',
        el('h1', 'Usage'),
        el(
          'div.filters',
          pick('range', 'Range', RANGES),
          pick('measure', 'What is shown', MEASURES),
          pick('stack', 'Stacked', STACKS),
          this.csv,
        ),
      ),
      this.body,
    );
    this.tableBy = pick('by', 'Table by', TABLES);
    this.load();
  }

  choose(name, value) {
    this.chosen[name] = value;
    history.replaceState(null, '', path('/usage', this.chosen));
    if (name === 'measure') this.show(this.data);
    else if (name === 'by') this.loadTable();
    else this.load();
  }

  query(more) {
    const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    return { since: this.chosen.range, timezone, ...more };
  }

  load() {
    return load(
      this.body,
      () => this.ask(),
      (data) => this.show((this.data = data)),
    );
  }

  async ask() {
    const ask = (more) => get('/api/usage', this.query(more));
    const [days, models, projects, agents] = await Promise.all([
      ask({ by: 'day', breakdown: true }),
      ask({ by: 'model', order: 'cost' }),
      ask({ by: 'project', order: 'cost', limit: 12 }),
      ask({ by: 'agent' }),
    ]);
    const series = this.chosen.stack === 'agent' ? await this.byAgent(agents.rows) : byModel(days.rows);
    return { days, models, projects, agents, series };
  }

  async byAgent(rows) {
    const pages = await Promise.all(rows.map((row) => get('/api/usage', this.query({ by: 'day', agent: row.key }))));
    return rows.map((row, i) => ({ name: row.key, days: new Map(pages[i].rows.map((day) => [day.key, day])) }));
  }

  show({ days, models, projects, agents, series }) {
    if (!days.rows.length) return empty(this.body, 'Nothing was used in this time.');
    const { measure } = this.chosen;
    const value = measure === 'cost' ? (row) => row.costUsd ?? 0 : (row) => row.totalTokens ?? 0;
    const words = measure === 'cost' ? money : short;
    const what = MEASURES[measure];
    this.table = el('div.table');
    fill(
      this.body,
      this.totals(days),
      this.unpriced(days),
      panel(
        `${what} by day`,
        dayChart({ name: 'day', days: everyDay(days.rows.map((row) => row.key)), series, value, words }),
      ),
      el(
        'div.panels',
        panel(`${what} by model`, barChart({ name: 'model', rows: models.rows, value, words })),
        panel(`${what} by agent`, barChart({ name: 'agent', rows: agents.rows, value, words })),
        panel(
          `${what} by project`,
          barChart({ name: 'project', rows: projects.rows, value, words, label: (key) => folder(key) || key }),
        ),
      ),
      el('section.panel', el('div.row', el('h2', 'Table'), el('span.grow'), this.tableBy), this.table),
    );
    return this.loadTable();
  }

  totals({ total }) {
    const figure = (name, number, words = short) =>
      el(
        'div.figure',
        { test: 'total', data: { name }, title: whole(number) },
        el('b', words(number ?? 0)),
        el('span', name),
      );
    const tokens = [
      ['tokens', 'total'],
      ['input', 'input'],
      ['output', 'output'],
      ['cache read', 'cacheRead'],
      ['cache written', 'cacheWrite'],
    ];
    return el(
      'div.figures',
      figure('cost', total.costUsd, () => cost(total)),
      tokens.map(([name, field]) => figure(name, total[`${field}Tokens`])),
      figure('replies', total.replies),
    );
  }

  unpriced({ unpriced, pricesOf }) {
    const names = (unpriced ?? []).map((row) => row.model).join(', ');
    return el('p.quiet', `Prices of ${pricesOf}. `, names && `Without a price, not in the cost: ${clip(names, 300)}.`);
  }

  loadTable() {
    const { by } = this.chosen;
    this.csv.href = path('/api/usage', this.query({ by, format: 'csv' }));
    return load(
      this.table,
      () =>
        get(
          '/api/usage',
          this.query({ by, limit: 200, order: by === 'day' || by === 'week' || by === 'month' ? 'recent' : 'cost' }),
        ),
      ({ rows, total }) => fill(this.table, usageTable(TABLES[by], rows, total)),
    );
  }
}

// What is not all of the cost is marked, and where nothing is known nothing is said.
function cost({ costUsd, unpricedModels }) {
  if (!unpricedModels?.length) return money(costUsd ?? 0);
  return costUsd ? `${money(costUsd)}+` : '–';
}

const panel = (name, content) => el('section.panel', el('h2', name), content);

// Models as series of a chart, the largest first.
function byModel(rows) {
  const series = new Map();
  for (const row of rows) {
    for (const part of row.breakdown ?? []) {
      if (!series.has(part.model)) series.set(part.model, { name: part.model, days: new Map() });
      series.get(part.model).days.set(row.key, part);
    }
  }
  return [...series.values()];
}

// All days from the first to the last, also those without use.
function everyDay(keys) {
  const sorted = [...keys].sort();
  const days = [];
  const end = Date.parse(sorted[sorted.length - 1]);
  for (let day = Date.parse(sorted[0]); day <= end && days.length < 3700; day += 86_400_000)
    days.push(new Date(day).toISOString().slice(0, 10));
  return days;
}

function usageTable(name, rows, total) {
  const cells = (row) => [
    whole(row.inputTokens),
    whole(row.outputTokens),
    whole(row.cacheReadTokens),
    whole(row.cacheWriteTokens),
    whole(row.totalTokens),
    whole(row.replies),
    cost(row),
  ];
  const line = (row, tag) =>
    el(
      'tr',
      el('th', { scope: 'row', title: row.key }, clip(row.title ?? row.key, 80)),
      cells(row).map((words) => el(tag, null, words)),
    );
  return el(
    'table.numbers',
    { test: 'usage-table' },
    el(
      'thead',
      el(
        'tr',
        [name, 'Input', 'Output', 'Cache read', 'Cache written', 'Tokens', 'Replies', 'Cost'].map((words) =>
          el('th', { scope: 'col' }, words),
        ),
      ),
    ),
    el(
      'tbody',
      rows.map((row) => line(row, 'td')),
    ),
    el('tfoot', line({ ...total, key: 'Total' }, 'td')),
  );
}
