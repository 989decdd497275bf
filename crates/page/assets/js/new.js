// The page that starts a session: agent, folder, prompt and settings, as they were chosen last.

import { get, part, post } from './api.js';
import { combobox } from './combobox.js';
import { el, fill, select } from './dom.js';
import { here } from './keys.js';
import { go } from './router.js';
import { recall, refuse, remember } from './shell.js';
import { load } from './states.js';
import { APPROVAL, SANDBOX, clip } from './words.js';

const RUNNABLE = new Set(['builtIn', 'ready', 'newer', 'unknownVersion']);

export function open(stage) {
  load(
    stage,
    () => get('/api/page/new'),
    (page) => new NewPage(stage, page),
  );
}

class NewPage {
  constructor(stage, page) {
    this.page = page;
    this.last = recall('new', {});
    this.usable = page.agents.filter((agent) => RUNNABLE.has(agent.state));
    this.missing = page.agents.filter((agent) => !RUNNABLE.has(agent.state) && agent.state !== 'byCommand');
    const named = (id) => this.usable.find((agent) => agent.id === id);
    const wanted =
      named(this.last.agent) ??
      this.usable.find((agent) => agent.state !== 'builtIn') ??
      named(page.defaults?.agent) ??
      this.usable[0];
    this.own = el('div.fields');
    this.prompt = el('textarea', {
      id: 'prompt',
      test: 'prompt',
      rows: 6,
      required: true,
      maxlength: 100000,
      placeholder: 'What should the agent do?',
      value: recall('draft', ''),
      oninput: () => remember('draft', this.prompt.value),
    });
    this.folder = combobox({
      id: 'folder',
      test: 'folder',
      value: this.last.folder ?? page.folders?.[0] ?? page.defaults?.workingDirectory ?? '',
      placeholder: '/absolute/path',
      complete: (words) => this.complete(words),
    });
    this.project = el('input', {
      id: 'project',
      test: 'project',
      type: 'text',
      value: this.last.project ?? '',
      placeholder: 'the folder’s name',
    });
    this.stay = el('input', { type: 'checkbox', test: 'stay', checked: this.last.stay ?? false });
    this.start = el('button.primary', { test: 'start' }, 'Start', el('kbd', 'Ctrl Enter'));
    this.form = el(
      'form.new',
      { test: 'new-form', onsubmit: (event) => this.submit(event), onkeydown: (event) => this.key(event) },
      el('h1', 'New session'),
      this.agents(wanted),
      field('Prompt', this.prompt),
      field('Folder', this.folder.node, 'folder'),
      this.own,
      el(
        'div.row',
        el('label.check', this.stay, 'Stay open for more prompts when the turn is over'),
        el('span.grow'),
        this.start,
      ),
    );
    fill(stage, this.form);
    this.choose(wanted);
    here([{ keys: 'Escape', does: 'leave the field', act: () => {} }]);
    this.prompt.focus();
  }

  agents(wanted) {
    const radio = (agent) =>
      el(
        'label.agent-choice',
        el('input', {
          type: 'radio',
          name: 'agent',
          value: agent.id,
          test: 'agent',
          checked: agent === wanted,
          onchange: () => this.choose(agent),
        }),
        el('span', el('b', agent.title), el('small', about(agent))),
      );
    const missing =
      this.missing.length > 0 &&
      el(
        'details.missing',
        el('summary', `${this.missing.length} not ready`),
        el(
          'ul',
          this.missing.map((agent) =>
            el(
              'li',
              { test: 'agent-missing', data: { id: agent.id } },
              el('b', agent.title),
              ` ${agent.state === 'tooOld' ? `is too old${agent.version ? ` (${agent.version})` : ''}` : 'is not installed'}`,
              (agent.hint ?? agent.install) && el('code', agent.hint ?? agent.install),
            ),
          ),
        ),
      );
    return el('fieldset.agents', el('legend', 'Agent'), el('div.agent-choices', this.usable.map(radio)), missing);
  }

  // The settings that the agent has, as it was last seen.
  choose(agent) {
    this.agent = agent;
    const last = this.last.of?.[agent?.id] ?? {};
    const defaults = this.page.defaults ?? {};
    const { models = [], modes = [], options = [] } = agent ?? {};
    const names = models.map((model) => el('option', { value: model.id }, model.name));
    this.model = el('input', {
      id: 'model',
      test: 'model',
      type: 'text',
      list: 'models',
      value: last.model ?? '',
      placeholder: models.find((model) => model.default)?.id ?? 'the agent’s own',
      autocomplete: 'off',
    });
    this.approval = choice(
      'approval-mode',
      'Approvals',
      Object.entries(APPROVAL),
      this.last.approval ?? defaults.approvalMode ?? 'ask',
    );
    this.sandbox = choice(
      'sandbox-mode',
      'Sandbox',
      Object.entries(SANDBOX),
      this.last.sandbox ?? defaults.sandboxMode ?? 'none',
    );
    this.mode = modes.length > 0 && choice('mode', 'Mode', [['', 'the agent’s own'], ...pairs(modes)], last.mode ?? '');
    this.options = options.map((option) => ownChoice(option, last.options?.[option.id] ?? ''));
    fill(
      this.own,
      field('Model', [this.model, el('datalist', { id: 'models' }, names)], 'model'),
      [this.approval, this.sandbox, this.mode, ...this.options].map(
        (control) => control && field(control.title, control),
      ),
      field('Project', this.project, 'project'),
    );
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
    const options = Object.fromEntries(
      this.options.filter((control) => control.value).map((control) => [control.option.id, control.value]),
    );
    const config = {
      workingDirectory: this.folder.input.value.trim().replace(/^~(?=\/|$)/, this.page.home) || undefined,
      model: this.model.value.trim() || undefined,
      approvalMode: this.approval.value,
      sandboxMode: this.sandbox.value,
      mode: this.mode?.value || undefined,
      options: Object.keys(options).length ? options : undefined,
    };
    return {
      agentType: this.agent.id,
      prompt: this.prompt.value,
      projectId: this.project.value.trim() || undefined,
      stay: this.stay.checked || undefined,
      config,
    };
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
    const of = {
      ...this.last.of,
      [this.agent.id]: { model: config.model, mode: config.mode, options: config.options },
    };
    remember('new', {
      agent: this.agent.id,
      folder: config.workingDirectory,
      project: projectId,
      approval: config.approvalMode,
      sandbox: config.sandboxMode,
      stay: this.stay.checked,
      of,
    });
    remember('draft', '');
  }
}

// Version and what is missing, in a few words.
function about(agent) {
  const words =
    { builtIn: '', newer: `${agent.version}, newer than tested`, unknownVersion: 'version unknown' }[agent.state] ??
    agent.version ??
    '';
  const login = agent.login?.state === 'no' ? ` · not signed in: ${clip(agent.login.how, 80)}` : '';
  return words + login;
}

const pairs = (values) => values.map((value) => [value.id, value.name || value.id]);

function choice(test, name, values, chosen) {
  return Object.assign(select(test, name, values, chosen), { id: test });
}

// A selector of the agent's own: unless something is chosen, it keeps what it has.
function ownChoice(option, chosen) {
  const values = pairs(option.values ?? []);
  const now = values.find(([id]) => id === option.value)?.[1] ?? option.value;
  const made = Object.assign(select('option', option.name, [['', `${now} (now)`], ...values], chosen), {
    id: `option-${option.id}`,
    option,
  });
  made.dataset.id = option.id;
  return made;
}

function field(label, control, id) {
  return el('div.field', el('label', { for: id ?? control.id }, label), control);
}
