// The page of a session that an agent left on disk: its transcript, and a way to go on with it.

import { get, part, post } from './api.js';
import { el, fill } from './dom.js';
import { here } from './keys.js';
import { go } from './router.js';
import { refuse, title } from './shell.js';
import { load } from './states.js';
import { Transcript } from './transcript.js';
import { clip, moment } from './words.js';

export function open(stage, id, query) {
  const address = `/api/page/logs/${part(id)}`;
  let transcript;
  load(
    stage,
    () => get(address),
    (page) => {
      transcript = show(stage, id, address, page);
      if (query.get('at')) seek(transcript, query.get('at'));
    },
  );
  return () => transcript?.end();
}

function show(stage, id, address, page) {
  const log = page.session ?? page.log ?? {};
  const body = el('div.transcript');
  const name = clip(log.title || log.prompt || id, 240);
  const facts = [
    log.agent ?? log.agentType,
    log.model,
    log.project ?? log.workingDirectory,
    moment(log.began ?? log.createdAt),
  ];
  title(clip(name, 60));
  fill(
    stage,
    el(
      'div.session',
      { test: 'transcript', data: { id } },
      el(
        'header.session-head',
        el(
          'div.row',
          el('a.plain.back', { href: '/history', 'aria-label': 'To the history' }, '‹'),
          el('h1', { test: 'session-title' }, name),
          el('span.pill', page.kept || log.gone ? 'kept' : 'log'),
        ),
        el(
          'div.facts',
          el(
            'p.facts',
            facts.filter(Boolean).map((words) => el('span', clip(words, 80))),
          ),
        ),
      ),
      body,
      resumeBox(log.id ?? id),
    ),
  );
  const transcript = new Transcript(body, address);
  transcript.open(page);
  here(transcript.shortcuts());
  return transcript;
}

function resumeBox(id) {
  const words = el('textarea', {
    rows: 1,
    test: 'resume-prompt',
    'aria-label': 'Prompt to go on with',
    placeholder: 'Go on with this session…',
  });
  // Asked for when the folder that it worked in is gone.
  const folder = el('input', {
    type: 'text',
    test: 'resume-folder',
    'aria-label': 'Folder to go on in',
    placeholder: 'Another folder to go on in: /absolute/path',
    hidden: true,
  });
  const resume = async (event) => {
    event.preventDefault();
    if (!words.value.trim()) return void words.focus();
    const config = folder.value.trim() ? { workingDirectory: folder.value.trim() } : undefined;
    try {
      const made = await post('/api/sessions', { sessionId: id, prompt: words.value, config });
      go(`/s/${part(made.id)}`);
    } catch (problem) {
      refuse(problem);
      if (problem.code !== 'bad_folder') return;
      folder.hidden = false;
      folder.focus();
    }
  };
  words.addEventListener(
    'keydown',
    (event) => event.key === 'Enter' && !event.shiftKey && !event.isComposing && resume(event),
  );
  return el(
    'div.composer',
    el(
      'form',
      { onsubmit: resume },
      folder,
      words,
      el('div.row', el('span.grow'), el('button.primary', { test: 'resume' }, 'Resume')),
    ),
  );
}

// Goes to what happened at a time: entries are in the order of time, so halving finds it.
async function seek(transcript, time) {
  let [low, high] = [0, transcript.entries.total];
  const wanted = Date.parse(time);
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    const { entries } = await get(transcript.address, { from: middle, count: 1 });
    if (!entries.length || Date.parse(entries[0].at) > wanted) high = middle;
    else low = middle;
  }
  transcript.focus(low, true);
}
