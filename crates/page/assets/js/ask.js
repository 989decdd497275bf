// Answering what an agent asks: allow once, for the session, decline with a reason; questions with choices or own words.

import { get, part, post } from './api.js';
import { button, el, fill } from './dom.js';
import { refuse, toast } from './shell.js';
import { clip, plain } from './words.js';

const DECISIONS = {
  allow_once: 'accept',
  allow_session: 'acceptForSession',
  allow_always: 'acceptForSession',
  reject: 'decline',
  cancel: 'cancel',
};
const USUAL = [{ kind: 'allow_once' }, { kind: 'allow_session' }, { kind: 'reject' }];
const USUAL_FOR_A_PERSON = [{ kind: 'reject' }, { kind: 'allow_once' }];
const WORDS = {
  allow_once: 'Allow once',
  allow_session: 'Allow for the session',
  allow_always: 'Always allow',
  reject: 'Decline',
  cancel: 'Decline and stop',
};
const READ = 600;
const KEYS = { accept: 'a', acceptForSession: 's', decline: 'd' };
const HOOKS = { accept: 'allow', acceptForSession: 'allow-session', decline: 'decline', cancel: 'decline-stop' };

// Reasons that are being written, by request: rows come and go while somebody types.
const drafts = new Map();

// What is answered with, for one request of a session. `form.press(key)` is the same by keyboard.
export function askForm(session, request) {
  const send = (answer) => sendAnswer(form, session, request, answer);
  const form = el('form.ask', {
    test: 'ask',
    data: { request: request.id },
    onsubmit: (event) => event.preventDefault(),
  });
  // A key that was pressed before somebody can have read what is asked is no answer.
  setTimeout(() => (form.dataset.ready = ''), READ);
  const build = request.questions?.length ? buildQuestions : buildApproval;
  build(form, request, send);
  return form;
}

// A request that is not shown elsewhere: what it is about, and what answers it.
export function askBox(session, request) {
  const { title, command, changes, reason, questions } = request;
  const what = command || changes?.map((change) => change.path).join('\n');
  // The form says what it asks.
  const isSaid = questions?.some(({ question }) => question === title);
  return el(
    'div.ask-box',
    !isSaid && el('p.asked', clip(title || reason || 'It asks something', 300)),
    what && what !== title && el('pre.asked-what', plain(what.slice(0, 4000))),
    askForm(session, request),
  );
}

// What a session asks, and nobody has answered.
export async function openAsks(session) {
  const { approvals } = await get(`/api/sessions/${part(session)}/approvals`).catch(() => ({ approvals: [] }));
  return approvals;
}

async function sendAnswer(form, session, request, answer) {
  form.inert = true;
  form.classList.add('sent');
  try {
    await post(`/api/sessions/${part(session)}/approvals/${part(request.id)}`, answer);
    drafts.delete(request.id);
  } catch (problem) {
    form.inert = false;
    form.classList.remove('sent');
    if (problem.code === 'not_open') toast('Somebody has answered already');
    else refuse(problem);
  }
}

// The ways to answer: what the agent offers, else the usual three; never without a yes and a no.
function ways(request) {
  const usual = request.requiresPerson ? USUAL_FOR_A_PERSON : USUAL;
  const offered = request.options?.length ? request.options : usual;
  const all = offered.map((option) => ({ ...option, decision: DECISIONS[option.kind] ?? 'decline' }));
  if (!all.some((way) => way.decision === 'decline')) all.push({ kind: 'reject', decision: 'decline' });
  return all;
}

function buildApproval(form, request, send) {
  const taken = new Set();
  const buttons = ways(request).map((way) => {
    const key = taken.has(way.decision) ? undefined : KEYS[way.decision];
    taken.add(way.decision);
    const isPrimary = way.decision === 'accept' && !request.requiresPerson;
    return wayButton(form, way, key, key ? HOOKS[way.decision] : 'other-option', isPrimary, send);
  });
  const reason = el('input', {
    test: 'reason',
    type: 'text',
    maxlength: 4000,
    placeholder: 'What should it do instead? (optional)',
    'aria-label': 'Reason',
    value: drafts.get(request.id) ?? '',
  });
  reason.addEventListener('input', () => drafts.set(request.id, reason.value));
  const decline = () => send({ decision: 'decline', reason: reason.value.trim() || undefined });
  const row = el(
    'div.row.reason',
    { hidden: !drafts.has(request.id) },
    reason,
    el('button.danger', { test: 'decline-send' }, 'Decline'),
  );
  form.addEventListener('submit', decline);
  form.askReason = () => {
    row.hidden = false;
    reason.focus();
  };
  reason.addEventListener('keydown', (event) => event.key === 'Escape' && (row.hidden = true));
  fill(form, el('div.row', buttons), row);
  form.press = (key) => press(form, key);
}

function wayButton(form, way, key, hook, isPrimary, send) {
  const label = way.kind === 'allow_once' || way.kind === 'reject' || !way.label ? WORDS[way.kind] : way.label;
  const isNo = way.decision === 'decline';
  const act = () => (isNo && key ? form.askReason() : send({ decision: way.decision, option: way.id }));
  const made = button(isPrimary ? '.primary' : '', hook, act, clip(label, 80), key && el('kbd', key));
  made.title = way.label ?? '';
  if (key) made.dataset.key = key;
  return made;
}

function press(form, key) {
  if (form.inert || !('ready' in form.dataset)) return true;
  const found = form.querySelector(`button[data-key="${CSS.escape(key)}"]`);
  found?.click();
  return Boolean(found);
}

function buildQuestions(form, request, send) {
  const { questions } = request;
  const isQuick = questions.length === 1 && !questions[0].multiple && questions[0].choices?.length;
  const answers = new Map(questions.map((question) => [question.id, { chosen: new Set(), own: '' }]));
  const give = () => {
    const said = questions.map(({ id }) => [
      id,
      [...answers.get(id).chosen, answers.get(id).own.trim()].filter(Boolean),
    ]);
    const missing = said.find(([, words]) => !words.length);
    if (missing) return toast('Something is not answered yet', { bad: true });
    return send({ decision: 'accept', answers: Object.fromEntries(said) });
  };
  const choose = (question, choice, made) => {
    const { chosen } = answers.get(question.id);
    if (chosen.has(choice.label)) chosen.delete(choice.label);
    else {
      if (!question.multiple) chosen.clear();
      chosen.add(choice.label);
    }
    for (const other of made.parentElement.children)
      other.setAttribute('aria-pressed', String(chosen.has(other.dataset.label)));
    if (isQuick) give();
  };
  let number = 0;
  const parts = questions.map((question) =>
    questionPart(question, answers.get(question.id), choose, () => (number += 1)),
  );
  const submit = (!isQuick || questions.some(takesOwn)) && el('button.primary', { test: 'answer' }, 'Answer');
  form.addEventListener('submit', give);
  const skip = button('', 'decline', () => send({ decision: 'decline' }), 'Decline to answer', el('kbd', 'd'));
  skip.dataset.key = 'd';
  fill(form, parts, el('div.row', submit, skip));
  form.press = (key) => press(form, key);
}

const takesOwn = (question) => question.free_text || !question.choices?.length;

function questionPart(question, answer, choose, count) {
  const choices = (question.choices ?? []).map((choice) => {
    const number = count();
    const made = button(
      '.choice',
      'choice',
      () => choose(question, choice, made),
      number < 10 && el('kbd', String(number)),
      el('span', clip(choice.label, 200), choice.description && el('small', clip(choice.description, 400))),
    );
    Object.assign(made.dataset, { label: choice.label, key: number });
    made.setAttribute('aria-pressed', 'false');
    return made;
  });
  const own =
    takesOwn(question) &&
    el('input', {
      test: 'own-answer',
      type: question.secret ? 'password' : 'text',
      autocomplete: 'off',
      placeholder: choices.length ? 'Or in your own words' : 'Your answer',
      'aria-label': clip(question.question, 200),
      oninput: (event) => (answer.own = event.target.value),
    });
  return el(
    'fieldset',
    el('legend', question.header && el('small', clip(question.header, 80)), clip(question.question, 2000)),
    choices.length > 0 && el('div.choices', choices),
    own,
  );
}
