//! The rules of this repository, as code: what can be checked is checked here and not argued about.

mod arrows;
mod documents;
mod names;
mod style;

use std::{
    fs,
    path::{Path, PathBuf},
};

use switchboard_testkit::repository_root;

/// A file of the repository.
pub struct File {
    /// Its path from the top, with `/`.
    pub path: String,
    /// What it holds, if it is text.
    pub text: String,
}

impl File {
    /// It is Rust.
    pub fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// It only serves tests.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// It was recorded, or made from what was recorded: not ours to phrase.
    pub fn is_recorded(&self) -> bool {
        self.path.contains("/testdata/")
    }

    /// Its lines and their numbers.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().zip(1..).map(|(line, number)| (number, line))
    }

    /// The lines of code before the tests in the same file.
    pub fn own_lines(&self) -> usize {
        self.text.lines().take_while(|line| *line != "#[cfg(test)]").count()
    }
}

/// All text files of the repository, without what is built or ignored.
pub fn files() -> Vec<File> {
    let (mut found, top) = (Vec::new(), repository_root().canonicalize().unwrap());
    walk(&top, &top, &mut found);
    assert!(found.len() > 50, "the repository was not found");
    found
}

/// One file, which must be there.
pub fn file(path: &str) -> File {
    files().into_iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path} is missing"))
}

fn walk(top: &Path, folder: &Path, found: &mut Vec<File>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        let path = entry.strip_prefix(top).unwrap().to_string_lossy().replace('\\', "/");
        let is_built = path == "target" || path == ".git" || path.ends_with(".snap.new");
        if is_built {
            continue;
        }
        if entry.is_dir() {
            walk(top, &entry, found);
        } else if let Ok(text) = fs::read_to_string(&entry) {
            found.push(File { path, text });
        }
    }
}
