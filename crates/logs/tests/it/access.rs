//! Read-only homes and unreadable files.

#![cfg(target_os = "linux")]

use std::{fs, os::unix::fs::PermissionsExt as _};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount_bind, mount_change, mount_remount, unmount,
};
use switchboard_testkit::corpus::{CorpusOptions, agents::claude};

use super::crash::{ChildTest, child_role, report_line};
use crate::fixture::{LibraryFixture, open_library, refresh_all, take_snapshot};

/// A read-only home, until this is dropped.
struct ReadOnlyMount(std::path::PathBuf);

impl ReadOnlyMount {
    fn new(home: std::path::PathBuf) -> Option<Self> {
        mount_bind(&home, &home).ok()?;
        let mounted = Self(home);
        mount_change(&mounted.0, MountPropagationFlags::PRIVATE).ok()?;
        mount_remount(&mounted.0, MountFlags::BIND | MountFlags::RDONLY, c"").ok()?;
        Some(mounted)
    }
}

impl Drop for ReadOnlyMount {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).ok();
    }
}

#[test]
fn a_home_that_cannot_be_written_is_read() {
    let (place, truth) = LibraryFixture::with_corpus(&CorpusOptions::small(14));
    let Some(home) = ReadOnlyMount::new(place.home_dir()) else {
        eprintln!("NOT TESTED: a home that cannot be written, since this user may not mount one");
        return;
    };
    assert!(fs::write(place.home_dir().join("x"), "").is_err(), "it can be written");
    let (library, _) = place.refreshed_library();
    let now = take_snapshot(&library);
    drop((library, home));
    assert_eq!(now.all, truth.all);
}

/// Reads as the user `nobody`, and reports the result to the parent.
fn read_as_nobody(folder: &std::path::Path) {
    let library = open_library(&folder.join("home"), &folder.join("theirs"));
    refresh_all(&library);
    report_line(&format!("replies {}", take_snapshot(&library).all.replies));
    for trouble in library.read_errors().unwrap() {
        report_line(&format!("trouble {} {}", trouble.path.display(), trouble.what));
    }
}

#[test]
fn what_may_not_be_read_is_told_of_and_the_rest_is_read() {
    if let Some((_, folder)) = child_role() {
        return read_as_nobody(&folder);
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT TESTED: files that may not be read, since only root can become nobody");
        return;
    }
    let (place, _) =
        LibraryFixture::with_logs(|corpus| claude::write_session(corpus, claude::CountingCase::Repeated, 1, 30_000));
    let good = take_snapshot(&place.refreshed_library().0).all.replies;
    let set = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let secret = place.write_file(".claude/projects/-secret/aaaa.jsonl", b"{}\n");
    set(&secret, 0o000);
    let closed = place.write_file(".claude/projects/-closed/bbbb.jsonl", b"{}\n");
    set(closed.parent().unwrap(), 0o000);
    let theirs = place.root_dir().join("theirs");
    fs::create_dir(&theirs).unwrap();
    set(&theirs, 0o777);
    set(place.root_dir(), 0o755);
    let test = "access::what_may_not_be_read_is_told_of_and_the_rest_is_read";
    let mut child = ChildTest::start_as_nobody(test, "read", place.root_dir());
    let heard: Vec<String> = std::iter::from_fn(|| child.next_line()).collect();
    set(closed.parent().unwrap(), 0o755);
    assert_eq!(heard.first(), Some(&format!("replies {good}")), "{heard:?}");
    for path in [secret.as_path(), closed.parent().unwrap()] {
        let told =
            |line: &&String| line.contains(&path.display().to_string()) && line.to_lowercase().contains("denied");
        assert!(heard.iter().any(|line| told(&line)), "{}: {heard:?}", path.display());
    }
}
