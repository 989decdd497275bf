//! No room under the index: it is said, nothing is lost, and with room it goes on.

#![cfg(target_os = "linux")]

use std::{fs, io::Write as _, path::PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use switchboard_agents::Depth;
use switchboard_testkit::corpus::Wanted;

use crate::place::{Place, library, refresh, said};

/// A small file system of its own. Where that is not allowed there is none.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), c"size=64m");
        mounted.is_ok().then_some(Self(folder))
    }

    /// Takes all room but some.
    fn fill(&self, but: usize) -> PathBuf {
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

impl Drop for Disk {
    fn drop(&mut self) {
        unmount(self.0.path(), UnmountFlags::DETACH).ok();
    }
}

#[test]
fn a_full_disk_is_said_and_with_room_it_goes_on() {
    let Some(disk) = Disk::new() else {
        eprintln!("NOT TESTED: a full disk, since this user may not mount one");
        return;
    };
    let (place, _) = Place::with_corpus(&Wanted::small(13));
    let data = disk.0.path().join("data");
    let opened = library(&place.home(), &data);
    for room in [8 << 10, 128 << 10, 512 << 10] {
        let ballast = disk.fill(room);
        let error = opened.refresh(Depth::All, &|_| {}).unwrap_err().to_string();
        assert!(error.contains("full") && error.contains(&data.display().to_string()), "{error}");
        // What is there can still be asked for.
        said(&opened);
        fs::remove_file(ballast).unwrap();
    }
    refresh(&opened);
    let now = said(&opened);
    assert_eq!(now, place.afresh());
    drop(opened);
    crate::crash::check_sound(&data);
    assert_eq!(said(&library(&place.home(), &data)), now);
}
