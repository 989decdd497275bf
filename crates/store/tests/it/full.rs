//! No room: said to whom it concerns, and nothing else is harmed.

use std::{fs, path::Path, sync::mpsc::channel};

use switchboard_store::{Batch, Log as _, LogHealth, Options, State, Store, StoreError, Update};

use crate::fixture::{append, chunk, event, events, folder, new, open, owner, seqs};

#[test]
fn without_room_a_batch_fails_alone_and_the_log_goes_on() {
    let folder = folder();
    let options = Options { owner: Some(owner(1)), max_bytes: Some(400_000), ..Options::default() };
    let store = Store::open(folder.path(), &options).unwrap();
    for session in ["old", "s", "t"] {
        store.create(new(session)).unwrap();
    }
    let long = "x".repeat(200_000);
    let done = Update { state: Some(State::Done), ..Update::default() };
    append(&store, "old", vec![event("old", 1, &long)], done).unwrap();

    // All three are in the queue before the first is written, so they are one group.
    let blocker = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (send, receive) = channel();
    let big = (1..=3).map(|seq| event("t", seq, &long)).collect();
    for (session, events) in [("s", events("s", 1..=2)), ("t", big), ("s", events("s", 3..=4))] {
        let send = send.clone();
        let done = Box::new(move |outcome| send.send(outcome).unwrap());
        store.append(Batch { session: session.into(), events: chunk(events), update: Update::default(), done });
    }
    blocker.execute_batch("COMMIT").unwrap();
    let outcomes: Vec<_> = receive.iter().take(3).collect();
    assert!(matches!(outcomes[..], [Ok(()), Err(StoreError::Full), Ok(())]), "{outcomes:?}");
    assert_eq!((seqs(&store, "s"), seqs(&store, "t")), (vec![1, 2, 3, 4], vec![]));

    let one = || vec![event("t", 1, &long)];
    assert!(matches!(append(&store, "t", one(), Update::default()), Err(StoreError::Full)));
    store.delete("old").unwrap();
    store.reclaim().unwrap();
    append(&store, "t", one(), Update::default()).unwrap();
    let sound: String = blocker.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

/// A small file system of its own. Where that is not allowed there is none.
#[cfg(target_os = "linux")]
struct Disk(tempfile::TempDir);

#[cfg(target_os = "linux")]
impl Disk {
    fn new(size: &std::ffi::CStr) -> Option<Self> {
        use rustix::mount::{MountFlags, mount};
        let folder = folder();
        let mounted = mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), size);
        mounted.is_ok().then_some(Self(folder))
    }

    /// Takes all room that is left; removing the file gives it back.
    fn fill(&self) -> std::path::PathBuf {
        let ballast = self.0.path().join("ballast");
        // Smaller and smaller, until not even a byte fits.
        for piece in (0..=20).rev().map(|power| 1_usize << power) {
            while fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(&ballast)
                .is_ok_and(|mut file| std::io::Write::write_all(&mut file, &vec![0; piece]).is_ok())
            {}
        }
        ballast
    }
}

#[cfg(target_os = "linux")]
impl Drop for Disk {
    fn drop(&mut self) {
        rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH).ok();
    }
}

fn is_sound(folder: &Path) -> bool {
    let log = rusqlite::Connection::open(folder.join("log.db")).unwrap();
    log.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap() == "ok"
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_really_full_is_said_and_harms_nothing() {
    let Some(disk) = Disk::new(c"size=8m") else {
        eprintln!("NOT TESTED: a full disk, since this user may not mount one");
        return;
    };
    let data = disk.0.path().join("data");
    let store = open(&data);
    store.create(new("s")).unwrap();
    let long = "x".repeat(20_000);
    let mut head = 0;
    let mut one_more = |store: &Store| {
        let outcome = append(store, "s", vec![event("s", head + 1, &long)], Update::default());
        head += u64::from(outcome.is_ok());
        (outcome, head)
    };
    one_more(&store).0.unwrap();
    let ballast = disk.fill();
    // There may be room in the files as they are; not for long.
    let (failed, head) = (0..200).map(|_| one_more(&store)).find(|(outcome, _)| outcome.is_err()).unwrap();
    assert!(matches!(failed, Err(StoreError::Full)), "{failed:?}");
    assert!(matches!(one_more(&store).0, Err(StoreError::Full)));
    assert!(matches!(store.create(new("t")), Err(StoreError::Full)));
    assert_eq!(seqs(&store, "s"), (1..=head).collect::<Vec<_>>(), "what was committed is there");

    fs::remove_file(ballast).unwrap();
    for _ in 0..20 {
        one_more(&store).0.unwrap();
    }
    let (last, head) = one_more(&store);
    last.unwrap();
    drop(store);
    assert!(is_sound(&data));
    assert_eq!(seqs(&open(&data), "s"), (1..=head).collect::<Vec<_>>());

    // One who opens the log then reads it, and uses the reserve to delete.
    disk.fill();
    let store = open(&data);
    assert_eq!(store.health(), LogHealth::DiskFull);
    assert_eq!(seqs(&store, "s"), (1..=head).collect::<Vec<_>>());
    assert!(matches!(store.create(new("t")), Err(StoreError::Full)));
    assert_eq!(store.take_over().unwrap().len(), 1);
    append(&store, "s", vec![], Update { state: Some(State::Failed), ..Update::default() }).unwrap();
    store.delete("s").unwrap();
    store.reclaim().unwrap();
    until(|| store.health() == LogHealth::Sound);
    store.create(new("t")).unwrap();
    append(&store, "t", events("t", 1..=3), Update::default()).unwrap();
    drop(store);
    assert!(is_sound(&data));

    // Without a reserve it is only read.
    fs::remove_file(data.join("reserve")).unwrap();
    disk.fill();
    for owner in [Some(owner(2)), None] {
        let store = Store::open(&data, &Options { owner, ..Options::default() }).unwrap();
        assert_eq!(store.health(), LogHealth::DiskFull);
        assert_eq!((seqs(&store, "t"), store.is_read_only()), (vec![1, 2, 3], true));
        assert!(matches!(store.create(new("u")), Err(StoreError::Full)));
    }
}

/// Waits for what the log does by itself.
#[cfg(target_os = "linux")]
fn until(is_so: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it never was so");
}
