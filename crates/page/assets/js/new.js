// The page that starts a session: agent, folder, prompt and settings, as they were chosen last.

import { get, part, post } from './api.js';
import { combobox } from './combobox.js';
import { el, fill } from './dom.js';
import { here } from './keys.js';
import { go } from './router.js';
import { recall, refuse, remember } from './shell.js';
import { load } from './states.js';
import { APPROVAL, SANDBOX, clip } from './words.js';

const RUNNABLE = new Set(['builtIn', 'ready', 'newer', 'unknownVersion']);

export function open(stage) {
  load(stage, () => get('/api/page/new'), (page) => new NewPage(stage, page));
}

class NewPage {
  constructor(stage, page) {
    this.page = page;
    this.last = recall('new', {});
    this.usable = page.agents.filter((agent) => RUNNABLE.has(agent.state));
    this.missing = page.agents.filter((agent) => !RUNNABLE.has(agent.state) && agent.state !== 'byCommand');
    const wanted = this.usable.find((agent) => agent.id === this.last.agent) ?? this.usable[0];
    this.own = el('div.fields');
    this.prompt = el('textarea', { id: 'prompt', test: 'prompt', rows: 6, required: true, maxlength: 100000, placeholder: 'What should the agent do?', value: recall('draft', ''), oninput: () => remember('draft', this.prompt.value) });
    this.folder = combobox({ id: 'folder', test: 'folder', value: this.last.folder ?? page.folders?.[0] ?? page.defaults?.workingDirectory ?? '', placeholder: '/absolute/path', complete: (words) => this.complete(words) });
    this.project = el('input', { id: 'project', test: 'project', type: 'text', value: this.last.project ?? '', placeholder: 'the folder’s name' });
    this.stay = el('input', { type: 'checkbox', test: 'stay', checked: this.last.stay ?? false });
    this.start = el('button.primary', { type: 'submit', test: 'start' }, 'Start', el('kbd', null, 'Ctrl Enter'));
    this.form = el('form.new', { test: 'new-form', onsubmit: (event) => this.submit(event), onkeydown: (event) => this.key(event) },
      el('h1', null, 'New session'), this.agents(wanted),
      field('Prompt', this.prompt), field('Folder', this.folder.node, 'folder'), this.own,
      el('div.row', null, el('label.check', null, this.stay, 'Stay open for more prompts when the turn is over'), el('span.grow'), this.start));
    fill(stage, this.form);
    this.choose(wanted);
    here([{ keys: 'Escape', does: 'leave the field', act: () => {} }]);
    this.prompt.focus();
  }

  agents(wanted) {
    const radio = (agent) => el('label.agent-choice', null,
      el('input', { type: 'radio', name: 'agent', value: agent.id, test: 'agent', checked: agent === wanted, onchange: () => this.choose(agent) }),
      el('span', null, el('b', null, agent.title), el('small', null, about(agent))));
    const missing = this.missing.length > 0 && el('details.missing', null, el('summary', null, `${this.missing.length} not ready`),
      el('ul', null, this.missing.map((agent) => el('li', { test: 'agent-missing', data: { id: agent.id } }, el('b', null, agent.title), ` ${agent.state === 'tooOld' ? `is too old${agent.version ? ` (${agent.version})` : ''}` : 'is not installed'}`, (agent.hint ?? agent.install) && el('code', null, agent.hint ?? agent.install)))));
    return el('fieldset.agents', null, el('legend', null, 'Agent'), el('div.agent-choices', null, this.usable.map(radio)), missing);
  }

  /// The settings that the agent has, as it was last seen.
  choose(agent) {
    this.agent = agent;
    const last = this.last.of?.[agent?.id] ?? {};
    const defaults = this.page.defaults ?? {};
    const { models = [], modes = [], options = [] } = agent ?? {};
    const names = models.map((model) => el('option', { value: model.id }, model.name));
    this.model = el('input', { id: 'model', test: 'model', type: 'text', list: 'models', value: last.model ?? '', placeholder: models.find((model) => model.default)?.id ?? 'the agent’s own', autocomplete: 'off' });
    this.approval = select('approval-mode', APPROVAL, this.last.approval ?? defaults.approvalMode ?? 'ask');
    this.sandbox = select('sandbox-mode', SANDBOX, this.last.sandbox ?? defaults.sandboxMode ?? 'none');
    this.mode = modes.length > 0 && select('mode', { '': 'the agent’s own', ...byId(modes) }, last.mode ?? '');
    this.options = options.map((option) => Object.assign(select('option', { '': `${name(option.values, option.value)} (now)`, ...byId(option.values) }, last.options?.[option.id] ?? '', option.id), { option }));
    fill(this.own, field('Model', [this.model, el('datalist', { id: 'models' }, names)], 'model'), field('Approvals', this.approval), field('Sandbox', this.sandbox),
      this.mode && field('Mode', this.mode), this.options.map((control) => field(control.option.name, control)), field('Project', this.project, 'project'));
  }

  async complete(words) {
    if (!words) return this.page.folders ?? [];
    const { folders } = await get('/api/page/folders', { prefix: words });
    const recent = (this.page.folders ?? []).filter((folder) => folder.includes(words) && !folders.includes(folder));
    return [...recent, ...folders].slice(0, 20);
  }

  key(event) {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.submit(event);
  }

  order() {
    const options = Object.fromEntries(this.options.filter((control) => control.value).map((control) => [control.option.id, control.value]));
    const config = {
      workingDirectory: this.folder.input.value.trim() || undefined, model: this.model.value.trim() || undefined,
      approvalMode: this.approval.value, sandboxMode: this.sandbox.value, mode: this.mode?.value || undefined,
      options: Object.keys(options).length ? options : undefined,
    };
    return { agentType: this.agent.id, prompt: this.prompt.value, projectId: this.project.value.trim() || undefined, stay: this.stay.checked || undefined, config };
  }

  async submit(event) {
    event.preventDefault();
    if (!this.agent || !this.prompt.value.trim() || this.start.disabled) return void this.prompt.focus();
    const order = this.order();
    this.start.disabled = true;
    try {
      const made = await post('/api/sessions', order);
      this.keep(order);
      go(`/s/${part(made.id)}`);
    } catch (problem) {
      refuse(problem);
      this.start.disabled = false;
    }
  }

  keep({ config, projectId }) {
    const of = { ...this.last.of, [this.agent.id]: { model: config.model, mode: config.mode, options: config.options } };
    remember('new', { agent: this.agent.id, folder: config.workingDirectory, project: projectId, approval: config.approvalMode, sandbox: config.sandboxMode, stay: this.stay.checked, of });
    remember('draft', '');
  }
}

/// Version and what is missing, in a few words.
function about(agent) {
  const words = { builtIn: 'built in', newer: `${agent.version}, newer than tested`, unknownVersion: 'version unknown' }[agent.state] ?? agent.version ?? '';
  const login = agent.login?.state === 'no' ? ` · not signed in: ${clip(agent.login.how, 80)}` : '';
  return words + login;
}

const byId = (values) => Object.fromEntries(values.map((value) => [value.id, value.name || value.id]));
const name = (values, id) => values?.find((value) => value.id === id)?.name ?? id ?? '';

function select(test, values, chosen, id) {
  return el('select', { test, id: id ? `option-${id}` : test, data: id ? { id } : {} },
    Object.entries(values).map(([value, words]) => el('option', { value, selected: value === chosen }, clip(words, 80))));
}

function field(label, control, id) {
  return el('div.field', null, el('label', { for: id ?? control.id }, label), control);
}
