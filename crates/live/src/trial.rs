//! The environment of a scenario: a stage, an agent, and Switchboard.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use switchboard_agents::{Abilities, Agent, find_agent};
use switchboard_engine::program_override_variable;
use switchboard_event::{Event, SandboxMode, SessionConfig, Status};
use switchboard_testkit::clis::AgentCli;
use switchboard_testkit::fake;
use switchboard_testkit::load::{BufferedSocket, RunningServer, TestApiClient, WebSocketFeed, free_port};
use switchboard_testkit::stage::{AgentStage, StageProcess, StageProcessOutput};

use crate::observed_run::{ObservedRun, complete_lines};

/// Interval and limit for conditions that can only be polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const MAX_POLLS: usize = 6_000;

pub struct LiveTrial<'a> {
    pub stage: AgentStage,
    pub cli: &'static AgentCli,
    pub switchboard: &'a Path,
    /// The sandbox of sessions that do not choose one.
    pub sandbox: Option<SandboxMode>,
}

/// Returns the command-line name of a sandbox.
pub fn sandbox_flag(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::None => "none",
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::FullAccess => "full-access",
    }
}

/// Errors with which tools report an unwritable file, in lower case: of the C library, of Node.js, and those that
/// agents word themselves.
const WRITE_ERRORS: &[&str] =
    &["read-only file system", "erofs", "failed to write file", "unknown: filesystem.writefile"];

pub fn known_agent(cli: &AgentCli) -> anyhow::Result<&'static Agent> {
    find_agent(cli.name).with_context(|| format!("there is no agent {}", cli.name))
}

/// Returns the abilities of an agent; none if Switchboard does not know it.
pub fn agent_abilities(cli: &AgentCli) -> Abilities {
    known_agent(cli).map_or(Abilities::NONE, |agent| agent.abilities)
}

impl LiveTrial<'_> {
    pub fn run_switchboard(&self, args: &[&str], stdin: &str) -> anyhow::Result<StageProcessOutput> {
        self.stage.run(self.switchboard, args, stdin)
    }

    pub fn sandbox_options(&self) -> Vec<&'static str> {
        self.sandbox.into_iter().flat_map(|mode| ["--sandbox", sandbox_flag(mode)]).collect()
    }

    pub fn session_config(&self, directory: &Path) -> SessionConfig {
        SessionConfig {
            working_directory: Some(directory.to_string_lossy().into_owned()),
            sandbox_mode: self.sandbox,
            ..SessionConfig::default()
        }
    }

    /// Returns whether agents can write to the project.
    pub fn can_write(&self) -> bool {
        self.sandbox != Some(SandboxMode::ReadOnly)
    }

    /// Returns the status of an item that changes a file of the project.
    pub fn change_status(&self) -> Status {
        if self.can_write() { Status::Completed } else { Status::Failed }
    }

    /// Returns the status of a command that only writes to the project.
    pub fn command_status(&self) -> Status {
        if self.can_write() || self.cli.terse { Status::Completed } else { Status::Failed }
    }

    /// Checks that a file of the project was written. In a read-only sandbox it must not be, and the model must have been
    /// told why.
    pub fn check_written(&self, file: &str) -> anyhow::Result<()> {
        let exists = self.stage.project_dir().join(file).exists();
        if self.can_write() {
            ensure!(exists, "{file} was not written");
            return Ok(());
        }
        ensure!(!exists, "{file} was written");
        let requests = self.stage.scripted_model().conversation_requests();
        let is_told = requests.iter().any(|request| {
            let body = request.body.to_string().to_lowercase();
            WRITE_ERRORS.iter().any(|error| body.contains(error))
        });
        let results: Vec<_> = requests.iter().map(|request| &request.results).collect();
        ensure!(is_told, "the model was not told why {file} was not written: {results:?}");
        Ok(())
    }

    /// Checks that a file of the project was written, and its text.
    pub fn check_written_text(&self, file: &str, text: &str) -> anyhow::Result<()> {
        self.check_written(file)?;
        if self.can_write() {
            let written = fs::read_to_string(self.stage.project_dir().join(file))?;
            ensure!(written == text, "{file} has {written:?}, not {text:?}");
        }
        Ok(())
    }

    /// Starts the agent with one prompt, everything allowed: alone, or in Switchboard's one-shot form if it is confined.
    pub fn start_one_shot(&self, prompt: &str) -> anyhow::Result<StageProcess> {
        match self.sandbox {
            None => self.stage.start_one_shot(self.cli, prompt),
            Some(_) => self.start(prompt, &["--one-shot", "--approval", "auto-all"]),
        }
    }

    /// Waits for the end of a one-shot agent. Switchboard translates its output.
    pub fn end_one_shot(&self, running: StageProcess) -> anyhow::Result<ObservedRun> {
        let ended = running.wait_for_exit()?;
        let events = match self.sandbox {
            None => self.translate_records(self.cli.source, &ended.stdout)?,
            Some(_) => ended.stdout.clone(),
        };
        ObservedRun::from_lines(&events, ended)
    }

    pub fn run_one_shot(&self, prompt: &str) -> anyhow::Result<ObservedRun> {
        self.end_one_shot(self.start_one_shot(prompt)?)
    }

    /// Translates records to events.
    pub fn translate_records(&self, source: &str, records: &str) -> anyhow::Result<String> {
        let translated = self.run_switchboard(&["translate", "--from", source, "--to", "events"], records)?;
        ensure!(translated.code == Some(0), "translate: {}", translated.describe_output());
        Ok(translated.stdout)
    }

    /// Runs the agent with Switchboard to its end.
    pub fn run(&self, prompt: &str, flags: &[&str]) -> anyhow::Result<ObservedRun> {
        wait_for_run(self.start(prompt, flags)?)
    }

    /// Starts the agent with Switchboard.
    pub fn start(&self, prompt: &str, flags: &[&str]) -> anyhow::Result<StageProcess> {
        self.spawn_switchboard(&[&["run", self.cli.name, prompt, "--dialect", "events"], flags].concat(), &[])
    }

    /// Continues the last session in a new process to its end.
    pub fn resume_last(&self, prompt: &str, flags: &[&str]) -> anyhow::Result<ObservedRun> {
        let words = ["run", "--resume", "last", prompt, "--dialect", "events"];
        wait_for_run(self.spawn_switchboard(&[&words, flags].concat(), &[])?)
    }

    /// Starts the agent with Switchboard on a terminal.
    pub fn start_on_terminal(&self, prompt: &str, flags: &[&str]) -> anyhow::Result<StageProcess> {
        let data = self.stage.data_dir();
        let data = data.to_string_lossy();
        let args = ["run", self.cli.name, prompt, "--data", &data];
        self.stage.start_on_terminal(self.switchboard, &[&args, flags, &self.sandbox_options()].concat())
    }

    /// Starts Switchboard with the sessions of this stage, without input and with changed variables.
    pub fn spawn_switchboard(&self, args: &[&str], variables: &[(&str, Option<&str>)]) -> anyhow::Result<StageProcess> {
        self.spawn_switchboard_in(&self.stage.project_dir(), args, variables)
    }

    /// Same, from another directory.
    pub fn spawn_switchboard_in(
        &self,
        folder: &Path,
        args: &[&str],
        variables: &[(&str, Option<&str>)],
    ) -> anyhow::Result<StageProcess> {
        let data = self.stage.data_dir();
        let mut command = self.stage.new_command(self.switchboard, args);
        if args.first() == Some(&"run") && !args.contains(&"--sandbox") {
            command.args(self.sandbox_options());
        }
        command.current_dir(folder).arg("--data").arg(data);
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut running = StageProcess::start(command)?;
        running.close_input();
        Ok(running)
    }

    /// Starts a fake in place of the agent.
    pub fn start_fake(&self, script: &str, prompt: &str, flags: &[&str]) -> anyhow::Result<StageProcess> {
        let fake = self.write_fake_program(script)?;
        let args = [&["run", self.cli.name, prompt, "--dialect", "events"], flags].concat();
        self.spawn_switchboard(&args, &[(&program_override_variable(self.cli.name), Some(&fake))])
    }

    /// Writes a fake that speaks the agent's protocol.
    pub fn write_fake_program(&self, script: &str) -> anyhow::Result<String> {
        let speaks = self.cli.fake.context("no fake can be put in its place")?;
        let script = format!("speak {speaks}\n{script}");
        let program = fake::write_fake_program(&self.stage.root_dir().join("fakes"), self.cli.program, &script)?;
        Ok(program.to_string_lossy().into_owned())
    }
}

/// Waits for the end of a process and parses its events.
pub fn wait_for_run(running: StageProcess) -> anyhow::Result<ObservedRun> {
    let ended = running.wait_for_exit()?;
    ObservedRun::from_lines(&ended.stdout.clone(), ended)
}

/// Waits until a matching event was printed.
pub fn wait_for_event(running: &StageProcess, what: &str, wanted: impl Fn(&Event) -> bool) -> anyhow::Result<()> {
    let is_wanted = |line: &str| Event::from_json(line).is_ok_and(|event| wanted(&event));
    running.wait_for_output(what, |printed| complete_lines(printed).any(is_wanted))
}

/// Polls a condition that nothing reports.
pub fn poll_until(what: &str, is_so: impl Fn() -> bool) -> anyhow::Result<()> {
    for _ in 0..MAX_POLLS {
        if is_so() {
            return Ok(());
        }
        thread::sleep(POLL_INTERVAL);
    }
    anyhow::bail!("never: {what}")
}

/// Starts a server with the sessions of the stage.
pub fn start_server(trial: &LiveTrial<'_>) -> anyhow::Result<RunningServer> {
    let (port, data) = (free_port()?, trial.stage.data_dir());
    let (listen, data) = (format!("127.0.0.1:{port}"), data.to_string_lossy().into_owned());
    let mut command = trial.stage.new_command(trial.switchboard, &["serve", "--listen", &listen, "--data", &data]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut served = RunningServer::from_child(child, Instant::now(), port, "/api/health")?;
    let token = trial.run_switchboard(&["token", "--data", &data], "")?;
    ensure!(token.code == Some(0), "no token: {}", token.describe_output());
    token.stdout.trim().clone_into(&mut served.api.token);
    Ok(served)
}

/// A consumer on a WebSocket.
pub struct ConsumerClient {
    socket: WebSocketFeed,
    /// All messages in order, with lists flattened.
    pub observed: Vec<Value>,
}

impl ConsumerClient {
    pub fn connect(api: &TestApiClient, path: &str) -> anyhow::Result<Self> {
        let socket =
            WebSocketFeed::open(BufferedSocket::connect(api.port)?, api, path).with_context(|| path.to_owned())?;
        Ok(Self { socket, observed: Vec::new() })
    }

    pub fn send_json(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(self.socket.send_text(&message.to_string())?)
    }

    /// Returns the first matching message, received or still to come.
    pub fn wait_for_message(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let mut seen = 0;
        loop {
            if let Some(found) = self.observed.iter().skip(seen).find(|message| wanted(message)) {
                return Ok(found.clone());
            }
            seen = self.observed.len();
            self.receive_next().with_context(|| format!("never: {what}; the last was {:?}", self.observed.last()))?;
        }
    }

    fn receive_next(&mut self) -> anyhow::Result<()> {
        let observed = &mut self.observed;
        let mut see = |text: &[u8]| {
            let message: Value = serde_json::from_slice(text).unwrap_or_default();
            match message["messages"].as_array() {
                Some(several) => observed.extend(several.iter().cloned()),
                None => observed.push(message),
            }
        };
        match self.socket.next(&mut |message| see(message.text))? {
            None => Ok(()),
            Some(end) => bail!("it was closed: {end:?}"),
        }
    }
}
