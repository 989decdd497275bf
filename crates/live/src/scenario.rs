//! The scenarios, and the runner, which plays several at a time, each on its own stage. A new scenario is a function in a
//! file of `scenarios` and a line here.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, anyhow, ensure};
use parking_lot::Mutex;
use switchboard_agents::LOGS;
use switchboard_event::SandboxMode;
use switchboard_testkit::clis::AgentCli;
use switchboard_testkit::stage::{AgentStage, StagePrograms};

use crate::print_line;
use crate::scenarios::{approvals, failures, protocols, sandbox, sessions, stops, turns};
use crate::trial::{LiveTrial, agent_abilities, sandbox_flag};

/// A scenario with an agent.
struct LiveScenario {
    /// The expectation, in a few words.
    pub name: &'static str,
    /// The agents that it applies to.
    pub with: fn(&AgentCli) -> bool,
    pub run: fn(&LiveTrial) -> anyhow::Result<()>,
    pub confinement: ScenarioConfinement,
    /// It also starts the agent without a session, which no sandbox confines.
    pub starts_agent_directly: bool,
}

/// The sandboxes in which a scenario runs.
#[derive(Clone, Copy)]
enum ScenarioConfinement {
    Any,
    /// Only without a given sandbox: its sessions choose their own.
    OwnChoice,
    Required,
}

impl ScenarioConfinement {
    /// Returns whether a scenario runs in a sandbox; `None` stands for no sandbox.
    fn includes(self, sandbox: Option<SandboxMode>) -> bool {
        match self {
            Self::Any => true,
            Self::OwnChoice => sandbox.is_none(),
            Self::Required => sandbox.is_some(),
        }
    }
}

impl LiveScenario {
    const fn new(name: &'static str, run: fn(&LiveTrial) -> anyhow::Result<()>) -> Self {
        Self { name, with: |_| true, run, confinement: ScenarioConfinement::Any, starts_agent_directly: false }
    }

    /// It also starts the agent without a session.
    const fn starting_agent_directly(self) -> Self {
        Self { starts_agent_directly: true, ..self }
    }

    /// Its sessions choose their sandboxes.
    const fn choosing_sandboxes(self) -> Self {
        Self { confinement: ScenarioConfinement::OwnChoice, ..self }
    }

    /// It is about confined sessions, in every sandbox.
    const fn confined(self) -> Self {
        Self { confinement: ScenarioConfinement::Required, ..self }
    }

    const fn is_about_confinement(&self) -> bool {
        matches!(self.confinement, ScenarioConfinement::Required)
    }

    const fn only(self, with: fn(&AgentCli) -> bool) -> Self {
        Self { with, ..self }
    }
}

/// Returns whether a fake can replace the agent.
fn has_fake(cli: &AgentCli) -> bool {
    cli.fake.is_some()
}

const SCENARIOS: &[LiveScenario] = &[
    LiveScenario::new("run says a text", turns::say_text),
    LiveScenario::new("run runs commands", turns::run_commands),
    LiveScenario::new("run changes a file", turns::write_file),
    LiveScenario::new("approval without a client", approvals::decline_without_client)
        .only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("approval by a rule", approvals::allow_by_rule).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("approval of a blocked tool", approvals::block_tool).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("approval by a person", approvals::answer_on_terminal).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("approval on a terminal that hangs up", approvals::hang_up_terminal)
        .only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("approval by a client", sessions::answer_requests).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("session stays for more prompts", sessions::stay_for_prompts),
    LiveScenario::new("session goes on after an interrupt", sessions::interrupt_and_continue)
        .only(|cli| agent_abilities(cli).interrupt),
    LiveScenario::new("session is continued and copied", sessions::resume_and_fork)
        .only(|cli| agent_abilities(cli).resume),
    LiveScenario::new("session is cleared", sessions::clear_conversation).only(|cli| cli.clears),
    LiveScenario::new("session of the program itself is listed and continued", sessions::adopt_session)
        .only(|cli| agent_abilities(cli).resume && LOGS.iter().any(|logs| logs.agent == cli.name))
        .starting_agent_directly(),
    LiveScenario::new("consumers of one session", protocols::share_session).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("choices are known without a session", sessions::discover_options),
    LiveScenario::new("choices of a model reach the model", sessions::select_model)
        .only(|cli| agent_abilities(cli).set_model),
    LiveScenario::new("choices of an effort reach the model", sessions::select_effort).only(|cli| cli.thinks),
    LiveScenario::new("choices of commands", sessions::run_slash_command).only(|cli| cli.compacts),
    LiveScenario::new("editor asks its user", protocols::ask_permissions).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("editor shows a change", protocols::show_diff).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("editor stops a turn", protocols::cancel_turns).only(|cli| agent_abilities(cli).interrupt),
    LiveScenario::new("editor loads a session", protocols::load_session).only(|cli| agent_abilities(cli).resume),
    LiveScenario::new("harness runs turns and asks", protocols::run_turns),
    LiveScenario::new("harness is interrupted and resumed", protocols::interrupt_and_resume),
    // `model/list` belongs to no thread.
    LiveScenario::new("harness changes model and effort", protocols::select_model_and_effort).starting_agent_directly(),
    LiveScenario::new("stop in the middle of a text", stops::interrupt_text),
    LiveScenario::new("stop by a person", stops::interrupt_on_terminal),
    LiveScenario::new("stop in the middle of a command", stops::interrupt_command),
    LiveScenario::new("stop by a time-out", stops::stop_by_timeout),
    LiveScenario::new("stop by a crash of the agent", stops::crash_agent),
    LiveScenario::new("stop by a kill of switchboard", stops::kill_switchboard),
    LiveScenario::new("sandbox for reading", sandbox::enforce_read_only).choosing_sandboxes(),
    LiveScenario::new("sandbox for the workspace", sandbox::enforce_workspace_write).choosing_sandboxes(),
    LiveScenario::new("sandbox protects a repository", sandbox::protect_repository).choosing_sandboxes(),
    LiveScenario::new("sandbox protects the settings of the agent", sandbox::protect_settings).choosing_sandboxes(),
    LiveScenario::new("network leads to the model through the proxy", sandbox::reach_remote_model).confined(),
    LiveScenario::new("network refuses all other ways out", sandbox::refuse_escape_routes).confined(),
    LiveScenario::new("same live and translated", turns::compare_translation),
    LiveScenario::new("refused before the start", failures::refuse_before_start),
    LiveScenario::new("refused without a key", failures::require_key).only(|cli| cli.key.is_some()),
    LiveScenario::new("fails with a model that is not there", failures::reject_unknown_model),
    LiveScenario::new("fails without a network", failures::report_unreachable_model)
        .only(|cli| cli.gives_up && !cli.terse),
    LiveScenario::new("fails with an error of the API", failures::report_api_error),
    LiveScenario::new("fake crashes in a line", stops::crash_mid_line).only(has_fake),
    LiveScenario::new("fake ignores signals", stops::ignore_signals).only(has_fake),
    LiveScenario::new("fake leaves children", stops::leave_children).only(has_fake),
    LiveScenario::new("fake outlives switchboard", stops::outlive_switchboard).only(has_fake),
    LiveScenario::new("fake prints garbage", stops::print_garbage).only(has_fake),
    LiveScenario::new("fake ends without a result", stops::end_mid_turn).only(has_fake),
    LiveScenario::new("fake ends before it begins", stops::end_before_start).only(has_fake),
    LiveScenario::new("fake closes its output", stops::close_output).only(has_fake),
    LiveScenario::new("fake does nothing more", stops::stop_responding).only(has_fake),
    LiveScenario::new("fake prints a huge line", stops::print_huge_line).only(|cli| cli.fake == Some("stream-json")),
    LiveScenario::new("fake hangs in the handshake", stops::hang_in_handshake).only(has_fake),
    LiveScenario::new("fake request without an answer", stops::leave_unanswered).only(has_fake),
    LiveScenario::new("one shot says a text", turns::one_shot_text),
    LiveScenario::new("one shot runs a command", turns::run_command),
    LiveScenario::new("one shot runs two commands together", turns::run_parallel_commands),
    LiveScenario::new("one shot writes a file", turns::one_shot_write),
    LiveScenario::new("one shot reports an error of the API", turns::report_api_error),
    LiveScenario::new("one shot reports a stream that breaks off", turns::report_broken_stream)
        .only(|cli| cli.gives_up),
    LiveScenario::new("script has steps", turns::follow_steps),
    LiveScenario::new("script holds an answer back", turns::hold_answer),
    LiveScenario::new("script drives subagents", turns::run_subagent).only(|cli| cli.delegate.is_some()),
];

/// Time for processes to exit after a scenario.
pub const PROCESS_EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of lines of an agent's own log that are shown with a failure.
const DIAGNOSTIC_LINES: usize = 60;

/// The scenarios to run.
pub struct ScenarioPlan {
    pub switchboard: PathBuf,
    pub clis: Vec<&'static AgentCli>,
    pub only: String,
    /// The sandboxes to run sessions in; empty means without a sandbox.
    pub sandboxes: Vec<SandboxMode>,
    /// Scenarios run in one of the sandboxes, in turn; those about confinement run in all.
    pub is_alternating: bool,
}

/// A scenario with an agent, in a sandbox or not.
struct ScenarioCase {
    cli: &'static AgentCli,
    scenario: &'static LiveScenario,
    sandbox: Option<SandboxMode>,
}

impl ScenarioCase {
    fn is_applicable(&self) -> bool {
        (self.scenario.with)(self.cli) && self.scenario.confinement.includes(self.sandbox)
    }

    fn display_name(&self) -> String {
        let sandbox = self.sandbox.map(|sandbox| format!(" ({})", sandbox_flag(sandbox))).unwrap_or_default();
        format!("{} {}{sandbox}", self.cli.name, self.scenario.name)
    }
}

impl ScenarioPlan {
    fn scenario_cases(&self) -> VecDeque<ScenarioCase> {
        let sandboxes: Vec<_> = match self.sandboxes.as_slice() {
            [] => vec![None],
            named => named.iter().copied().map(Some).collect(),
        };
        let mut cases = VecDeque::new();
        for (sandbox_index, sandbox) in sandboxes.iter().copied().enumerate() {
            for (cli_index, cli) in self.clis.iter().copied().enumerate() {
                for (index, scenario) in SCENARIOS.iter().enumerate() {
                    let is_next = (index + cli_index) % sandboxes.len() == sandbox_index;
                    let is_chosen = !self.is_alternating || is_next || scenario.is_about_confinement();
                    let case = ScenarioCase { cli, scenario, sandbox };
                    if is_chosen && case.is_applicable() && case.display_name().contains(&self.only) {
                        cases.push_back(case);
                    }
                }
            }
        }
        cases
    }
}

/// Runs all planned scenarios. Returns whether none failed.
pub fn run_all(programs: &StagePrograms, plan: &ScenarioPlan, jobs: usize) -> bool {
    let parts = plan.scenario_cases();
    let count = parts.len();
    let (waiting, failed) = (Mutex::new(parts), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(part) = next_case(&waiting) {
            let (title, begin) = (part.display_name(), Instant::now());
            let result = run_case(programs, &plan.switchboard, &part);
            let seconds = begin.elapsed().as_secs_f32();
            match result {
                Ok(()) => print_line(&format!("ok      {title} ({seconds:.1} s)")),
                Err(error) => {
                    print_line(&format!("FAILED  {title} ({seconds:.1} s): {error:#}"));
                    failed.lock().push(title);
                }
            }
        }
    };
    thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(worker))));
    let failed = failed.into_inner();
    print_line(&format!("{} passed, {} failed", count - failed.len(), failed.len()));
    failed.iter().for_each(|title| print_line(&format!("FAILED  {title}")));
    count > 0 && failed.is_empty()
}

fn next_case(waiting: &Mutex<VecDeque<ScenarioCase>>) -> Option<ScenarioCase> {
    waiting.lock().pop_front()
}

/// Runs one scenario with one agent. No process may be left, and a sandbox must have protected its files.
fn run_case(programs: &StagePrograms, switchboard: &Path, part: &ScenarioCase) -> anyhow::Result<()> {
    let stage = AgentStage::new(programs).context("no stage")?;
    let trial = LiveTrial { stage, cli: part.cli, switchboard, sandbox: part.sandbox };
    let before = protected_files(&trial, part.scenario);
    let tried = catch_unwind(AssertUnwindSafe(|| (part.scenario.run)(&trial)));
    let result = tried.unwrap_or_else(|_| Err(anyhow!("the scenario panicked")));
    let after = protected_files(&trial, part.scenario);
    let is_same = |path: &&PathBuf| before.get(*path) == after.get(*path);
    let changed: Vec<_> = before.keys().chain(after.keys()).filter(|path| !is_same(path)).collect();
    ensure!(changed.is_empty(), "the sandbox let these files be changed: {changed:?}; {result:?}");
    if let Err(error) = result {
        return Err(anyhow!("{error:#}{}", diagnostic_tail(&trial)));
    }
    let left = trial.stage.leftover_processes_after(PROCESS_EXIT_TIMEOUT);
    ensure!(left.is_empty(), "processes are left behind: {left:?}");
    Ok(())
}

/// Returns the end of the agent's own diagnostic logs, newest last.
fn diagnostic_tail(trial: &LiveTrial<'_>) -> String {
    let Some(directory) = trial.cli.diagnostics else { return String::new() };
    let text: String = files_below(&trial.stage.home_dir().join(directory))
        .into_values()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    let lines: Vec<_> = text.lines().collect();
    let last = lines.len().saturating_sub(DIAGNOSTIC_LINES);
    format!("\nthe agent's own log ends with:\n{}", lines.get(last..).unwrap_or_default().join("\n"))
}

/// Returns the files that the sandbox of a trial protects: temporary files of others and those in the home directory
/// that belong to no agent; with a read-only sandbox, the project too.
fn protected_files(trial: &LiveTrial<'_>, scenario: &LiveScenario) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    if !trial.can_write() {
        files.extend(files_below(&trial.stage.project_dir()));
    }
    if trial.sandbox.is_some() && !scenario.starts_agent_directly {
        files.extend(files_below(&trial.stage.root_dir().join("tmp")));
        let in_home = fs::read_dir(trial.stage.home_dir()).into_iter().flatten().flatten().map(|entry| entry.path());
        files.extend(in_home.filter(|path| path.is_file()).map(|path| (path.clone(), read_file(&path))));
    }
    files
}

fn files_below(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.insert(path.clone(), read_file(&path));
        }
    }
    files
}

fn read_file(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_default()
}
