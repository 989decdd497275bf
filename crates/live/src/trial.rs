//! What a scenario is given: a stage, an agent, and Switchboard.

use std::{path::Path, thread, time::Duration};

use anyhow::{Context as _, ensure};
use switchboard_agents::{Abilities, Agent, agent};
use switchboard_engine::find::override_variable;
use switchboard_event::Event;
use switchboard_testkit::{
    clis::Cli,
    fake,
    stage::{Ended, Running, Stage},
};

use crate::heard::{Heard, complete};

/// How often something is looked at that cannot be waited for, and how often at most.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: usize = 6_000;

/// One scenario with one agent.
pub struct Trial<'a> {
    /// Where it plays; nobody else is there.
    pub stage: Stage,
    /// The agent.
    pub cli: &'static Cli,
    /// Switchboard's program.
    pub switchboard: &'a Path,
    /// The sandbox of sessions that choose none themselves.
    pub sandbox: Option<&'a str>,
}

/// The agent as Switchboard knows it.
pub fn known(cli: &Cli) -> anyhow::Result<&'static Agent> {
    agent(cli.name).with_context(|| format!("there is no agent {}", cli.name))
}

/// What an agent can do; nothing, if Switchboard does not know it.
pub fn abilities(cli: &Cli) -> Abilities {
    known(cli).map_or(Abilities::NONE, |agent| agent.abilities)
}

impl Trial<'_> {
    /// Runs Switchboard to its end.
    pub fn switchboard(&self, args: &[&str], stdin: &str) -> anyhow::Result<Ended> {
        self.stage.run(self.switchboard, args, stdin)
    }

    /// Runs the agent itself with one prompt, and has Switchboard translate what it printed.
    pub fn one_shot(&self, prompt: &str) -> anyhow::Result<Heard> {
        self.translated(self.stage.one_shot(self.cli, prompt)?.end()?)
    }

    /// What the agent itself printed, translated by Switchboard.
    pub fn translated(&self, ended: Ended) -> anyhow::Result<Heard> {
        let translated = self.translate(self.cli.source, &ended.stdout)?;
        Heard::new(&translated, ended)
    }

    /// Records, translated to events.
    pub fn translate(&self, source: &str, records: &str) -> anyhow::Result<String> {
        let translated = self.switchboard(&["translate", "--from", source, "--to", "events"], records)?;
        ensure!(translated.code == Some(0), "translate: {}", translated.shown());
        Ok(translated.stdout)
    }

    /// Has Switchboard run the agent to its end, and tell events.
    pub fn run(&self, prompt: &str, flags: &[&str]) -> anyhow::Result<Heard> {
        heard(self.start(prompt, flags)?)
    }

    /// Has Switchboard run the agent.
    pub fn start(&self, prompt: &str, flags: &[&str]) -> anyhow::Result<Running> {
        self.begin(&[&["run", self.cli.name, prompt, "--dialect", "events"], flags].concat(), &[])
    }

    /// Continues the last session in a new process, to its end.
    pub fn resume(&self, prompt: &str, flags: &[&str]) -> anyhow::Result<Heard> {
        let words = ["run", "--resume", "last", prompt, "--dialect", "events"];
        heard(self.begin(&[&words, flags].concat(), &[])?)
    }

    /// Starts Switchboard with sessions of this stage, nothing to read and other variables.
    pub fn begin(&self, args: &[&str], variables: &[(&str, Option<&str>)]) -> anyhow::Result<Running> {
        self.begin_in(&self.stage.project(), args, variables)
    }

    /// The same from another folder than the project's.
    pub fn begin_in(
        &self,
        folder: &Path,
        args: &[&str],
        variables: &[(&str, Option<&str>)],
    ) -> anyhow::Result<Running> {
        let data = self.stage.data();
        let mut command = self.stage.command(self.switchboard, args);
        let is_free = args.first() == Some(&"run") && !args.contains(&"--sandbox");
        command.args(self.sandbox.filter(|_| is_free).into_iter().flat_map(|sandbox| ["--sandbox", sandbox]));
        command.current_dir(folder).arg("--data").arg(data);
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut running = Running::start(command)?;
        running.close_input();
        Ok(running)
    }

    /// Has Switchboard run a fake in the agent's place, and tell events.
    pub fn fake(&self, script: &str, prompt: &str, flags: &[&str]) -> anyhow::Result<Running> {
        let fake = self.fake_program(script)?;
        let args = [&["run", self.cli.name, prompt, "--dialect", "events"], flags].concat();
        self.begin(&args, &[(&override_variable(self.cli.name), Some(&fake))])
    }

    /// Makes a fake that speaks as the agent does.
    pub fn fake_program(&self, script: &str) -> anyhow::Result<String> {
        let speaks = self.cli.fake.context("no fake can be put in its place")?;
        let script = format!("speak {speaks}\n{script}");
        let program = fake::program(&self.stage.root().join("fakes"), self.cli.program, &script)?;
        Ok(program.to_string_lossy().into_owned())
    }
}

/// What was told, once it has ended.
pub fn heard(running: Running) -> anyhow::Result<Heard> {
    let ended = running.end()?;
    Heard::new(&ended.stdout.clone(), ended)
}

/// Waits until an event was told that is as it should be.
pub fn wait_for(running: &Running, what: &str, wanted: impl Fn(&Event) -> bool) -> anyhow::Result<()> {
    let is_wanted = |line: &str| Event::from_json(line).is_ok_and(|event| wanted(&event));
    running.wait_for(what, |printed| complete(printed).any(is_wanted))
}

/// Waits until something is so that nobody tells of.
pub fn until(what: &str, is_so: impl Fn() -> bool) -> anyhow::Result<()> {
    for _ in 0..LOOKS {
        if is_so() {
            return Ok(());
        }
        thread::sleep(LOOK);
    }
    anyhow::bail!("never: {what}")
}
