//! The scenarios. A new one is a function in a file of `scenarios` and a line here.

use switchboard_agents::LOGS;
use switchboard_event::SandboxMode;
use switchboard_testkit::clis::AgentCli;

use crate::{
    scenarios::{
        approvals, choices, consumers, continued, editor, fakes, harness, listed, network, one_shot, refused, run,
        same, sandbox, script, stops,
    },
    trial::{LiveTrial, agent_abilities},
};

/// A scenario with an agent.
pub struct LiveScenario {
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
pub enum ScenarioConfinement {
    Any,
    /// Only without a given sandbox: its sessions choose their own.
    OwnChoice,
    Required,
}

impl ScenarioConfinement {
    /// Returns whether a scenario runs in a sandbox; `None` stands for no sandbox.
    pub fn includes(self, sandbox: Option<SandboxMode>) -> bool {
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

    const fn only(self, with: fn(&AgentCli) -> bool) -> Self {
        Self { with, ..self }
    }
}

/// Returns whether a fake can replace the agent.
fn has_fake(cli: &AgentCli) -> bool {
    cli.fake.is_some()
}

pub const SCENARIOS: &[LiveScenario] = &[
    LiveScenario::new("run says a text", run::say_text),
    LiveScenario::new("run runs commands", run::run_commands),
    LiveScenario::new("run changes a file", run::write_file),
    LiveScenario::new("approval without a client", approvals::decline_without_client)
        .only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("approval by a rule", approvals::allow_by_rule).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("approval of a blocked tool", approvals::block_tool).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("approval by a person", approvals::answer_on_terminal).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("approval on a terminal that hangs up", approvals::hang_up_terminal)
        .only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("approval by a client", continued::answer_requests).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("session stays for more prompts", continued::stay_for_prompts),
    LiveScenario::new("session goes on after an interrupt", continued::interrupt_and_continue)
        .only(|cli| agent_abilities(cli).interrupt),
    LiveScenario::new("session is continued and copied", continued::resume_and_fork)
        .only(|cli| agent_abilities(cli).resume),
    LiveScenario::new("session is cleared", continued::clear_conversation).only(|cli| cli.clears),
    LiveScenario::new("session of the program itself is listed and continued", listed::adopt_session)
        .only(|cli| agent_abilities(cli).resume && LOGS.iter().any(|logs| logs.agent == cli.name))
        .starting_agent_directly(),
    LiveScenario::new("consumers of one session", consumers::share_session).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("choices are told without a session", choices::discover_options),
    LiveScenario::new("choices of a model reach the model", choices::select_model)
        .only(|cli| agent_abilities(cli).set_model),
    LiveScenario::new("choices of an effort reach the model", choices::select_effort).only(|cli| cli.thinks),
    LiveScenario::new("choices of commands", choices::run_slash_command).only(|cli| cli.compacts),
    LiveScenario::new("editor asks its user", editor::ask_permissions).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("editor shows a change", editor::show_diff).only(|cli| agent_abilities(cli).approvals),
    LiveScenario::new("editor stops a turn", editor::cancel_turns).only(|cli| agent_abilities(cli).interrupt),
    LiveScenario::new("editor loads a session", editor::load_session).only(|cli| agent_abilities(cli).resume),
    LiveScenario::new("harness runs turns and asks", harness::run_turns),
    LiveScenario::new("harness is interrupted and resumed", harness::interrupt_and_resume),
    // `model/list` belongs to no thread.
    LiveScenario::new("harness changes model and effort", harness::select_model_and_effort).starting_agent_directly(),
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
    LiveScenario::new("network leads to the model through the proxy", network::reach_remote_model).confined(),
    LiveScenario::new("network refuses all other ways out", network::refuse_escape_routes).confined(),
    LiveScenario::new("same live and translated", same::compare_translation),
    LiveScenario::new("refused before the start", refused::refuse_before_start),
    LiveScenario::new("refused without a key", refused::require_key).only(|cli| cli.key.is_some()),
    LiveScenario::new("fails with a model that is not there", refused::reject_unknown_model),
    LiveScenario::new("fails without a network", refused::report_unreachable_model)
        .only(|cli| cli.gives_up && !cli.terse),
    LiveScenario::new("fails with an error of the API", refused::report_api_error),
    LiveScenario::new("fake crashes in a line", fakes::crash_mid_line).only(has_fake),
    LiveScenario::new("fake ignores signals", fakes::ignore_signals).only(has_fake),
    LiveScenario::new("fake leaves children", fakes::leave_children).only(has_fake),
    LiveScenario::new("fake outlives switchboard", fakes::outlive_switchboard).only(has_fake),
    LiveScenario::new("fake prints garbage", fakes::print_garbage).only(has_fake),
    LiveScenario::new("fake ends without a result", fakes::end_mid_turn).only(has_fake),
    LiveScenario::new("fake ends before it begins", fakes::end_before_start).only(has_fake),
    LiveScenario::new("fake closes its output", fakes::close_output).only(has_fake),
    LiveScenario::new("fake does nothing more", fakes::stop_responding).only(has_fake),
    LiveScenario::new("fake prints a huge line", fakes::print_huge_line).only(|cli| cli.fake == Some("stream-json")),
    LiveScenario::new("fake hangs in the handshake", fakes::hang_in_handshake).only(has_fake),
    LiveScenario::new("fake request without an answer", fakes::leave_unanswered).only(has_fake),
    LiveScenario::new("one shot says a text", one_shot::say_text),
    LiveScenario::new("one shot runs a command", one_shot::run_command),
    LiveScenario::new("one shot runs two commands together", one_shot::run_parallel_commands),
    LiveScenario::new("one shot writes a file", one_shot::write_file),
    LiveScenario::new("one shot reports an error of the API", one_shot::report_api_error),
    LiveScenario::new("one shot reports a stream that breaks off", one_shot::report_broken_stream)
        .only(|cli| cli.gives_up),
    LiveScenario::new("script has steps", script::follow_steps),
    LiveScenario::new("script holds an answer back", script::hold_answer),
    LiveScenario::new("script drives subagents", script::run_subagent).only(|cli| cli.delegate.is_some()),
];
