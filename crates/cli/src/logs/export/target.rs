//! Where an export goes: standard output, one file, or a folder with a file for each session.

use std::{
    fs,
    io::{self, BufWriter, Stdout, Write},
    path::{Path, PathBuf},
};

use switchboard_logs::LogSession;

use super::{
    format::Format,
    part::{Part, failed},
};
use crate::failure::Failure;

/// Where to.
pub enum Target {
    /// Standard output.
    Stdout(BufWriter<Stdout>),
    /// One file for all.
    File(Part),
    /// A file for each.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// How the files' names end.
        extension: &'static str,
        /// The one that is being written.
        part: Option<Part>,
    },
}

impl Target {
    /// What was asked for.
    pub fn of(path: Option<&Path>, format: Format, sessions: usize) -> Result<Self, Failure> {
        let is_one = sessions == 1 || format.takes_several();
        match path.filter(|path| *path != Path::new("-")) {
            None if is_one => Ok(Self::Stdout(BufWriter::new(io::stdout()))),
            Some(path) if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                fs::create_dir_all(path).map_err(|cause| failed(path, cause))?;
                Ok(Self::Folder { folder: path.to_owned(), extension: format.extension(), part: None })
            }
            Some(path) if is_one => Part::new(path.to_owned()).map(Self::File),
            _ => Err(Failure::BadValue {
                option: "--output",
                cause: format!(
                    "{sessions} sessions do not fit on one page: name a folder, with / at its end, or one id"
                ),
            }),
        }
    }

    /// A file for each.
    pub fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// Where a session is written to.
    pub fn begin(&mut self, session: &LogSession) -> Result<&mut dyn Write, Failure> {
        match self {
            Self::Stdout(out) => Ok(out),
            Self::File(part) => Ok(part.out()),
            Self::Folder { folder, extension, part } => {
                if let Some(part) = part.take() {
                    part.finish()?;
                }
                Ok(part.insert(Part::new(folder.join(name(session, extension)))?).out())
            }
        }
    }

    /// All is written. Gives where, if that is not standard output.
    pub fn finish(self) -> Result<Option<PathBuf>, Failure> {
        match self {
            Self::Stdout(mut out) => out.flush().map(|()| None).map_err(Failure::Output),
            Self::File(part) => part.finish().map(Some),
            Self::Folder { folder, part, .. } => {
                part.map(Part::finish).transpose()?;
                Ok(Some(folder))
            }
        }
    }
}

/// The day, the agent and the id: names that sort by time. Ids come from logs, so only what is harmless in a name stays.
fn name(session: &LogSession, extension: &str) -> String {
    let day = session.facts.began.or(session.facts.updated).map(|at| at.to_string()).unwrap_or_default();
    let day = day.split('T').next().filter(|day| !day.is_empty()).unwrap_or("undated").to_owned();
    let plain = |text: &str| -> String {
        let keep = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
        text.chars().map(keep).take(80).collect()
    };
    let machine = session.machine.as_deref().map(|machine| format!("-{}", plain(machine))).unwrap_or_default();
    format!("{day}-{}{machine}-{}.{extension}", plain(&session.agent), plain(&session.id))
}

#[cfg(test)]
mod tests {
    use switchboard_agents::SessionFacts;
    use switchboard_event::Timestamp;
    use switchboard_logs::LogSession;

    use super::name;

    #[test]
    fn a_name_stays_in_its_folder() {
        let mut session = LogSession {
            id: "../../etc/passwd\0".to_owned(),
            agent: "agent".to_owned(),
            machine: None,
            facts: SessionFacts { began: Timestamp::parse("2026-11-16T10:00:00Z"), ..SessionFacts::default() },
            files: Vec::new(),
            gone: false,
            archived: false,
            bytes: None,
            own: None,
            subagents: Vec::new(),
        };
        assert_eq!(name(&session, "md"), "2026-11-16-agent-______etc_passwd_.md");
        session.facts.began = None;
        session.machine = Some("my/laptop".to_owned());
        assert_eq!(name(&session, "csv"), "undated-agent-my_laptop-______etc_passwd_.csv");
    }
}
