//! `bench run`: what Switchboard adds to an agent that runs. The agent is a fake that says when it said each line; beside
//! it, in the same run, the same fake read directly through a pipe.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, ensure};
use clap::Args;

use super::{
    programs::{build, built},
    table::table,
};
use crate::{
    process::{cargo, output, program, run as run_program},
    say,
};

/// Measure what Switchboard adds to an agent that runs: delay of a line, time to start, memory of a session
#[derive(Args)]
pub struct Run {
    /// How many lines the agent says
    #[arg(long, default_value_t = 5000)]
    lines: u32,
    /// How many of them a second
    #[arg(long, default_value_t = 1000)]
    rate: u32,
    /// How often the start is measured; the shortest counts
    #[arg(long, default_value_t = 15)]
    starts: u32,
    /// How many sessions run at once when memory is measured
    #[arg(long, default_value_t = 40)]
    sessions: u32,
}

/// Runs the command.
pub fn run(args: &Run) -> anyhow::Result<()> {
    build()?;
    run_program(&mut cargo(&["build", "--release", "--package", "switchboard-testkit"]))?;
    run_program(&mut cargo(&["build", "--release", "--package", "switchboard-engine", "--example", "sessions"]))?;
    let folder = crate::process::build_folder().join("bench-run");
    fs::create_dir_all(&folder)?;
    let bench = Bench { folder };
    bench.delays(args)?;
    bench.starts(args)?;
    bench.memory(args)
}

/// The flags of a confined session.
const CONFINED: &[&str] = &["--sandbox", "workspace-write"];

struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn delays(&self, args: &Run) -> anyhow::Result<()> {
        let flood = format!("flood {} {}", args.lines, args.rate);
        let direct = self.hear(self.fake("direct", &flood)?)?;
        let through = self.hear(self.through("through", &flood, &[])?)?;
        let confined = self.hear(self.through("confined", &flood, CONFINED)?)?;
        let row = |name: &str, heard: &[Heard]| {
            let mut delays: Vec<u64> = heard.iter().map(|line| line.heard.saturating_sub(line.said)).collect();
            delays.sort_unstable();
            let at = |share: usize| micros(delays.get(delays.len() * share / 1000).copied().unwrap_or(0));
            vec![name.to_owned(), delays.len().to_string(), at(500), at(990), at(999)]
        };
        say(&format!("{} lines a second, from the agent's write to our reader", args.rate));
        say(&table(
            &["", "lines", "p50 ms", "p99 ms", "p99.9 ms"],
            &[row("a pipe", &direct), row("switchboard", &through), row("in a sandbox", &confined)],
        ));
        for heard in [&through, &confined] {
            ensure!(heard.len() == direct.len(), "{} lines of {} arrived", heard.len(), direct.len());
        }
        Ok(())
    }

    fn starts(&self, args: &Run) -> anyhow::Result<()> {
        let once = |command: Command| -> anyhow::Result<u64> {
            let began = now();
            let heard = self.hear(command)?;
            Ok(heard.first().context("the agent said nothing")?.said.saturating_sub(began))
        };
        let (mut direct, mut through, mut confined) = (Vec::new(), Vec::new(), Vec::new());
        // In turn, so that what else the machine does weighs on all of them.
        for _ in 0..args.starts {
            direct.push(once(self.fake("direct", "flood 1 1000")?)?);
            through.push(once(self.through("through", "flood 1 1000", &[])?)?);
            confined.push(once(self.through("confined", "flood 1 1000", CONFINED)?)?);
        }
        [&mut direct, &mut through, &mut confined].into_iter().for_each(|times| times.sort_unstable());
        let at =
            |times: &[u64], middle: bool| times.get(if middle { times.len() / 2 } else { 0 }).copied().unwrap_or(0);
        let row = |name: &str, of: &dyn Fn(bool) -> u64| vec![name.to_owned(), micros(of(false)), micros(of(true))];
        let added = |more: &[u64], less: &[u64], middle| at(more, middle).saturating_sub(at(less, middle));
        say("from the start of the program to the agent's first word");
        say(&table(
            &["", "least ms", "median ms"],
            &[
                row("the agent alone", &|middle| at(&direct, middle)),
                row("switchboard", &|middle| at(&through, middle)),
                row("in a sandbox", &|middle| at(&confined, middle)),
                row("added by switchboard", &|middle| added(&through, &direct, middle)),
                row("added by the sandbox", &|middle| added(&confined, &through, middle)),
            ],
        ));
        Ok(())
    }

    fn memory(&self, args: &Run) -> anyhow::Result<()> {
        let sessions = args.sessions.to_string();
        let script = self.script("held", "speak acp\nopen\nsay Hello\nhang")?;
        let fake = format!("{} fake {}", built("switchboard-testkit").display(), script.display());
        let example = built("examples/sessions");
        let switchboard = built("switchboard");
        let said = output(&mut program(example, &[&sessions, &switchboard.to_string_lossy(), &fake]))?;
        say(said.trim_end());
        Ok(())
    }

    /// The fake by itself.
    fn fake(&self, name: &str, steps: &str) -> anyhow::Result<Command> {
        let script = self.script(name, &format!("speak acp\n{steps}"))?;
        Ok(program(built("switchboard-testkit"), &["fake", &script.to_string_lossy()]))
    }

    /// The fake below Switchboard, in a workspace with a repository.
    fn through(&self, name: &str, steps: &str, flags: &[&str]) -> anyhow::Result<Command> {
        let script = self.script(name, &format!("speak acp\nopen\n{steps}\ndone\nwait"))?;
        let fake = format!("{} fake {}", built("switchboard-testkit").display(), script.display());
        let mut command = program(built("switchboard"), &["run", "acp", "go", "--json", "--command", &fake]);
        let workspace = self.folder.join("workspace");
        fs::create_dir_all(workspace.join(".git/hooks"))?;
        fs::write(workspace.join(".git/config"), "[core]\n")?;
        command.arg("--data").arg(self.folder.join("data")).arg("--cwd").arg(workspace).args(flags);
        Ok(command)
    }

    fn script(&self, name: &str, steps: &str) -> anyhow::Result<PathBuf> {
        let path = Path::new(&self.folder).join(format!("{name}.fake"));
        fs::write(&path, steps)?;
        Ok(path)
    }

    fn hear(&self, mut command: Command) -> anyhow::Result<Vec<Heard>> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let heard = lines.map_while(Result::ok).filter_map(|line| Heard::of(&line)).collect();
        child.wait()?;
        Ok(heard)
    }
}

/// A line of the agent: when it was said and when it was heard, in nanoseconds since 1970.
struct Heard {
    said: u64,
    heard: u64,
}

impl Heard {
    /// The time in the text is the only long number of 2001 to 2286 in nanoseconds.
    fn of(line: &str) -> Option<Self> {
        let heard = now();
        let mut numbers = line.split(|c: char| !c.is_ascii_digit()).filter(|digits| digits.len() == 19);
        numbers.next()?.parse().ok().map(|said| Self { said, heard })
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement needs a clock, and the fake writes this one's time")]
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn micros(nanos: u64) -> String {
    format!("{:.3}", nanos as f64 / 1e6)
}
