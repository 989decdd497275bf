//! A full disk: the error is reported, nothing is lost, and the scan continues once there is space.

#![cfg(target_os = "linux")]

use std::{fs, io::Write as _, path::PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use switchboard_agents::ScanDepth;
use switchboard_testkit::corpus::CorpusOptions;

use crate::place::{LibraryFixture, open_library, refresh_all, take_snapshot};

/// A small tmpfs. `None` if mounting is not permitted.
struct TmpfsMount(tempfile::TempDir);

impl TmpfsMount {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), c"size=64m");
        mounted.is_ok().then_some(Self(folder))
    }

    /// Fills the disk except for `but` bytes.
    fn fill_except(&self, but: usize) -> PathBuf {
        let (ballast, spare) = (self.0.path().join("ballast"), self.0.path().join("spare"));
        fs::write(&spare, vec![0; but]).unwrap();
        let mut file = fs::File::create(&ballast).unwrap();
        for piece in (0..=20).rev().map(|power| 1_usize << power) {
            while file.write_all(&vec![0; piece]).is_ok() {}
        }
        fs::remove_file(spare).unwrap();
        ballast
    }
}

impl Drop for TmpfsMount {
    fn drop(&mut self) {
        unmount(self.0.path(), UnmountFlags::DETACH).ok();
    }
}

#[test]
fn a_full_disk_is_said_and_with_room_it_goes_on() {
    let Some(disk) = TmpfsMount::new() else {
        eprintln!("NOT TESTED: a full disk, since this user may not mount one");
        return;
    };
    let (place, _) = LibraryFixture::with_corpus(&CorpusOptions::small(13));
    let data = disk.0.path().join("data");
    let opened = open_library(&place.home_dir(), &data);
    for room in [8 << 10, 128 << 10, 512 << 10] {
        let ballast = disk.fill_except(room);
        let error = opened.refresh_index(ScanDepth::All, &|_| {}).unwrap_err().to_string();
        assert!(error.contains("full") && error.contains(&data.display().to_string()), "{error}");
        // Existing content can still be queried.
        take_snapshot(&opened);
        fs::remove_file(ballast).unwrap();
    }
    refresh_all(&opened);
    let now = take_snapshot(&opened);
    assert_eq!(now, place.fresh_snapshot());
    drop(opened);
    crate::crash::check_integrity(&data);
    assert_eq!(take_snapshot(&open_library(&place.home_dir(), &data)), now);
}
