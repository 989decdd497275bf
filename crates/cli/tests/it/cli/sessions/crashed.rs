//! Sessions whose process was killed: the next command shows their true state.

use rustix::process::Signal;

use super::Folder;

#[test]
fn what_was_killed_does_not_run() {
    let folder = Folder::new();
    let running = folder.start("sleep 600");
    running.send_signal(Signal::KILL).unwrap();
    running.wait_for_exit().unwrap();
    let session = folder.last();
    assert_eq!(session["state"], "failed", "{session}");
    assert_eq!(session["error"]["info"], "interrupted", "{session}");
    assert!(folder.sessions(&["show", "last"]).ok().contains("interrupted"));
    let ran = folder.sessions(&["prompt", "last", "text again"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "again\n"), "{}", ran.stderr);
}

#[test]
fn who_follows_hears_of_it() {
    let folder = Folder::new();
    let running = folder.start("sleep 600");
    let args = folder.args(&["sessions", "follow", "last"]);
    let following = switchboard_testkit::stage::StageProcess::start(crate::binary::command(&args)).unwrap();
    following.wait_for_output("what was said", |said| said.contains("ready")).unwrap();
    running.send_signal(Signal::KILL).unwrap();
    let followed = following.wait_for_exit().unwrap();
    assert_eq!(followed.code, Some(1), "{}", followed.describe_output());
}
