//! The lines between us and the supervisor. The order to start an agent is not among them: it goes past the supervisor.

use super::{control::Exit, process::Process};

/// A command to the supervisor, which acknowledges each. Closing the channel means: kill everything, now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Send a signal to the agent's process group.
    Signal(i32),
    /// Ask the group to end, and kill everything after this many milliseconds.
    Stop(u64),
}

impl Command {
    /// As a line.
    pub fn line(self) -> String {
        match self {
            Self::Signal(signal) => format!("signal {signal}\n"),
            Self::Stop(grace) => format!("stop {grace}\n"),
        }
    }

    /// From a line without its end.
    pub fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ')? {
            ("signal", signal) => Some(Self::Signal(signal.parse().ok()?)),
            ("stop", grace) => Some(Self::Stop(grace.parse().ok()?)),
            _ => None,
        }
    }
}

/// A report of the supervisor. After the last one it ends, which closes the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// The process that becomes the agent is there.
    Started(Process),
    /// A command was carried out.
    Acknowledged,
    /// The agent has ended.
    Exited(Exit),
    /// No descendant is left, except for this many that we may not kill.
    Gone(usize),
}

impl Report {
    /// As a line.
    pub fn line(self) -> String {
        match self {
            Self::Started(agent) => format!("started {} {}\n", agent.pid, agent.start_time),
            Self::Acknowledged => "acknowledged\n".to_owned(),
            Self::Exited(Exit { code: Some(code), .. }) => format!("exited code {code}\n"),
            Self::Exited(Exit { signal, .. }) => format!("exited signal {}\n", signal.unwrap_or_default()),
            Self::Gone(left) => format!("gone {left}\n"),
        }
    }

    /// From a line without its end.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut word = || words.next();
        match word()? {
            "started" => Some(Self::Started(Process { pid: word()?.parse().ok()?, start_time: word()?.parse().ok()? })),
            "exited" => match (word()?, word()?.parse().ok()?) {
                ("code", code) => Some(Self::Exited(Exit { code: Some(code), signal: None })),
                (_, signal) => Some(Self::Exited(Exit { code: None, signal: Some(signal) })),
            },
            "acknowledged" => Some(Self::Acknowledged),
            "gone" => Some(Self::Gone(word()?.parse().ok()?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Exit, Process, Report};

    #[test]
    fn what_is_said_is_understood() {
        for command in [Command::Signal(2), Command::Stop(1500)] {
            assert_eq!(Command::parse(command.line().trim_end()), Some(command));
        }
        let ends = [Exit { code: Some(3), signal: None }, Exit { code: None, signal: Some(9) }].map(Report::Exited);
        let start = Report::Started(Process { pid: 77, start_time: 4242 });
        for report in [start, Report::Acknowledged, Report::Gone(2)].into_iter().chain(ends) {
            assert_eq!(Report::parse(report.line().trim_end()), Some(report));
        }
    }

    #[test]
    fn other_lines_mean_nothing() {
        for line in ["", "signal", "signal x", "stop", "halt 1"] {
            assert_eq!(Command::parse(line), None, "{line}");
        }
        for line in ["", "started 1", "exited code", "exited", "gone"] {
            assert_eq!(Report::parse(line), None, "{line}");
        }
    }
}
