//! A full disk: what is there is read and deleted, and nothing is blamed on anything else.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::rig::Served;

/// A small file system of its own. Where that is not allowed there is none.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn below(folder: &TempDir) -> Option<Self> {
        let path = folder.path().join("data");
        fs::create_dir(&path).unwrap();
        mount("tmpfs", &path, "tmpfs", MountFlags::empty(), c"size=32m,mode=700").ok()?;
        Some(Self(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).ok();
    }
}

/// Takes all space that is left.
fn fill(disk: &Path) {
    let mut ballast = fs::OpenOptions::new().create(true).append(true).open(disk.join("ballast")).unwrap();
    for size in (0..=20).rev().map(|power| vec![0; 1 << power]) {
        while ballast.write_all(&size).is_ok() {}
    }
}

fn health(served: &Served) -> Value {
    serde_json::from_str(&served.ask("GET", "/api/health", None).1).unwrap()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("never: {what}");
}

#[test]
fn with_a_full_disk_sessions_are_read_and_deleted_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::below(&folder) else {
        eprintln!("NOT TESTED: a full disk, since this user may not mount one");
        return;
    };
    let served = Served::with(folder, &[]);
    let long = "x".repeat(90_000);
    let old = served.session(&json!({ "agentType": "echo", "prompt": long }));
    served.events(&old);
    let running = served.session(&json!({ "agentType": "script", "prompt": "burst 100000000 at 20000" }));
    let state =
        |id: &str| serde_json::from_str::<Value>(&served.ask("GET", &format!("/api/sessions/{id}"), None).1).unwrap();
    until("the session has some megabytes", || state(&running)["events"].as_u64() > Some(10_000));
    fill(&disk.0);
    until("the session that can't be written ends", || state(&running)["state"] == "failed");
    let view = state(&running);
    assert!(view.to_string().contains("no space left on device"), "{view}");
    assert_eq!((&health(&served)["status"], &health(&served)["reason"]), (&json!("degraded"), &json!("disk_full")));
    fill(&disk.0);
    let folder = served.stop();

    fill(&disk.0);
    let served = Served::with(folder, &[]);
    assert_eq!(health(&served)["reason"], "disk_full");
    assert_eq!(served.sessions().len(), 2);
    assert!(served.events(&old).contains(&long));
    let (status, body) = served.ask("POST", "/api/sessions", Some(&json!({ "agentType": "echo", "prompt": "x" })));
    assert!(status == 507 && body.contains("disk_full"), "{status} {body}");
    let (status, body) = served.ask("DELETE", &format!("/api/sessions/{running}"), None);
    assert_eq!(status, 204, "{body}");
    until("the space comes back", || health(&served)["status"] == "ok");
    let again = served.session(&json!({ "agentType": "echo", "prompt": "again" }));
    assert!(served.events(&again).contains("again"));
}
