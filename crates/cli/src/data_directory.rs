//! Whether a data directory can be trusted: others who can write to it could replace the log and the token.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{failure::Failure, host, view::clean};

/// What is wrong with a data directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DirectoryCheck {
    /// It cannot be used.
    pub refusal: Option<String>,
    /// It can be used with care.
    pub warnings: Vec<String>,
}

impl DirectoryCheck {
    /// Looks at a directory that may not exist yet, and at the directories that it lies in. One that belongs to another
    /// user is refused, unless we are root (in containers, directories of the host often do).
    pub fn new(directory: &Path) -> Self {
        let us = rustix::process::geteuid();
        let mut check = Self::default();
        if let Ok(found) = fs::metadata(directory) {
            if found.uid() != us.as_raw() && !us.is_root() {
                check.refusal = Some("belongs to another user".to_owned());
            }
            if found.mode() & 0o022 != 0 {
                check.warnings.push("can be written by other users; run `chmod go-w` on it".to_owned());
            }
        }
        let real = fs::canonicalize(directory).unwrap_or_else(|_| host::absolute(directory));
        let is_open = |path: &&Path| fs::metadata(path).is_ok_and(|found| found.mode() & 0o1002 == 0o0002);
        if let Some(open) = real.ancestors().skip(1).find(is_open) {
            let open = clean::line(&open.to_string_lossy());
            let text = format!("can be replaced by other users: {open} is writable for all; run `chmod o-w` on it");
            check.warnings.push(text);
        }
        check
    }

    /// Everything in one line, if there is anything.
    pub fn summary(&self) -> Option<String> {
        let all: Vec<_> = self.refusal.iter().chain(&self.warnings).map(String::as_str).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// Warns, once, about a data directory that others can write to, and refuses one that belongs to another user.
pub fn check(directory: &Path) -> Result<(), Failure> {
    static IS_WARNED: AtomicBool = AtomicBool::new(false);
    let (check, path) = (DirectoryCheck::new(directory), clean::line(&directory.to_string_lossy()));
    if let Some(refusal) = check.refusal {
        return Err(Failure::Refused(format!(
            "the data directory {path} {refusal}\nhint: name another one with --data"
        )));
    }
    if !check.warnings.is_empty() && !IS_WARNED.swap(true, Ordering::Relaxed) {
        for warning in check.warnings {
            drop(writeln!(std::io::stderr(), "warning: the data directory {path} {warning}"));
        }
    }
    Ok(())
}
