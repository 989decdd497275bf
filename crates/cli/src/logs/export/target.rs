//! Where an export goes: standard output, one file, or a directory with a file for each session. A file takes its name when it
//! is complete, so that no reader sees half of one.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, BufWriter, Stdout, Write},
    path::{Path, PathBuf},
};

use switchboard_logs::LogSession;

use super::ExportFormat;
use crate::failure::Failure;

/// Maximum length of a chain of symbolic links.
const MAX_LINKS: usize = 40;

pub enum ExportTarget {
    Stdout(BufWriter<Stdout>),
    File(PartialFile),
    Folder {
        folder: PathBuf,
        extension: &'static str,
        /// The current file.
        part: Option<PartialFile>,
    },
}

impl ExportTarget {
    pub fn new(path: Option<&Path>, format: ExportFormat, sessions: usize) -> Result<Self, Failure> {
        let is_one = sessions == 1 || format.takes_several();
        match path.filter(|path| *path != Path::new("-")) {
            None if is_one => Ok(Self::Stdout(BufWriter::new(io::stdout()))),
            Some(path) if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                fs::create_dir_all(path).map_err(|cause| unwritable(path, cause))?;
                Ok(Self::Folder { folder: path.to_owned(), extension: format.extension(), part: None })
            }
            Some(path) if is_one => PartialFile::new(path.to_owned()).map(Self::File),
            _ => Err(Failure::BadValue {
                option: "--output",
                cause: format!(
                    "{sessions} sessions do not fit in one page: give a directory ending in /, or a single ID"
                ),
            }),
        }
    }

    pub fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// Returns the output for a session.
    pub fn begin(&mut self, session: &LogSession) -> Result<&mut dyn Write, Failure> {
        match self {
            Self::Stdout(out) => Ok(out),
            Self::File(part) => Ok(part.out()),
            Self::Folder { folder, extension, part } => {
                if let Some(part) = part.take() {
                    part.finish()?;
                }
                Ok(part.insert(PartialFile::new(folder.join(session_file_name(session, extension)))?).out())
            }
        }
    }

    /// Completes the output; returns its path unless that is standard output.
    pub fn finish(self) -> Result<Option<PathBuf>, Failure> {
        match self {
            Self::Stdout(mut out) => out.flush().map(|()| None).map_err(Failure::Output),
            Self::File(part) => part.finish().map(Some),
            Self::Folder { folder, part, .. } => {
                part.map(PartialFile::finish).transpose()?;
                Ok(Some(folder))
            }
        }
    }
}

/// Returns a file name of day, agent and ID, which sorts by time. IDs come from logs, so only safe characters are kept.
fn session_file_name(session: &LogSession, extension: &str) -> String {
    let day = session.facts.began.or(session.facts.updated).map(|at| at.to_string()).unwrap_or_default();
    let day = day.split('T').next().filter(|day| !day.is_empty()).unwrap_or("undated").to_owned();
    let plain = |text: &str| -> String {
        let keep = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
        text.chars().map(keep).take(80).collect()
    };
    let machine = session.machine.as_deref().map(|machine| format!("-{}", plain(machine))).unwrap_or_default();
    format!("{day}-{}{machine}-{}.{extension}", plain(&session.agent), plain(&session.id))
}

/// A file that is written under a temporary name. A pipe or device is written directly.
pub struct PartialFile {
    path: PathBuf,
    out: BufWriter<File>,
    /// `None` if the file is written directly.
    waiting: Option<TemporaryFile>,
}

/// A temporary file next to its target. Dropping it removes it unless it was renamed to the target.
struct TemporaryFile {
    temporary: PathBuf,
    place: PathBuf,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After the rename there is nothing to remove.
        let _gone = fs::remove_file(&self.temporary);
    }
}

impl PartialFile {
    pub fn new(path: PathBuf) -> Result<Self, Failure> {
        let begun = create_file(&path).map_err(|cause| unwritable(&path, cause))?;
        Ok(Self { path, out: BufWriter::new(begun.0), waiting: begun.1 })
    }

    pub fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Renames the complete file to its final name and returns that.
    pub fn finish(mut self) -> Result<PathBuf, Failure> {
        let place = |waiting: &TemporaryFile| fs::rename(&waiting.temporary, &waiting.place);
        let done = self.out.flush().and_then(|()| self.waiting.as_ref().map_or(Ok(()), place));
        done.map_err(|cause| unwritable(&self.path, cause))?;
        Ok(self.path)
    }
}

fn create_file(path: &Path) -> io::Result<(File, Option<TemporaryFile>)> {
    let known = fs::metadata(path).ok();
    if is_process_stream(path) || known.as_ref().is_some_and(|known| !known.is_file()) {
        return Ok((OpenOptions::new().append(true).open(path)?, None));
    }
    let place = follow_links(path)?;
    let (file, temporary) = create_temporary(&place)?;
    let waiting = TemporaryFile { temporary, place };
    if let Some(known) = known {
        file.set_permissions(Metadata::permissions(&known))?;
    }
    Ok((file, Some(waiting)))
}

/// Returns whether a path is a stream of this process. It may be a regular file, whose content must stay.
fn is_process_stream(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr"].iter().any(|name| path == Path::new(name))
        || ["/dev/fd", "/proc"].iter().any(|folder| path.starts_with(folder))
}

/// Resolves symbolic links, also to a file that does not exist yet.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(link) = fs::read_link(&place) else { return Ok(place) };
        place = place.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(io::Error::other("too many links"))
}

/// Creates a new file in the same directory, under an unused name.
fn create_temporary(place: &Path) -> io::Result<(File, PathBuf)> {
    let name = place.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
    let process = std::process::id();
    for number in 0_u32.. {
        let mut hidden = std::ffi::OsString::from(".");
        // File names are limited to 255 bytes, and this one is longer than the original.
        let is_long = name.len() > 200;
        hidden.push(if is_long { "export".as_ref() } else { name });
        hidden.push(format!(".{process}-{number}.part"));
        let temporary = place.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (file, temporary)),
        }
    }
    Err(io::Error::other("all names are taken"))
}

fn unwritable(path: &Path, cause: io::Error) -> Failure {
    Failure::Unwritable { path: path.to_owned(), cause }
}

#[cfg(test)]
mod tests {

    use std::{fs, os::unix::fs::symlink};

    use switchboard_agents::SessionFacts;
    use switchboard_event::Timestamp;
    use switchboard_logs::LogSession;

    use super::{PartialFile, session_file_name};

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
        assert_eq!(session_file_name(&session, "md"), "2026-11-16-agent-______etc_passwd_.md");
        session.facts.began = None;
        session.machine = Some("my/laptop".to_owned());
        assert_eq!(session_file_name(&session, "csv"), "undated-agent-my_laptop-______etc_passwd_.csv");
    }

    fn names(folder: &std::path::Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_link_stays_a_link_and_nobody_elses_file_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("x.part"), "mine").unwrap();
        fs::write(at("old"), "old").unwrap();
        symlink("old", at("x")).unwrap();
        symlink("new", at("dangling")).unwrap();
        for (name, behind) in [("x", "old"), ("dangling", "new")] {
            let mut part = PartialFile::new(at(name)).unwrap();
            part.out().write_all(b"written").unwrap();
            part.finish().unwrap();
            assert!(at(name).is_symlink() && !at(behind).is_symlink());
            assert_eq!(fs::read_to_string(at(behind)).unwrap(), "written");
        }
        assert_eq!(fs::read_to_string(at("x.part")).unwrap(), "mine");
        assert_eq!(names(folder.path()), ["dangling", "new", "old", "x", "x.part"]);
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "before").unwrap();
        let (mut one, two) = (PartialFile::new(path.clone()).unwrap(), PartialFile::new(path.clone()).unwrap());
        one.out().write_all(b"half of").unwrap();
        drop(two);
        drop(one);
        assert_eq!((names(folder.path()), fs::read_to_string(&path).unwrap()), (vec!["x".to_owned()], "before".into()));
    }

    #[test]
    fn a_device_is_written_to_as_it_is() {
        // `/dev/full` rejects writes and must survive.
        let mut part = PartialFile::new("/dev/full".into()).unwrap();
        part.out().write_all(b"x").unwrap();
        assert!(part.finish().unwrap_err().to_string().contains("/dev/full"));
        let mut part = PartialFile::new("/dev/null".into()).unwrap();
        part.out().write_all(b"x").unwrap();
        part.finish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
