//! A stage for one test: its own directories, a scripted model, a minimal environment, and the pinned agents on its
//! `PATH`. Dropping it removes everything, including processes.
//!
//! ```text
//! AgentStage::new(&programs)  ─►  root/home      each agent's configuration
//!                                 root/project   a git repository, the working directory
//!                                 root/data      for Switchboard's log
//!                                 root/tmp       for temporary files
//! ```
//!
//! Agents use the network if they can, so a stage should run in a network namespace with loopback only.
//! [`is_isolated`] checks that.

mod running;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, ensure};
use running::find_leftovers;
use tempfile::TempDir;

use crate::clis::{AGENT_CLIS, AgentCli, AgentCliPaths};
use crate::model::ScriptedModel;

pub use running::{LeftoverProcess, REMOTE_ADDRESS, StageProcess, StageProcessOutput, child_pids, is_isolated};

#[derive(Clone, Debug)]
pub struct StagePrograms {
    pub clis: PathBuf,
    /// The directory of `node`, which some agents need.
    pub node: PathBuf,
}

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// The variable that identifies processes of a stage.
const STAGE_VARIABLE: &str = "TEST_STAGE";

const KILL_TIMEOUT: Duration = Duration::from_secs(5);

pub struct AgentStage {
    root: TempDir,
    model: ScriptedModel,
    environment: Vec<(String, String)>,
}

impl AgentStage {
    pub fn new(programs: &StagePrograms) -> anyhow::Result<Self> {
        let root = tempfile::Builder::new().prefix("stage-").tempdir().context("cannot make a folder for the stage")?;
        let model = ScriptedModel::start().context("cannot start the scripted model")?;
        let mut stage = Self { root, model, environment: Vec::new() };
        for folder in ["home", "project", "data", "tmp"] {
            fs::create_dir(stage.root_dir().join(folder))?;
        }
        stage.environment = stage.base_environment(programs);
        AGENT_CLIS.iter().try_for_each(|cli| stage.set_up_agent(cli))?;
        let made = stage.run(Path::new("git"), &["init", "--quiet"], "")?;
        ensure!(made.code == Some(0), "git init: {}", made.stderr);
        Ok(stage)
    }

    /// The directory of the stage.
    #[must_use]
    pub fn root_dir(&self) -> &Path {
        self.root.path()
    }

    /// The home directory of all processes on the stage.
    #[must_use]
    pub fn home_dir(&self) -> PathBuf {
        self.root_dir().join("home")
    }

    /// The working directory of agents.
    #[must_use]
    pub fn project_dir(&self) -> PathBuf {
        self.root_dir().join("project")
    }

    /// The directory of Switchboard's own data.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.root_dir().join("data")
    }

    #[must_use]
    pub fn scripted_model(&self) -> &ScriptedModel {
        &self.model
    }

    #[must_use]
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// Sets a variable for processes started from now on; `None` removes it.
    pub fn set_variable(&mut self, name: &str, value: Option<&str>) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }

    /// Returns a command in the project directory.
    #[expect(clippy::disallowed_methods, reason = "this is where the test kit starts programs, and a stage ends them")]
    #[must_use]
    pub fn new_command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.project_dir()).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn start_process(&self, program: &Path, args: &[&str]) -> anyhow::Result<StageProcess> {
        StageProcess::start(self.new_command(program, args))
    }

    /// Starts a program with its own terminal, which `setsid` makes its controlling one.
    pub fn start_on_terminal(&self, program: &Path, args: &[&str]) -> anyhow::Result<StageProcess> {
        let mut command = self.new_command(Path::new("setsid"), &["--ctty"]);
        command.arg(program).args(args).env("TERM", "xterm-256color");
        StageProcess::start_on_terminal(command)
    }

    pub fn run(&self, program: &Path, args: &[&str], stdin: &str) -> anyhow::Result<StageProcessOutput> {
        let mut running = self.start_process(program, args)?;
        running.write_input(stdin)?;
        running.close_input();
        running.wait_for_exit()
    }

    /// Starts an agent with one prompt and all permissions.
    pub fn start_one_shot(&self, cli: &AgentCli, prompt: &str) -> anyhow::Result<StageProcess> {
        let invocation = (cli.one_shot)(prompt);
        let args: Vec<_> = invocation.args.iter().map(String::as_str).collect();
        let mut running = self.start_process(Path::new(cli.program), &args)?;
        running.write_input(&invocation.stdin)?;
        running.close_input();
        Ok(running)
    }

    /// Returns the processes of this stage that are still running.
    #[must_use]
    pub fn leftover_processes(&self) -> Vec<LeftoverProcess> {
        find_leftovers(&format!("{STAGE_VARIABLE}={}", self.root_dir().display()), self.root_dir())
    }

    /// Same, after waiting at most `patience` for them to exit.
    #[must_use]
    pub fn leftover_processes_after(&self, patience: Duration) -> Vec<LeftoverProcess> {
        let end = Instant::now() + patience;
        loop {
            let left = self.leftover_processes();
            if left.is_empty() || Instant::now() > end {
                return left;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn base_environment(&self, programs: &StagePrograms) -> Vec<(String, String)> {
        let (home, root) = (self.home_dir(), self.root_dir());
        let path = format!("{}:{}:{SYSTEM_PATH}", programs.clis.display(), programs.node.display());
        let place = |folder: &Path| folder.display().to_string();
        let variables = [
            (STAGE_VARIABLE, place(root)),
            ("PATH", path),
            ("HOME", place(&home)),
            ("TMPDIR", place(&root.join("tmp"))),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("XDG_CONFIG_HOME", place(&home.join(".config"))),
            ("XDG_DATA_HOME", place(&home.join(".local/share"))),
            ("XDG_STATE_HOME", place(&home.join(".local/state"))),
            ("XDG_CACHE_HOME", place(&home.join(".cache"))),
        ];
        variables.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    fn set_up_agent(&mut self, cli: &AgentCli) -> anyhow::Result<()> {
        let (home, model) = (self.home_dir(), self.model.base_url());
        let setup = (cli.setup)(&AgentCliPaths { home: &home, model: &model });
        for (file, text) in setup.files {
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        self.environment.extend(setup.environment.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Ok(())
    }
}

impl Drop for AgentStage {
    fn drop(&mut self) {
        let end = Instant::now() + KILL_TIMEOUT;
        while Instant::now() < end {
            let left = self.leftover_processes();
            if left.is_empty() {
                return;
            }
            left.iter().for_each(LeftoverProcess::kill);
            thread::sleep(Duration::from_millis(20));
        }
    }
}
