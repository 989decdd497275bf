//! `bench run`: overhead of Switchboard around a running agent. The agent is a fake that prints when it wrote each
//! line; the same fake read directly through a pipe is measured in the same run.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, ensure};
use clap::Args;

use super::{build_release, format_table, release_program};
use crate::{
    print_line,
    process::{cargo_command, new_command, read_output, run_program},
};

/// Measure what Switchboard adds to an agent that runs: delay of a line, time to start, requests through the proxy of a
/// sandbox, memory of a session
#[derive(Args)]
pub struct RunBench {
    /// How many lines the agent says
    #[arg(long, default_value_t = 5000)]
    lines: u32,
    /// How many of them a second
    #[arg(long, default_value_t = 1000)]
    rate: u32,
    /// How often the start is measured; the shortest counts
    #[arg(long, default_value_t = 15)]
    starts: u32,
    /// How many HTTP requests the agent makes
    #[arg(long, default_value_t = 500)]
    requests: u32,
    /// How many sessions run at once when memory is measured
    #[arg(long, default_value_t = 40)]
    sessions: u32,
}

pub fn run(args: &RunBench) -> anyhow::Result<()> {
    build_release()?;
    run_program(&mut cargo_command(&["build", "--release", "--package", "switchboard-testkit"]))?;
    run_program(&mut cargo_command(&[
        "build",
        "--release",
        "--package",
        "switchboard-engine",
        "--example",
        "sessions",
    ]))?;
    let folder = crate::process::build_directory().join("bench-run");
    fs::create_dir_all(&folder)?;
    let bench = RunMeasurements { folder };
    bench.measure_delays(args)?;
    let figures = [bench.measure_starts(args)?, bench.measure_requests(args)?];
    bench.measure_memory(args)?;
    let rows: Vec<_> = figures.iter().map(BudgetedFigure::to_cells).collect();
    print_line("against the budgets");
    print_line(&format_table(&["", "measured ms", "budget ms"], &rows));
    let over: Vec<_> = figures.iter().filter(|figure| !figure.is_within_budget()).map(|figure| figure.what).collect();
    ensure!(over.is_empty(), "over budget: {}", over.join(", "));
    Ok(())
}

const CONFINED_FLAGS: &[&str] = &["--sandbox", "workspace-write"];

/// The same sandbox, with the network of the machine.
const NETWORK_ACCESS_FLAGS: &[&str] = &["--sandbox", "workspace-write", "--network-access"];

/// How much later a session with network limits may start.
const NETWORK_START_BUDGET_NANOS: u64 = 25_000_000;

/// How much longer a request through the proxy may take, at the median.
const PROXY_REQUEST_BUDGET_NANOS: u64 = 1_000_000;

struct BudgetedFigure {
    what: &'static str,
    nanos: u64,
    budget_nanos: u64,
}

impl BudgetedFigure {
    fn is_within_budget(&self) -> bool {
        self.nanos <= self.budget_nanos
    }

    fn to_cells(&self) -> Vec<String> {
        let mark = if self.is_within_budget() { "" } else { " !" };
        let measured = format!("{}{mark}", format_milliseconds(self.nanos));
        vec![self.what.to_owned(), measured, format!("≤ {}", format_milliseconds(self.budget_nanos))]
    }
}

struct RunMeasurements {
    folder: PathBuf,
}

impl RunMeasurements {
    fn measure_delays(&self, args: &RunBench) -> anyhow::Result<()> {
        let flood = format!("flood {} {}", args.lines, args.rate);
        let direct = self.read_timed_lines(self.fake_command("direct", &flood)?)?;
        let through = self.read_timed_lines(self.switchboard_command("through", &flood, &[])?)?;
        let confined = self.read_timed_lines(self.switchboard_command("confined", &flood, CONFINED_FLAGS)?)?;
        let row = |name: &str, heard: &[TimedLine]| {
            let mut delays: Vec<u64> = heard.iter().map(|line| line.heard.saturating_sub(line.said)).collect();
            delays.sort_unstable();
            let at = |share: usize| format_milliseconds(delays.get(delays.len() * share / 1000).copied().unwrap_or(0));
            vec![name.to_owned(), delays.len().to_string(), at(500), at(990), at(999)]
        };
        print_line(&format!("{} lines a second, from the agent's write to our reader", args.rate));
        print_line(&format_table(
            &["", "lines", "p50 ms", "p99 ms", "p99.9 ms"],
            &[row("a pipe", &direct), row("switchboard", &through), row("in a sandbox", &confined)],
        ));
        for heard in [&through, &confined] {
            ensure!(heard.len() == direct.len(), "{} lines of {} arrived", heard.len(), direct.len());
        }
        Ok(())
    }

    fn measure_starts(&self, args: &RunBench) -> anyhow::Result<BudgetedFigure> {
        let once = |command: Command| -> anyhow::Result<u64> {
            let began = unix_nanos();
            let heard = self.read_timed_lines(command)?;
            Ok(heard.first().context("the agent said nothing")?.said.saturating_sub(began))
        };
        let (mut direct, mut through, mut networked, mut confined) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        // Alternating, so that other work of the machine affects all of them.
        for _ in 0..args.starts {
            direct.push(once(self.fake_command("direct", "flood 1 1000")?)?);
            through.push(once(self.switchboard_command("through", "flood 1 1000", &[])?)?);
            networked.push(once(self.switchboard_command("networked", "flood 1 1000", NETWORK_ACCESS_FLAGS)?)?);
            confined.push(once(self.switchboard_command("confined", "flood 1 1000", CONFINED_FLAGS)?)?);
        }
        [&mut direct, &mut through, &mut networked, &mut confined].into_iter().for_each(|times| times.sort_unstable());
        let at =
            |times: &[u64], middle: bool| times.get(if middle { times.len() / 2 } else { 0 }).copied().unwrap_or(0);
        let row = |name: &str, of: &dyn Fn(bool) -> u64| {
            vec![name.to_owned(), format_milliseconds(of(false)), format_milliseconds(of(true))]
        };
        let added = |more: &[u64], less: &[u64], middle| at(more, middle).saturating_sub(at(less, middle));
        print_line("from the start of the program to the agent's first word");
        print_line(&format_table(
            &["", "least ms", "median ms"],
            &[
                row("the agent alone", &|middle| at(&direct, middle)),
                row("switchboard", &|middle| at(&through, middle)),
                row("in a sandbox with --network-access", &|middle| at(&networked, middle)),
                row("in a sandbox", &|middle| at(&confined, middle)),
                row("added by switchboard", &|middle| added(&through, &direct, middle)),
                row("added by the sandbox", &|middle| added(&confined, &through, middle)),
                row("of that, by the network limits", &|middle| added(&confined, &networked, middle)),
            ],
        ));
        let (what, nanos) = ("start, added by the network limits (median)", added(&confined, &networked, true));
        Ok(BudgetedFigure { what, nanos, budget_nanos: NETWORK_START_BUDGET_NANOS })
    }

    /// Requests of the agent to a local server, directly and through the proxy of a sandbox.
    fn measure_requests(&self, args: &RunBench) -> anyhow::Result<BudgetedFigure> {
        let server = start_hello_server()?;
        let fetch = format!("fetch {} {server}", args.requests);
        let allowed = server.to_string();
        let confined = [CONFINED_FLAGS, &["--allow-domain", &allowed]].concat();
        let direct = self.request_times(self.switchboard_command("requests", &fetch, &[])?)?;
        let proxied = self.request_times(self.switchboard_command("requests", &fetch, &confined)?)?;
        for times in [&direct, &proxied] {
            ensure!(times.len() == args.requests as usize, "{} requests of {}", times.len(), args.requests);
        }
        let at = |times: &[u64], share: usize| times.get(times.len() * share / 100).copied().unwrap_or(0);
        let row = |name: &str, of: &dyn Fn(usize) -> u64| {
            vec![name.to_owned(), format_milliseconds(of(50)), format_milliseconds(of(99))]
        };
        print_line("an HTTP request of the agent on a new connection, to a server on this machine");
        print_line(&format_table(
            &["", "p50 ms", "p99 ms"],
            &[
                row("unconfined", &|share| at(&direct, share)),
                row("through the proxy", &|share| at(&proxied, share)),
                row("added by the proxy", &|share| at(&proxied, share).saturating_sub(at(&direct, share))),
            ],
        ));
        let (what, nanos) = ("request, added by the proxy (p50)", at(&proxied, 50).saturating_sub(at(&direct, 50)));
        Ok(BudgetedFigure { what, nanos, budget_nanos: PROXY_REQUEST_BUDGET_NANOS })
    }

    /// Returns the times of the fake's requests, sorted.
    fn request_times(&self, mut command: Command) -> anyhow::Result<Vec<u64>> {
        let text = read_output(command.stdin(Stdio::null()).stderr(Stdio::null()))?;
        let times = text.split("took ").skip(1).filter_map(|rest| {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| rest.split_at(end).0);
            digits.parse().ok()
        });
        let mut times: Vec<u64> = times.collect();
        times.sort_unstable();
        Ok(times)
    }

    fn measure_memory(&self, args: &RunBench) -> anyhow::Result<()> {
        let sessions = args.sessions.to_string();
        let script = self.write_script("held", "speak acp\nopen\nsay Hello\nhang")?;
        let fake = format!("{} fake {}", release_program("switchboard-testkit").display(), script.display());
        let example = release_program("examples/sessions");
        let switchboard = release_program("switchboard");
        let said = read_output(&mut new_command(example, &[&sessions, &switchboard.to_string_lossy(), &fake]))?;
        print_line(said.trim_end());
        Ok(())
    }

    fn fake_command(&self, name: &str, steps: &str) -> anyhow::Result<Command> {
        let script = self.write_script(name, &format!("speak acp\n{steps}"))?;
        Ok(new_command(release_program("switchboard-testkit"), &["fake", &script.to_string_lossy()]))
    }

    /// The fake under Switchboard, in a workspace with a repository.
    fn switchboard_command(&self, name: &str, steps: &str, flags: &[&str]) -> anyhow::Result<Command> {
        let script = self.write_script(name, &format!("speak acp\nopen\n{steps}\ndone\nwait"))?;
        let fake = format!("{} fake {}", release_program("switchboard-testkit").display(), script.display());
        let mut command =
            new_command(release_program("switchboard"), &["run", "acp", "go", "--json", "--command", &fake]);
        let workspace = self.folder.join("workspace");
        fs::create_dir_all(workspace.join(".git/hooks"))?;
        fs::write(workspace.join(".git/config"), "[core]\n")?;
        command.arg("--data").arg(self.folder.join("data")).arg("--cwd").arg(workspace).args(flags);
        Ok(command)
    }

    fn write_script(&self, name: &str, steps: &str) -> anyhow::Result<PathBuf> {
        let path = Path::new(&self.folder).join(format!("{name}.fake"));
        fs::write(&path, steps)?;
        Ok(path)
    }

    fn read_timed_lines(&self, mut command: Command) -> anyhow::Result<Vec<TimedLine>> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let heard = lines.map_while(Result::ok).filter_map(|line| TimedLine::parse(&line)).collect();
        child.wait()?;
        Ok(heard)
    }
}

/// Starts a server that answers every connection with the same bytes, as long as this process lives.
fn start_hello_server() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 1024];
            drop(stream.read(&mut head));
            drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"));
        }
    });
    Ok(address)
}

/// When a line was written and read, in nanoseconds since 1970.
struct TimedLine {
    said: u64,
    heard: u64,
}

impl TimedLine {
    /// Finds the timestamp: the only number of 19 digits, nanoseconds of the years 2001 to 2286.
    fn parse(line: &str) -> Option<Self> {
        let heard = unix_nanos();
        let mut numbers = line.split(|c: char| !c.is_ascii_digit()).filter(|digits| digits.len() == 19);
        numbers.next()?.parse().ok().map(|said| Self { said, heard })
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement needs a clock, and the fake writes this one's time")]
fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn format_milliseconds(nanos: u64) -> String {
    format!("{:.3}", nanos as f64 / 1e6)
}
