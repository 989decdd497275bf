// Charts as SVG: days with stacked bars, and rows with one bar each. Numbers on hover, on touch and by keyboard.

import { el, fill, svg } from './dom.js';
import { clip } from './words.js';

// A narrow screen gets a narrow drawing, so that its words stay legible.
export const narrow = matchMedia('(max-width: 640px)');
const HEIGHT = 240;
const LEFT = 56;
const BOTTOM = 22;
const COLOURS = 7;

// Days with one bar each, stacked by series: `{ name, days: Map(day → row) }`.
export function dayChart({ name, days, series, value, words }) {
  const sum = ({ days: rows }) => [...rows.values()].reduce((all, row) => all + value(row), 0);
  const width = narrow.matches ? 400 : 960;
  const sorted = [...series].sort((a, b) => sum(b) - sum(a));
  const shown = sorted.slice(0, COLOURS - 1);
  const rest = sorted.slice(COLOURS - 1);
  const parts = (day) => {
    const own = shown.map((one, i) => ({
      name: one.name,
      colour: i,
      value: one.days.has(day) ? value(one.days.get(day)) : 0,
    }));
    const others = rest.reduce((all, one) => all + (one.days.has(day) ? value(one.days.get(day)) : 0), 0);
    return rest.length ? [...own, { name: 'others', colour: COLOURS - 1, value: others }] : own;
  };
  const columns = days.map((day) => ({ key: day, parts: parts(day) }));
  for (const column of columns) column.value = column.parts.reduce((all, one) => all + one.value, 0);
  const top = nice(Math.max(...columns.map((column) => column.value), 0));
  const names = parts(days[0]).map((one) => el('span', el('i', { class: `c${one.colour}` }), clip(one.name, 40)));
  const tip = el('p.tip', { test: 'tip', 'aria-live': 'polite' });
  const chart = svg(
    'svg',
    {
      class: 'chart',
      viewBox: `0 0 ${width} ${HEIGHT}`,
      role: 'group',
      'aria-label': `By day, ${days[0]} to ${days[days.length - 1]}`,
      test: 'chart',
      'data-chart': name,
    },
    grid(width, top, words),
    bars(width, columns, top, words, tip),
    ticks(width, days),
  );
  chart.addEventListener('keydown', (event) => roam(event, chart));
  chart.addEventListener('pointerleave', () => fill(tip));
  return el('div', tip, chart, el('div.legend', names));
}

function nice(most) {
  if (most <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 2.5, 5, 10].map((step) => step * unit).find((step) => step >= most);
}

function grid(width, top, words) {
  const room = HEIGHT - BOTTOM - 8;
  return [0, 0.5, 1].map((share) => {
    const y = 8 + room * (1 - share);
    return [
      svg('line', { class: 'grid', x1: LEFT, x2: width, y1: y, y2: y }),
      svg('text', { class: 'axis', x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, words(top * share)),
    ];
  });
}

function bars(width, columns, top, words, tip) {
  const step = (width - LEFT) / columns.length;
  const room = HEIGHT - BOTTOM - 8;
  return columns.map((column, i) => {
    let y = 8 + room;
    const x = LEFT + i * step;
    const gap = Math.min(4, step * 0.2);
    const pieces = column.parts
      .filter((one) => one.value > 0)
      .map((one) => {
        const height = (one.value / top) * room;
        y -= height;
        return svg('rect', { class: `c${one.colour}`, x: x + gap / 2, y, width: Math.max(0.5, step - gap), height });
      });
    const said = column.parts.filter((one) => one.value > 0).map((one) => `${clip(one.name, 40)} ${words(one.value)}`);
    const label = `${column.key}: ${words(column.value)}${said.length > 1 ? ` (${said.join(', ')})` : ''}`;
    const tell = () =>
      fill(tip, el('b', `${column.key}  ${words(column.value)}`), ` ${said.length > 1 ? said.join(' · ') : ''}`);
    return svg(
      'g',
      {
        class: 'bar',
        test: 'bar',
        'data-key': column.key,
        'data-value': column.value,
        role: 'img',
        'aria-label': label,
        tabindex: i === columns.length - 1 ? 0 : -1,
        onpointerenter: tell,
        onfocus: tell,
      },
      svg('rect', { class: 'hit', x, y: 0, width: step, height: HEIGHT - BOTTOM }),
      pieces,
    );
  });
}

function ticks(width, days) {
  const step = (width - LEFT) / days.length;
  const each = Math.max(1, Math.ceil(days.length / (width / 110)));
  return days.map(
    (day, i) =>
      i % each === 0 &&
      svg(
        'text',
        { class: 'axis', x: LEFT + (i + 0.5) * step, y: HEIGHT - 6, 'text-anchor': 'middle' },
        day.slice(days.length > 300 ? 2 : 5),
      ),
  );
}

function roam(event, chart) {
  const by = { ArrowRight: 1, ArrowLeft: -1, Home: -1e6, End: 1e6 }[event.key];
  if (!by) return;
  event.preventDefault();
  const all = [...chart.querySelectorAll('.bar')];
  const now = all.indexOf(document.activeElement);
  const next = all[Math.max(0, Math.min(all.length - 1, now + by))];
  all[now]?.setAttribute('tabindex', '-1');
  next.setAttribute('tabindex', '0');
  next.focus();
}

export function barChart({ name, rows, value, words, label = (key) => key }) {
  const sorted = [...rows].sort((a, b) => value(b) - value(a)).slice(0, 12);
  const top = Math.max(...sorted.map(value), 0) || 1;
  return el(
    'div.rows',
    { test: 'chart', data: { chart: name }, role: 'list' },
    sorted.map((row) => {
      const bar = svg(
        'svg',
        { class: 'row-bar', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
        svg('rect', { class: 'c0', width: (value(row) / top) * 100, height: 8 }),
      );
      return el(
        'div.bar-row',
        {
          role: 'listitem',
          test: 'bar',
          tabindex: '0',
          title: `${row.key}: ${words(value(row))}`,
          data: { key: row.key, value: value(row) },
          'aria-label': `${clip(row.key, 80)}: ${words(value(row))}`,
        },
        el('span', clip(label(row.key), 60)),
        bar,
        el('b', words(value(row))),
      );
    }),
  );
}
