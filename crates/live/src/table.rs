//! The scenarios. A new one is a function in a file of `scenarios`, and a line here.

use switchboard_agents::LOGS;
use switchboard_testkit::clis::Cli;

use crate::{
    scenarios::{
        approvals, choices, consumers, continued, editor, fakes, harness, listed, one_shot, refused, run, same,
        sandbox, script, stops,
    },
    trial::{Trial, abilities},
};

/// Something that must hold when an agent runs.
pub struct Scenario {
    /// What holds, in a few words.
    pub name: &'static str,
    /// The agents for which it is meant.
    pub with: fn(&Cli) -> bool,
    /// Tries it.
    pub run: fn(&Trial) -> anyhow::Result<()>,
    /// It needs to write to the project, so that it fails where nothing can be written.
    pub writes: bool,
}

impl Scenario {
    const fn new(name: &'static str, run: fn(&Trial) -> anyhow::Result<()>) -> Self {
        Self { name, with: |_| true, run, writes: false }
    }

    /// One that needs to write to the project.
    const fn writing(self) -> Self {
        Self { writes: true, ..self }
    }

    /// Only for some agents.
    const fn only(self, with: fn(&Cli) -> bool) -> Self {
        Self { with, ..self }
    }
}

/// A fake can be put in its place.
fn is_faked(cli: &Cli) -> bool {
    cli.fake.is_some()
}

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    Scenario::new("run says a text", run::text),
    Scenario::new("run runs commands", run::command).writing(),
    Scenario::new("run changes a file", run::file).writing(),
    Scenario::new("approval with nobody there", approvals::nobody).only(|cli| abilities(cli).approvals),
    Scenario::new("approval by a rule", approvals::allowed).only(|cli| abilities(cli).approvals),
    Scenario::new("approval of a blocked tool", approvals::blocked).only(|cli| abilities(cli).approvals),
    Scenario::new("approval by a person", approvals::person).only(|cli| abilities(cli).approvals),
    Scenario::new("approval by nobody on a terminal", approvals::hangs_up).only(|cli| abilities(cli).approvals),
    Scenario::new("approval by a client", continued::answered).only(|cli| abilities(cli).approvals),
    Scenario::new("session stays for more prompts", continued::session),
    Scenario::new("session goes on after an interrupt", continued::interrupted).only(|cli| abilities(cli).interrupt),
    Scenario::new("session is continued and copied", continued::resumed).only(|cli| abilities(cli).resume),
    Scenario::new("session is cleared", continued::cleared).only(|cli| cli.clears),
    Scenario::new("session of the program itself is listed and continued", listed::adopted)
        .only(|cli| abilities(cli).resume && LOGS.iter().any(|logs| logs.agent == cli.name)),
    Scenario::new("consumers of one session", consumers::together).only(|cli| abilities(cli).approvals),
    Scenario::new("choices are told without a session", choices::discovered),
    Scenario::new("choices of a model reach the model", choices::model).only(|cli| abilities(cli).set_model),
    Scenario::new("choices of an effort reach the model", choices::effort).only(|cli| cli.thinks),
    Scenario::new("choices of commands", choices::command).only(|cli| cli.compacts),
    Scenario::new("editor asks its user", editor::permissions).only(|cli| abilities(cli).approvals),
    Scenario::new("editor shows a change", editor::diff).only(|cli| abilities(cli).approvals),
    Scenario::new("editor stops a turn", editor::cancelled).only(|cli| abilities(cli).interrupt),
    Scenario::new("editor loads a session", editor::loaded).only(|cli| abilities(cli).resume),
    Scenario::new("harness runs turns and asks", harness::turns),
    Scenario::new("harness is interrupted and resumed", harness::resumed),
    Scenario::new("harness changes model and effort", harness::chosen),
    Scenario::new("stop in the middle of a text", stops::text),
    Scenario::new("stop by a person", stops::person),
    Scenario::new("stop in the middle of a command", stops::command),
    Scenario::new("stop by a time-out", stops::time_out),
    Scenario::new("stop by a crash of the agent", stops::crash),
    Scenario::new("stop by a kill of switchboard", stops::killed),
    Scenario::new("sandbox for reading", sandbox::read_only),
    Scenario::new("sandbox for the workspace", sandbox::workspace_write),
    Scenario::new("sandbox protects a repository", sandbox::repository),
    Scenario::new("sandbox protects the settings of the agent", sandbox::settings),
    Scenario::new("same live and translated", same::same),
    Scenario::new("refused before the start", refused::before_the_start),
    Scenario::new("refused without a key", refused::key).only(|cli| cli.key.is_some()),
    Scenario::new("fails with a model that is not there", refused::model),
    Scenario::new("fails without a network", refused::network).only(|cli| cli.gives_up && !cli.terse),
    Scenario::new("fails with an error of the API", refused::api),
    Scenario::new("fake crashes in a line", fakes::crash).only(is_faked),
    Scenario::new("fake ignores signals", fakes::stubborn).only(is_faked),
    Scenario::new("fake leaves children", fakes::children).only(is_faked),
    Scenario::new("fake outlives switchboard", fakes::killed).only(is_faked),
    Scenario::new("fake prints garbage", fakes::garbage).only(is_faked),
    Scenario::new("fake ends without a result", fakes::silent_end).only(is_faked),
    Scenario::new("fake ends before it begins", fakes::no_start).only(is_faked),
    Scenario::new("fake closes its output", fakes::mute).only(is_faked),
    Scenario::new("fake does nothing more", fakes::idle).only(is_faked),
    Scenario::new("fake prints a huge line", fakes::huge).only(|cli| cli.fake == Some("stream-json")),
    Scenario::new("fake hangs in the handshake", fakes::handshake).only(is_faked),
    Scenario::new("fake asks and nobody answers", fakes::unanswered).only(is_faked),
    Scenario::new("one shot says a text", one_shot::text),
    Scenario::new("one shot runs a command", one_shot::command),
    Scenario::new("one shot runs two commands together", one_shot::parallel),
    Scenario::new("one shot writes a file", one_shot::file),
    Scenario::new("one shot reports an error of the API", one_shot::error),
    Scenario::new("one shot reports a stream that breaks off", one_shot::cut).only(|cli| cli.gives_up),
    Scenario::new("script has steps", script::steps),
    Scenario::new("script holds an answer back", script::hold),
    Scenario::new("script drives subagents", script::subagent).only(|cli| cli.delegate.is_some()),
];
