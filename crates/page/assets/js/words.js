// Numbers, times and states in words for people. Nothing here touches the page.

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat('en');
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const YEAR = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric' });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

// 1234567 → 1.2M
export const short = (number) => COMPACT.format(number ?? 0);

// 1234567 → 1,234,567
export const whole = (number) => WHOLE.format(number ?? 0);

// 0.2134 → $0.21; what is less than a cent keeps its digits.
export function money(usd) {
  if (usd == null) return '';
  if (usd >= 100_000) return `$${short(usd)}`;
  if (usd > 0 && usd < 0.01) return `$${usd.toPrecision(1)}`;
  return `$${usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

// 75000 → 1m 15s
export function span(ms) {
  if (ms == null || !(ms >= 0)) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${Math.floor(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours}h ${minutes % 60}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

export const ticking = (ms) =>
  span(Math.max(0, Math.floor(ms / 1000)) * 1000)
    .replace('0 ms', '0 s')
    .replace('.0 s', ' s');

export function ago(time) {
  if (!time) return '';
  const then = new Date(time);
  const ms = Date.now() - then;
  if (ms < 60_000) return 'now';
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}m ago`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)}h ago`;
  return (ms < 300 * 86_400_000 ? DAY : YEAR).format(then);
}

export const moment = (time) => (time ? FULL.format(new Date(time)) : '');

// Characters that one does not see (controls, marks that turn the direction of text) are shown by number: nobody is
// asked about something that looks like something else.
export const plain = (words) =>
  words.replace(
    /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    (one) => `‹U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`,
  );

// The beginning of a text of any length, on one line.
export function clip(words, most = 300) {
  const line = plain(
    String(words ?? '')
      .slice(0, most * 2)
      .replace(/\s+/g, ' ')
      .trim(),
  );
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

export const folder = (path) =>
  String(path ?? '')
    .split('/')
    .filter(Boolean)
    .pop() ?? '/';

export const COLUMNS = {
  waiting: 'Needs you',
  running: 'Running',
  done: 'Done',
  failed: 'Failed or cancelled',
};

// What a session is doing or what became of it, in a word or two.
export function standing(card) {
  if (card.state === 'running') return { waiting: 'needs you', idle: 'idle' }[card.activity] ?? 'running';
  return card.reason === 'timeout' ? 'timed out' : card.state;
}

export function elapsed(card, now = Date.now()) {
  return Math.max(0, (card.endedAt ? Date.parse(card.endedAt) : now) - Date.parse(card.createdAt));
}

export const KINDS = {
  turn: 'Turn',
  user: 'Message',
  answer: 'Answer',
  reasoning: 'Reasoning',
  command: 'Command',
  change: 'Change',
  tool: 'Tool',
  mcp: 'MCP',
  search: 'Search',
  plan: 'Plan',
  subagent: 'Subagent',
  request: 'Request',
  notice: 'Notice',
  session: 'Session',
  unknown: 'Unknown',
};

export const APPROVAL = {
  ask: 'Ask before anything',
  askDangerous: 'Ask before dangerous things',
  autoEdit: 'Edit files without asking',
  autoAll: 'Never ask',
};

export const SANDBOX = {
  none: 'None: the agent has your rights',
  readOnly: 'Read only',
  workspaceWrite: 'Write in the folder only',
  fullAccess: 'Full access, confined processes',
};
