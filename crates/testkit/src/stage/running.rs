//! A process on the stage. Its output can be waited for, and every wait has a timeout.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    net::Ipv4Addr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use parking_lot::{Condvar, Mutex};
use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

const OUTPUT_TIMEOUT: Duration = Duration::from_secs(90);

/// Time for a pipe to close after its program has exited.
const PIPE_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

const SHOWN_OUTPUT_BYTES: usize = 1_500;

/// A running program. It is killed on drop.
pub struct StageProcess {
    name: String,
    child: Child,
    stdin: Option<Box<dyn Write + Send>>,
    terminal: Option<File>,
    stdout: PipeOutput,
    stderr: PipeOutput,
}

#[derive(Clone, Debug)]
pub struct StageProcessOutput {
    /// The exit code, unless a signal ended the process.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl StageProcess {
    /// Starts a program with piped streams.
    pub fn start(mut command: Command) -> anyhow::Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let stdin = child.stdin.take().map(|stdin| Box::new(stdin) as _);
        let stdout = PipeOutput::read_from(child.stdout.take().context("no stdout")?);
        let stderr = PipeOutput::read_from(child.stderr.take().context("no stderr")?);
        Ok(Self { name, child, stdin, terminal: None, stdout, stderr })
    }

    /// Starts a program on its own terminal: input is typed, and the screen is its output. The command must make the
    /// terminal on its input the controlling one.
    pub fn start_on_terminal(command: Command) -> anyhow::Result<Self> {
        Self::start_on_terminal_sized(command, WIDE_TERMINAL_SIZE)
    }

    /// Same, on a terminal of this size in columns and rows.
    pub fn start_on_terminal_sized(mut command: Command, size: (u16, u16)) -> anyhow::Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let PseudoTerminal { ours, theirs } = PseudoTerminal::new(size).context("no terminal")?;
        command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        // The end of the program is visible only if no other descriptors are open.
        drop(command);
        let (stdout, stderr) = (PipeOutput::read_from(ours.try_clone()?), PipeOutput::read_from(io::empty()));
        let terminal = Some(ours.try_clone()?);
        Ok(Self { name, child, stdin: Some(Box::new(ours)), terminal, stdout, stderr })
    }

    /// Resizes the terminal, in columns and rows.
    pub fn resize_terminal(&self, size: (u16, u16)) -> anyhow::Result<()> {
        let terminal = self.terminal.as_ref().context("it has no terminal")?;
        set_terminal_size(terminal, size).with_context(|| format!("cannot resize the terminal of {}", self.name))
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn write_input(&mut self, text: &str) -> anyhow::Result<()> {
        let stdin = self.stdin.as_mut().context("its input is closed")?;
        // It may have exited without reading everything.
        drop(stdin.write_all(text.as_bytes()));
        drop(stdin.flush());
        Ok(())
    }

    pub fn close_input(&mut self) {
        drop(self.stdin.take());
    }

    pub fn send_signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("no such process")?;
        kill_process(pid, signal).with_context(|| format!("cannot signal {}", self.name))
    }

    #[must_use]
    pub fn stdout_text(&self) -> String {
        self.stdout.text_so_far()
    }

    #[must_use]
    pub fn stderr_text(&self) -> String {
        self.stderr.text_so_far()
    }

    /// Waits until the output matches.
    pub fn wait_for_output(&self, what: &str, printed: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        if self.stdout.wait_until(OUTPUT_TIMEOUT, printed) {
            return Ok(());
        }
        bail!("{} never printed {what}\n{}", self.name, self.describe_output())
    }

    pub fn wait_for_exit(mut self) -> anyhow::Result<StageProcessOutput> {
        use std::os::unix::process::ExitStatusExt as _;
        let end = Instant::now() + OUTPUT_TIMEOUT;
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None if Instant::now() > end => bail!("{} does not end\n{}", self.name, self.describe_output()),
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        self.stdout.wait_for_close();
        self.stderr.wait_for_close();
        let (stdout, stderr) = (self.stdout_text(), self.stderr_text());
        Ok(StageProcessOutput { code: status.code(), signal: status.signal(), stdout, stderr })
    }

    fn describe_output(&self) -> String {
        format!("── stdout\n{}\n── stderr\n{}", text_tail(&self.stdout_text()), text_tail(&self.stderr_text()))
    }
}

impl Drop for StageProcess {
    fn drop(&mut self) {
        // It may have exited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl StageProcessOutput {
    /// Returns exit status and the end of the output, for error messages.
    #[must_use]
    pub fn describe_output(&self) -> String {
        let (stdout, stderr) = (text_tail(&self.stdout), text_tail(&self.stderr));
        format!("code {:?}, signal {:?}\n── stdout\n{stdout}\n── stderr\n{stderr}", self.code, self.signal)
    }
}

fn text_tail(text: &str) -> &str {
    let from = text.len().saturating_sub(SHOWN_OUTPUT_BYTES);
    (from..=text.len()).find_map(|from| text.get(from..)).unwrap_or_default()
}

/// The output of a pipe.
struct PipeOutput {
    shared: Arc<(Mutex<PipeState>, Condvar)>,
}

#[derive(Default)]
struct PipeState {
    bytes: Vec<u8>,
    over: bool,
}

impl PipeOutput {
    fn read_from(mut pipe: impl Read + Send + 'static) -> Self {
        let shared = Arc::<(Mutex<PipeState>, Condvar)>::default();
        let writer = Arc::clone(&shared);
        thread::spawn(move || {
            let mut some = vec![0; 1 << 16];
            loop {
                let size = pipe.read(&mut some).unwrap_or(0);
                let mut state = writer.0.lock();
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

    fn text_so_far(&self) -> String {
        String::from_utf8_lossy(&self.shared.0.lock().bytes).into_owned()
    }

    /// Waits for a matching text; false if the pipe closes or the time is over.
    fn wait_until(&self, patience: Duration, wanted: impl Fn(&str) -> bool) -> bool {
        let end = Instant::now() + patience;
        let mut state = self.shared.0.lock();
        loop {
            if wanted(&String::from_utf8_lossy(&state.bytes)) {
                return true;
            }
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|_| !state.over) else { return false };
            self.shared.1.wait_for(&mut state, left);
        }
    }

    /// Waits until everything is read. Another process may still hold the other end, so the wait is limited.
    fn wait_for_close(&self) {
        self.wait_until(PIPE_CLOSE_TIMEOUT, |_| false);
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverProcess {
    pub pid: i32,
    /// The command line.
    pub command: String,
}

impl LeftoverProcess {
    pub fn kill(&self) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            // It may have exited already.
            kill_process(pid, Signal::KILL).unwrap_or_default();
        }
    }
}

/// Returns the processes of a stage.
pub fn find_leftovers(mark: &str, root: &Path) -> Vec<LeftoverProcess> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter_map(|pid| stage_process(pid, mark, root)).collect()
}

/// Returns the process if it belongs to the stage. A zombie has no command line.
fn stage_process(pid: i32, mark: &str, root: &Path) -> Option<LeftoverProcess> {
    let folder = Path::new("/proc").join(pid.to_string());
    let environment = fs::read(folder.join("environ")).unwrap_or_default();
    let marked = environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
    let inside = fs::read_link(folder.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root));
    let command = String::from_utf8_lossy(&fs::read(folder.join("cmdline")).ok()?).replace('\0', " ");
    let command = command.trim_end().to_owned();
    ((marked || inside) && !command.is_empty()).then_some(LeftoverProcess { pid, command })
}

/// Returns the direct children of a process.
#[must_use]
pub fn child_pids(parent: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// An address of this machine that is not on loopback, for servers that confined sessions must not treat as local. The
/// network namespace of `cargo xtask live` has it.
pub const REMOTE_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// Returns whether all routes lead to loopback.
#[must_use]
pub fn is_isolated() -> bool {
    let four = fs::read_to_string("/proc/net/route").unwrap_or_else(|_| UNREADABLE_ROUTES.to_owned());
    let six = fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default();
    !has_outside_route(&four, &six)
}

/// Unreadable routes count as routes to the outside.
const UNREADABLE_ROUTES: &str = "a table that cannot be read\nunknown\n";

/// The device is the first word of an IPv4 route and the last of an IPv6 route.
fn has_outside_route(four: &str, six: &str) -> bool {
    let four = four.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let six = six.lines().filter_map(|line| line.split_whitespace().next_back());
    four.chain(six).any(|device| device != "lo")
}

struct PseudoTerminal {
    /// The user's end.
    pub ours: File,
    /// The program's end.
    pub theirs: File,
}

/// Columns and rows: wide enough that no expected text wraps.
const WIDE_TERMINAL_SIZE: (u16, u16) = (200, 50);

impl PseudoTerminal {
    /// Creates a terminal that is not yet a controlling one.
    pub fn new(size: (u16, u16)) -> rustix::io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        let (ours, theirs) = (File::from(ours), File::from(theirs));
        set_terminal_size(&ours, size)?;
        Ok(Self { ours, theirs })
    }
}

fn set_terminal_size(terminal: &File, (columns, rows): (u16, u16)) -> rustix::io::Result<()> {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_leads_out_unless_it_is_loopback() {
        let head = "Iface\tDestination\tGateway\n";
        let local = "00000000000000000000000000000001 80 00 00 00000000 00000002 00000000 80200001 lo\n";
        assert!(!has_outside_route(head, local));
        assert!(has_outside_route(&format!("{head}eth0\t00000000\t0101A8C0\n"), local));
        assert!(has_outside_route(head, &local.replace("lo", "eth0")));
        assert!(has_outside_route(UNREADABLE_ROUTES, ""));
    }
}
