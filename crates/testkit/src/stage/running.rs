//! A program that runs on the stage: what it prints can be waited for, and nothing waits for ever.

use std::{
    fs::File,
    io::{self, Read, Write},
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::terminal::{Terminal, WIDE, resize};

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long a pipe may stay open when its program has ended.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// How much of an output is shown when something went wrong.
const SHOWN: usize = 1_500;

/// A program that runs. It is killed when this is dropped.
pub struct Running {
    name: String,
    child: Child,
    stdin: Option<Box<dyn Write + Send>>,
    /// Its terminal, if it has one.
    terminal: Option<File>,
    stdout: Printed,
    stderr: Printed,
}

/// A program that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Running {
    /// Starts a program whose input and output are ours.
    pub fn start(mut command: Command) -> anyhow::Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let stdin = child.stdin.take().map(|stdin| Box::new(stdin) as _);
        let stdout = Printed::by(child.stdout.take().context("no stdout")?);
        let stderr = Printed::by(child.stderr.take().context("no stderr")?);
        Ok(Self { name, child, stdin, terminal: None, stdout, stderr })
    }

    /// Starts a program that has a terminal of its own: what is said is typed, and all that it shows is its output. The
    /// command must make the terminal on its input its own.
    pub fn on_terminal(command: Command) -> anyhow::Result<Self> {
        Self::on_terminal_of(command, WIDE)
    }

    /// The same on a terminal of so many columns and rows.
    pub fn on_terminal_of(mut command: Command, size: (u16, u16)) -> anyhow::Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let Terminal { ours, theirs } = Terminal::new(size).context("no terminal")?;
        command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        // The program's own descriptors must be the last ones, or its end is not seen.
        drop(command);
        let (stdout, stderr) = (Printed::by(ours.try_clone()?), Printed::by(io::empty()));
        let terminal = Some(ours.try_clone()?);
        Ok(Self { name, child, stdin: Some(Box::new(ours)), terminal, stdout, stderr })
    }

    /// Gives its terminal so many columns and rows.
    pub fn resize(&self, size: (u16, u16)) -> anyhow::Result<()> {
        let terminal = self.terminal.as_ref().context("it has no terminal")?;
        resize(terminal, size).with_context(|| format!("cannot resize the terminal of {}", self.name))
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes to its input.
    pub fn say(&mut self, text: &str) -> anyhow::Result<()> {
        let stdin = self.stdin.as_mut().context("its input is closed")?;
        // It may have ended without reading to the end.
        drop(stdin.write_all(text.as_bytes()));
        drop(stdin.flush());
        Ok(())
    }

    /// There is no more input.
    pub fn close_input(&mut self) {
        drop(self.stdin.take());
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("no such process")?;
        kill_process(pid, signal).with_context(|| format!("cannot signal {}", self.name))
    }

    /// What it printed so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it complained about so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits until it has printed what it should.
    pub fn wait_for(&self, what: &str, printed: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        if self.stdout.wait(PATIENCE, printed) {
            return Ok(());
        }
        bail!("{} never printed {what}\n{}", self.name, self.shown())
    }

    /// Waits until it ends.
    pub fn end(mut self) -> anyhow::Result<Ended> {
        use std::os::unix::process::ExitStatusExt as _;
        let end = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None if Instant::now() > end => bail!("{} does not end\n{}", self.name, self.shown()),
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        self.stdout.finish();
        self.stderr.finish();
        let (stdout, stderr) = (self.stdout(), self.stderr());
        Ok(Ended { code: status.code(), signal: status.signal(), stdout, stderr })
    }

    fn shown(&self) -> String {
        format!("── stdout\n{}\n── stderr\n{}", tail(&self.stdout()), tail(&self.stderr()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Ended {
    /// How it ended and what it said last, for a message.
    #[must_use]
    pub fn shown(&self) -> String {
        let (stdout, stderr) = (tail(&self.stdout), tail(&self.stderr));
        format!("code {:?}, signal {:?}\n── stdout\n{stdout}\n── stderr\n{stderr}", self.code, self.signal)
    }
}

fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(SHOWN);
    (from..=text.len()).find_map(|from| text.get(from..)).unwrap_or_default()
}

/// What comes out of a pipe.
struct Printed {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    over: bool,
}

impl Printed {
    fn by(mut pipe: impl Read + Send + 'static) -> Self {
        let shared = Arc::<(Mutex<State>, Condvar)>::default();
        let writer = Arc::clone(&shared);
        thread::spawn(move || {
            let mut some = vec![0; 1 << 16];
            loop {
                let size = pipe.read(&mut some).unwrap_or(0);
                let mut state = writer.0.lock().unwrap_or_else(PoisonError::into_inner);
                state.bytes.extend(some.get(..size).unwrap_or_default());
                state.over = size == 0;
                writer.1.notify_all();
                if size == 0 {
                    return;
                }
            }
        });
        Self { shared }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).bytes).into_owned()
    }

    /// Waits for a text; not if the pipe is closed before it came.
    fn wait(&self, patience: Duration, wanted: impl Fn(&str) -> bool) -> bool {
        let end = Instant::now() + patience;
        let mut state = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if wanted(&String::from_utf8_lossy(&state.bytes)) {
                return true;
            }
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|_| !state.over) else { return false };
            state = self.shared.1.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Everything is read. Somebody else may still hold the other end: that is not waited for.
    fn finish(&self) {
        self.wait(AFTERWARDS, |_| false);
    }
}
