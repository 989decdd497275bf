//! Rules of this repository that can be checked by code.

mod dependencies;
mod documents;
mod names;
mod style;
mod vocabulary;

use std::{
    fs,
    path::{Path, PathBuf},
};

use switchboard_testkit::repository_root;

/// A file of the repository.
pub struct SourceFile {
    /// The path relative to the repository.
    pub path: String,
    pub text: String,
}

impl SourceFile {
    pub fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// Returns whether the file contains only tests.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// Returns whether the file is recorded data.
    pub fn is_recorded(&self) -> bool {
        self.path.contains("/testdata/")
    }

    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().zip(1..).map(|(line, number)| (number, line))
    }

    /// Returns the number of lines before the tests in the same file.
    pub fn own_lines(&self) -> usize {
        self.text.lines().take_while(|line| *line != "#[cfg(test)]").count()
    }
}

/// Returns all text files of the repository, without build output.
pub fn files() -> Vec<SourceFile> {
    let (mut found, top) = (Vec::new(), repository_root().canonicalize().unwrap());
    walk(&top, &top, &mut found);
    assert!(found.len() > 50, "the repository was not found");
    found
}

pub fn file(path: &str) -> SourceFile {
    files().into_iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path} is missing"))
}

fn walk(top: &Path, folder: &Path, found: &mut Vec<SourceFile>) {
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
            found.push(SourceFile { path, text });
        }
    }
}
