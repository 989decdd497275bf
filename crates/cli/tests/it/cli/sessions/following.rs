//! `sessions follow`: a session as it goes on, on another terminal.

use super::Folder;

/// What Ctrl-C sends.
const CTRL_C: &str = "\x03";

#[test]
fn what_the_agent_asks_can_be_answered_where_it_is_followed() {
    let folder = Folder::new();
    let running = folder.asking("text before\napprove make\ntext made");
    let mut following = folder.on_terminal(&["sessions", "follow", "last"]);
    following.wait_for_output("the question", |said| said.contains("[y] allow once")).unwrap();
    following.write_input("y\n").unwrap();
    let (followed, ended) = (following.wait_for_exit().unwrap(), running.wait_for_exit().unwrap());
    assert_eq!((followed.code, ended.code), (Some(0), Some(0)), "{}", followed.describe_output());
    for shown in ["> text before", "before", "$ make", "made"] {
        assert!(followed.stdout.contains(shown), "no {shown} in\n{}", followed.describe_output());
    }
}

#[test]
fn an_answer_from_elsewhere_ends_the_question() {
    let folder = Folder::new();
    let running = folder.asking("approve make\ntext made");
    let following = folder.on_terminal(&["sessions", "follow", "last"]);
    following.wait_for_output("the question", |said| said.contains("[y] allow once")).unwrap();
    folder.sessions(&["approve", "last"]).told();
    let (followed, ended) = (following.wait_for_exit().unwrap(), running.wait_for_exit().unwrap());
    assert_eq!((followed.code, ended.code), (Some(0), Some(0)), "{}", followed.describe_output());
    assert!(followed.stdout.contains("made"), "{}", followed.describe_output());
}

#[test]
fn who_leaves_leaves_the_session_alone() {
    let folder = Folder::new();
    let running = folder.start("sleep 600");
    let mut following = folder.on_terminal(&["sessions", "follow", "last"]);
    following.wait_for_output("what was said", |said| said.contains("ready")).unwrap();
    following.write_input(CTRL_C).unwrap();
    let followed = following.wait_for_exit().unwrap();
    assert_eq!(followed.code, Some(0), "{}", followed.describe_output());
    assert!(followed.stdout.contains("the session goes on"), "{}", followed.describe_output());
    assert_eq!(folder.last()["state"], "running");
    folder.sessions(&["cancel", "last"]).told();
    assert_eq!(running.wait_for_exit().unwrap().code, Some(130));
}

#[test]
fn what_is_followed_ends_as_it_ends() {
    let folder = Folder::new();
    let running = folder.start("sleep 600");
    let args = folder.args(&["sessions", "follow", "last", "--json"]);
    let following = switchboard_testkit::stage::StageProcess::start(crate::binary::command(&args)).unwrap();
    following.wait_for_output("what was said", |said| said.contains("ready")).unwrap();
    folder.sessions(&["cancel", "last"]).told();
    let (followed, ended) = (following.wait_for_exit().unwrap(), running.wait_for_exit().unwrap());
    assert_eq!((followed.code, ended.code), (Some(130), Some(130)), "{}", followed.describe_output());
    assert_eq!(followed.stdout, ended.stdout);
    folder.play("fail", &[]);
    assert_eq!(folder.sessions(&["follow", "last"]).code, Some(1));
}

#[test]
fn only_what_comes_can_be_followed() {
    let folder = Folder::new();
    folder.play("text old", &[]).ok();
    assert_eq!(folder.sessions(&["follow", "last", "--last", "0", "--json"]).ok(), "");
    let followed = folder.sessions(&["follow", "last", "--last", "1"]);
    assert_eq!(followed.stdout, "old\n", "{}", followed.stderr);
}
