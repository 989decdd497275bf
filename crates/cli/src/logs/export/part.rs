//! A file that is being written. It takes its place when it is whole, so that no reader sees half of one, and nothing
//! is left of it if that fails. What is no regular file (a pipe, a device) is written to as it is.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// Links behind links, at most.
const MOST_LINKS: usize = 40;

/// A file that is not yet whole.
pub struct Part {
    path: PathBuf,
    out: BufWriter<File>,
    /// None where it is written in its place.
    waiting: Option<Waiting>,
}

/// A temporary file next to its target. Dropping it removes it unless it was renamed to the target.
struct Waiting {
    temporary: PathBuf,
    place: PathBuf,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // It has its name no more if it was put into its place, and then there is nothing to remove.
        let _gone = fs::remove_file(&self.temporary);
    }
}

impl Part {
    /// Begins one.
    pub fn new(path: PathBuf) -> Result<Self, Failure> {
        let begun = begun(&path).map_err(|cause| failed(&path, cause))?;
        Ok(Self { path, out: BufWriter::new(begun.0), waiting: begun.1 })
    }

    /// Where to write.
    pub fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// It is whole. Gives where it is.
    pub fn finish(mut self) -> Result<PathBuf, Failure> {
        let place = |waiting: &Waiting| fs::rename(&waiting.temporary, &waiting.place);
        let done = self.out.flush().and_then(|()| self.waiting.as_ref().map_or(Ok(()), place));
        done.map_err(|cause| failed(&self.path, cause))?;
        Ok(self.path)
    }
}

fn begun(path: &Path) -> io::Result<(File, Option<Waiting>)> {
    let known = fs::metadata(path).ok();
    if is_stream(path) || known.as_ref().is_some_and(|known| !known.is_file()) {
        return Ok((OpenOptions::new().append(true).open(path)?, None));
    }
    let place = followed(path)?;
    let (file, temporary) = beside(&place)?;
    let waiting = Waiting { temporary, place };
    if let Some(known) = known {
        file.set_permissions(Metadata::permissions(&known))?;
    }
    Ok((file, Some(waiting)))
}

/// A file of the process itself, which may be a regular one: what is in it already stays.
fn is_stream(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr"].iter().any(|name| path == Path::new(name))
        || ["/dev/fd", "/proc"].iter().any(|folder| path.starts_with(folder))
}

/// Where a path leads, also if there is nothing yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(link) = fs::read_link(&place) else { return Ok(place) };
        place = place.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(io::Error::other("too many links"))
}

/// Creates a new file in the same directory, under an unused name.
fn beside(place: &Path) -> io::Result<(File, PathBuf)> {
    let name = place.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
    let process = std::process::id();
    for number in 0_u32.. {
        let mut hidden = std::ffi::OsString::from(".");
        // Names can have 255 bytes; this one needs some more than the other.
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

/// It cannot be written.
pub fn failed(path: &Path, cause: io::Error) -> Failure {
    Failure::Unwritable { path: path.to_owned(), cause }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::Part;

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
            let mut part = Part::new(at(name)).unwrap();
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
        let (mut one, two) = (Part::new(path.clone()).unwrap(), Part::new(path.clone()).unwrap());
        one.out().write_all(b"half of").unwrap();
        drop(two);
        drop(one);
        assert_eq!((names(folder.path()), fs::read_to_string(&path).unwrap()), (vec!["x".to_owned()], "before".into()));
    }

    #[test]
    fn a_device_is_written_to_as_it_is() {
        // Nothing fits in there: it says so, and it is still there.
        let mut part = Part::new("/dev/full".into()).unwrap();
        part.out().write_all(b"x").unwrap();
        assert!(part.finish().unwrap_err().to_string().contains("/dev/full"));
        let mut part = Part::new("/dev/null".into()).unwrap();
        part.out().write_all(b"x").unwrap();
        part.finish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
