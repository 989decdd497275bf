//! The stage itself: its folders, its environment, and how programs are started on it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

use super::{
    left::{Left, left_behind},
    running::{Ended, Running},
};
use crate::{
    clis::{CLIS, Cli, Places},
    model::Model,
};

/// Where the programs are that a stage needs.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The folder of the agents' programs.
    pub clis: PathBuf,
    /// The folder of `node`, which some of them need.
    pub node: PathBuf,
}

/// Where the rest is.
const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// The variable by which a process of a stage is known.
const MARK: &str = "TEST_STAGE";

/// How long a process may take to go when it is killed.
const DYING: Duration = Duration::from_secs(5);

/// A stage.
pub struct Stage {
    root: TempDir,
    model: Model,
    environment: Vec<(String, String)>,
}

impl Stage {
    /// A new stage, with nobody on it.
    pub fn new(programs: &Programs) -> anyhow::Result<Self> {
        let root = tempfile::Builder::new().prefix("stage-").tempdir().context("cannot make a folder for the stage")?;
        let model = Model::start().context("cannot start the scripted model")?;
        let mut stage = Self { root, model, environment: Vec::new() };
        for folder in ["home", "project", "data", "tmp"] {
            fs::create_dir(stage.root().join(folder))?;
        }
        stage.environment = stage.surroundings(programs);
        CLIS.iter().try_for_each(|cli| stage.set_up(cli))?;
        let made = stage.run(Path::new("git"), &["init", "--quiet"], "")?;
        ensure!(made.code == Some(0), "git init: {}", made.stderr);
        Ok(stage)
    }

    /// The folder with everything in it.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The home of everybody on the stage.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The folder in which agents work.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// A folder for Switchboard's own data.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.root().join("data")
    }

    /// The scripted model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The whole environment of everybody on the stage.
    #[must_use]
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// Changes a variable for everything that is started from now on; `None` takes it away.
    pub fn set(&mut self, name: &str, value: Option<&str>) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }

    /// A program in the project's folder, not started yet.
    #[expect(clippy::disallowed_methods, reason = "this is where the test kit starts programs, and a stage ends them")]
    #[must_use]
    pub fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.project()).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts a program.
    pub fn start(&self, program: &Path, args: &[&str]) -> anyhow::Result<Running> {
        Running::start(self.command(program, args))
    }

    /// Starts a program with a terminal of its own, which `setsid` makes its controlling one.
    pub fn on_terminal(&self, program: &Path, args: &[&str]) -> anyhow::Result<Running> {
        let mut command = self.command(Path::new("setsid"), &["--ctty"]);
        command.arg(program).args(args).env("TERM", "xterm-256color");
        Running::on_terminal(command)
    }

    /// Runs a program to its end.
    pub fn run(&self, program: &Path, args: &[&str], stdin: &str) -> anyhow::Result<Ended> {
        let mut running = self.start(program, args)?;
        running.say(stdin)?;
        running.close_input();
        running.end()
    }

    /// Starts an agent with one prompt, everything allowed.
    pub fn one_shot(&self, cli: &Cli, prompt: &str) -> anyhow::Result<Running> {
        let invocation = (cli.one_shot)(prompt);
        let args: Vec<_> = invocation.args.iter().map(String::as_str).collect();
        let mut running = self.start(Path::new(cli.program), &args)?;
        running.say(&invocation.stdin)?;
        running.close_input();
        Ok(running)
    }

    /// The processes of this stage that are still there.
    #[must_use]
    pub fn left_behind(&self) -> Vec<Left> {
        left_behind(&format!("{MARK}={}", self.root().display()), self.root())
    }

    /// The processes that are still there after some time.
    #[must_use]
    pub fn left_behind_after(&self, patience: Duration) -> Vec<Left> {
        let end = Instant::now() + patience;
        loop {
            let left = self.left_behind();
            if left.is_empty() || Instant::now() > end {
                return left;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn surroundings(&self, programs: &Programs) -> Vec<(String, String)> {
        let (home, root) = (self.home(), self.root());
        let path = format!("{}:{}:{SYSTEM}", programs.clis.display(), programs.node.display());
        let place = |folder: &Path| folder.display().to_string();
        let variables = [
            (MARK, place(root)),
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

    fn set_up(&mut self, cli: &Cli) -> anyhow::Result<()> {
        let (home, model) = (self.home(), self.model.url());
        let setup = (cli.setup)(&Places { home: &home, model: &model });
        for (file, text) in setup.files {
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        self.environment.extend(setup.environment.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let end = Instant::now() + DYING;
        while Instant::now() < end {
            let left = self.left_behind();
            if left.is_empty() {
                return;
            }
            left.iter().for_each(Left::kill);
            thread::sleep(Duration::from_millis(20));
        }
    }
}
