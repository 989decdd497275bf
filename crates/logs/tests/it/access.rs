//! Homes that cannot be written, and files that cannot be read.

#![cfg(target_os = "linux")]

use std::{fs, os::unix::fs::PermissionsExt as _};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount_bind, mount_change, mount_remount, unmount,
};
use switchboard_testkit::corpus::{Wanted, agents::claude};

use crate::{
    child::{Actor, role, say},
    place::{Place, library, refresh, said},
};

/// A home that nobody can write to, while this lives.
struct ReadOnly(std::path::PathBuf);

impl ReadOnly {
    fn new(home: std::path::PathBuf) -> Option<Self> {
        mount_bind(&home, &home).ok()?;
        let mounted = Self(home);
        mount_change(&mounted.0, MountPropagationFlags::PRIVATE).ok()?;
        mount_remount(&mounted.0, MountFlags::BIND | MountFlags::RDONLY, c"").ok()?;
        Some(mounted)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).ok();
    }
}

#[test]
fn a_home_that_cannot_be_written_is_read() {
    let (place, truth) = Place::with_corpus(&Wanted::small(14));
    let Some(home) = ReadOnly::new(place.home()) else {
        eprintln!("NOT TESTED: a home that cannot be written, since this user may not mount one");
        return;
    };
    assert!(fs::write(place.home().join("x"), "").is_err(), "it can be written");
    let (library, _) = place.current();
    let now = said(&library);
    drop((library, home));
    assert_eq!(now.all, truth.all);
}

/// Reads with the rights of nobody, and tells what it found.
fn as_nobody(folder: &std::path::Path) {
    let library = library(&folder.join("home"), &folder.join("theirs"));
    refresh(&library);
    say(&format!("replies {}", said(&library).all.replies));
    for trouble in library.troubles().unwrap() {
        say(&format!("trouble {} {}", trouble.path.display(), trouble.what));
    }
}

#[test]
fn what_may_not_be_read_is_told_of_and_the_rest_is_read() {
    if let Some((_, folder)) = role() {
        return as_nobody(&folder);
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT TESTED: files that may not be read, since only root can become nobody");
        return;
    }
    let (place, _) = Place::with(|corpus| claude::session(corpus, claude::Case::Repeated, 1, 30_000));
    let good = said(&place.current().0).all.replies;
    let set = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let secret = place.file(".claude/projects/-secret/aaaa.jsonl", b"{}\n");
    set(&secret, 0o000);
    let closed = place.file(".claude/projects/-closed/bbbb.jsonl", b"{}\n");
    set(closed.parent().unwrap(), 0o000);
    let theirs = place.folder().join("theirs");
    fs::create_dir(&theirs).unwrap();
    set(&theirs, 0o777);
    set(place.folder(), 0o755);
    let test = "access::what_may_not_be_read_is_told_of_and_the_rest_is_read";
    let mut child = Actor::start_as_nobody(test, "read", place.folder());
    let heard: Vec<String> = std::iter::from_fn(|| child.hear()).collect();
    set(closed.parent().unwrap(), 0o755);
    assert_eq!(heard.first(), Some(&format!("replies {good}")), "{heard:?}");
    for path in [secret.as_path(), closed.parent().unwrap()] {
        let told =
            |line: &&String| line.contains(&path.display().to_string()) && line.to_lowercase().contains("denied");
        assert!(heard.iter().any(|line| told(&line)), "{}: {heard:?}", path.display());
    }
}
