//! Where logs can grow: the folders of the agents' homes, and what lies there.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use switchboard_agents::{Form, LogFile};
use switchboard_event::Timestamp;

use super::ears::Ears;
use crate::{Home, places::inside};

/// A log that was found.
#[derive(Clone)]
pub struct Found {
    /// The home that it lies in, by its place in the list.
    pub home: usize,
    /// What it is.
    pub file: LogFile,
    /// Where it lies.
    pub path: PathBuf,
    /// When it was written.
    pub written: Timestamp,
}

/// Looks through all homes, and listens to all folders on the way.
pub fn look(homes: &[Home], ears: &mut Ears, found: &mut dyn FnMut(Found)) {
    (0..homes.len()).for_each(|number| look_in(homes, number, ears, found));
}

/// Looks through one home.
pub fn look_in(homes: &[Home], number: usize, ears: &mut Ears, found: &mut dyn FnMut(Found)) {
    let Some(home) = homes.get(number) else { return };
    // For what is not there yet.
    ears.listen(&home.folder);
    for path in home.logs.folders.iter().flat_map(|inner| inside(&home.folder, inner)) {
        below(homes, number, &path, ears, found);
    }
}

/// Looks at a path of a home and, if it is a folder, through it.
pub fn below(homes: &[Home], number: usize, path: &Path, ears: &mut Ears, found: &mut dyn FnMut(Found)) {
    let Ok(meta) = fs::metadata(path) else { return };
    if !meta.is_dir() {
        // A pipe may be named like a log.
        if let Some(log) = log(homes, number, path, &meta).filter(|_| meta.is_file()) {
            found(log);
        }
        return;
    }
    // Before it is read: what comes after that is heard.
    ears.listen(path);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        // Links could lead in circles.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink() || entry.path().is_file()) {
            below(homes, number, &entry.path(), ears, found);
        }
    }
}

/// The homes in which a path can be a log, or has some below it.
pub fn homes_of(homes: &[Home], path: &Path) -> Vec<usize> {
    let fits = |home: &Home, inner: &str| match inner.contains('*') {
        true => path.parent() == Some(&home.folder) && is_named(path, inner),
        false => path.starts_with(home.folder.join(inner)),
    };
    let is_inside = |home: &Home| home.logs.folders.iter().any(|inner| fits(home, inner));
    homes.iter().enumerate().filter(|(_, home)| is_inside(home)).map(|(number, _)| number).collect()
}

fn is_named(path: &Path, name: &str) -> bool {
    let Some((begin, end)) = name.split_once('*') else { return false };
    let given = path.file_name().unwrap_or_default().to_string_lossy();
    given.strip_prefix(begin).is_some_and(|rest| rest.ends_with(end))
}

fn log(homes: &[Home], number: usize, path: &Path, meta: &fs::Metadata) -> Option<Found> {
    let home = homes.get(number)?;
    let file = (home.logs.file)(path.strip_prefix(&home.folder).ok()?)?;
    if matches!(file.form, Form::SharedDocument(_)) {
        // Sessions at work have logs of their own.
        return None;
    }
    let written = Timestamp::from_micros(meta.mtime() * 1_000_000 + meta.mtime_nsec() / 1_000)?;
    Some(Found { home: number, file, path: path.to_owned(), written })
}
