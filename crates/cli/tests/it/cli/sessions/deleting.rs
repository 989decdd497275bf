//! `sessions delete`: nothing by accident, and nothing that runs.

use super::Folder;

#[test]
fn one_that_has_ended_is_deleted() {
    let folder = Folder::new();
    folder.play("text one", &[]).ok();
    folder.play("text two", &[]).ok();
    let id = folder.last_id();
    assert_eq!(folder.sessions(&["delete", "last"]).told(), format!("deleted {id}\n"));
    assert_eq!(folder.list(&[]).len(), 1);
    folder.sessions(&["show", &id]).fails(2);
    folder.sessions(&["delete", &id]).fails(2);
}

#[test]
fn several_are_deleted_only_if_that_is_meant() {
    let folder = Folder::new();
    for script in ["text one", "text two", "fail three"] {
        folder.play(script, &[]);
    }
    for args in [&["1", "2"][..], &["--all-ended"], &["--older-than", "1ms"]] {
        let complaint = folder.sessions(&[&["delete"], args].concat()).fails(2);
        assert!(complaint.contains("--yes"), "{complaint}");
    }
    folder.sessions(&["delete"]).fails(2);
    assert!(folder.sessions(&["delete", "--older-than", "1d"]).told().contains("nothing to delete"));
    // The same one twice is one.
    folder.sessions(&["delete", "1", "last", "1"]).told();
    assert_eq!(folder.list(&[]).len(), 2);
    assert_eq!(folder.sessions(&["delete", "--all-ended", "--yes"]).told(), "deleted 2 sessions\n");
    assert_eq!(folder.list(&[]).len(), 0);
}

#[test]
fn somebody_at_a_terminal_is_asked() {
    let folder = Folder::new();
    folder.play("text one", &[]).ok();
    for (answer, left) in [("\n", 1), ("n\n", 1), ("y\n", 0)] {
        let mut asked = folder.on_terminal(&["sessions", "delete", "last"]);
        asked.wait_for_output("the question", |said| said.contains("text one") && said.contains("[y/N]")).unwrap();
        asked.write_input(answer).unwrap();
        assert_eq!(asked.wait_for_exit().unwrap().code, Some(0));
        assert_eq!(folder.list(&[]).len(), left, "after {answer:?}");
    }
}

#[test]
fn one_that_runs_is_deleted_only_by_force() {
    let folder = Folder::new();
    let running = folder.start("sleep 600");
    let complaint = folder.sessions(&["delete", "last"]).fails(2);
    assert!(complaint.contains("sessions cancel") && complaint.contains("--force"), "{complaint}");
    assert!(folder.sessions(&["delete", "--all-ended", "--yes"]).told().contains("nothing to delete"));
    folder.sessions(&["delete", "last", "--force"]).told();
    assert_eq!(running.wait_for_exit().unwrap().code, Some(130));
    assert_eq!(folder.list(&[]).len(), 0);
}
