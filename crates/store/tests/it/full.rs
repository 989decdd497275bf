//! A full disk is reported to the affected callers and harms nothing else.

use std::{fs, path::Path, sync::mpsc::channel};

use switchboard_store::{
    EventBatch, LogHealth, SessionLog as _, SessionPatch, SessionPhase, SqliteStore, StoreError, StoreOptions,
};

use crate::fixture::{
    append_and_wait, new_session, open_store, stored_seqs, temp_dir, test_owner, text_event, text_events, to_chunk,
};

#[test]
fn without_room_a_batch_fails_alone_and_the_log_goes_on() {
    let folder = temp_dir();
    let options = StoreOptions { owner: Some(test_owner(1)), max_bytes: Some(400_000), ..StoreOptions::default() };
    let store = SqliteStore::open(folder.path(), &options).unwrap();
    for session in ["old", "s", "t"] {
        store.create_session(new_session(session)).unwrap();
    }
    let long = "x".repeat(200_000);
    let done = SessionPatch { state: Some(SessionPhase::Done), ..SessionPatch::default() };
    append_and_wait(&store, "old", vec![text_event("old", 1, &long)], done).unwrap();

    // All three are queued before the first is written, so they form one group.
    let blocker = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (send, receive) = channel();
    let big = (1..=3).map(|seq| text_event("t", seq, &long)).collect();
    for (session, events) in [("s", text_events("s", 1..=2)), ("t", big), ("s", text_events("s", 3..=4))] {
        let send = send.clone();
        let done = Box::new(move |outcome| send.send(outcome).unwrap());
        store.append_batch(EventBatch {
            session: session.into(),
            events: to_chunk(events),
            update: SessionPatch::default(),
            done,
        });
    }
    blocker.execute_batch("COMMIT").unwrap();
    let outcomes: Vec<_> = receive.iter().take(3).collect();
    assert!(matches!(outcomes[..], [Ok(()), Err(StoreError::Full), Ok(())]), "{outcomes:?}");
    assert_eq!((stored_seqs(&store, "s"), stored_seqs(&store, "t")), (vec![1, 2, 3, 4], vec![]));

    let one = || vec![text_event("t", 1, &long)];
    assert!(matches!(append_and_wait(&store, "t", one(), SessionPatch::default()), Err(StoreError::Full)));
    store.delete_session("old").unwrap();
    store.reclaim_space().unwrap();
    append_and_wait(&store, "t", one(), SessionPatch::default()).unwrap();
    let sound: String = blocker.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

/// A small tmpfs; not available where mounting is not allowed.
#[cfg(target_os = "linux")]
struct TmpfsDisk(tempfile::TempDir);

#[cfg(target_os = "linux")]
impl TmpfsDisk {
    fn new(size: &std::ffi::CStr) -> Option<Self> {
        use rustix::mount::{MountFlags, mount};
        let folder = temp_dir();
        let mounted = mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), size);
        mounted.is_ok().then_some(Self(folder))
    }

    /// Fills all remaining space; removing the returned file frees it.
    fn fill_up(&self) -> std::path::PathBuf {
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
impl Drop for TmpfsDisk {
    fn drop(&mut self) {
        rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH).ok();
    }
}

fn passes_integrity_check(folder: &Path) -> bool {
    let log = rusqlite::Connection::open(folder.join("log.db")).unwrap();
    log.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap() == "ok"
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_really_full_is_said_and_harms_nothing() {
    let Some(disk) = TmpfsDisk::new(c"size=8m") else {
        eprintln!("NOT TESTED: a full disk, since this user may not mount one");
        return;
    };
    let data = disk.0.path().join("data");
    let store = open_store(&data);
    store.create_session(new_session("s")).unwrap();
    let long = "x".repeat(20_000);
    let mut head = 0;
    let mut one_more = |store: &SqliteStore| {
        let outcome = append_and_wait(store, "s", vec![text_event("s", head + 1, &long)], SessionPatch::default());
        head += u64::from(outcome.is_ok());
        (outcome, head)
    };
    one_more(&store).0.unwrap();
    let ballast = disk.fill_up();
    // The existing files may have some free space left.
    let (failed, head) = (0..200).map(|_| one_more(&store)).find(|(outcome, _)| outcome.is_err()).unwrap();
    assert!(matches!(failed, Err(StoreError::Full)), "{failed:?}");
    assert!(matches!(one_more(&store).0, Err(StoreError::Full)));
    assert!(matches!(store.create_session(new_session("t")), Err(StoreError::Full)));
    assert_eq!(stored_seqs(&store, "s"), (1..=head).collect::<Vec<_>>(), "what was committed is there");

    fs::remove_file(ballast).unwrap();
    for _ in 0..20 {
        one_more(&store).0.unwrap();
    }
    let (last, head) = one_more(&store);
    last.unwrap();
    drop(store);
    assert!(passes_integrity_check(&data));
    assert_eq!(stored_seqs(&open_store(&data), "s"), (1..=head).collect::<Vec<_>>());

    // A process that opens the log now can read it, and uses the reserve to delete.
    disk.fill_up();
    let store = open_store(&data);
    assert_eq!(store.check_health(), LogHealth::DiskFull);
    assert_eq!(stored_seqs(&store, "s"), (1..=head).collect::<Vec<_>>());
    assert!(matches!(store.create_session(new_session("t")), Err(StoreError::Full)));
    assert_eq!(store.take_over().unwrap().len(), 1);
    append_and_wait(&store, "s", vec![], SessionPatch { state: Some(SessionPhase::Failed), ..SessionPatch::default() })
        .unwrap();
    store.delete_session("s").unwrap();
    store.reclaim_space().unwrap();
    wait_until(|| store.check_health() == LogHealth::Sound);
    store.create_session(new_session("t")).unwrap();
    append_and_wait(&store, "t", text_events("t", 1..=3), SessionPatch::default()).unwrap();
    drop(store);
    assert!(passes_integrity_check(&data));

    // Without a reserve the log is read-only.
    fs::remove_file(data.join("reserve")).unwrap();
    disk.fill_up();
    for owner in [Some(test_owner(2)), None] {
        let store = SqliteStore::open(&data, &StoreOptions { owner, ..StoreOptions::default() }).unwrap();
        assert_eq!(store.check_health(), LogHealth::DiskFull);
        assert_eq!((stored_seqs(&store, "t"), store.is_read_only()), (vec![1, 2, 3], true));
        assert!(matches!(store.create_session(new_session("u")), Err(StoreError::Full)));
    }
}

/// Waits until a condition holds.
#[cfg(target_os = "linux")]
fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it never was so");
}
