//! Sessions that another process runs: followed, prompted, answered and ended.

use super::TestDataDirectory;

/// What Ctrl-C sends.
const CTRL_C: &str = "\x03";

#[test]
fn what_the_agent_asks_can_be_answered_where_it_is_followed() {
    let folder = TestDataDirectory::new();
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
    let folder = TestDataDirectory::new();
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
    let folder = TestDataDirectory::new();
    let running = folder.start("sleep 600");
    let mut following = folder.on_terminal(&["sessions", "follow", "last"]);
    following.wait_for_output("what was said", |said| said.contains("ready")).unwrap();
    following.write_input(CTRL_C).unwrap();
    let followed = following.wait_for_exit().unwrap();
    assert_eq!(followed.code, Some(0), "{}", followed.describe_output());
    assert!(followed.stdout.contains("the session continues"), "{}", followed.describe_output());
    assert_eq!(folder.last()["state"], "running");
    folder.sessions(&["cancel", "last"]).told();
    assert_eq!(running.wait_for_exit().unwrap().code, Some(130));
}

#[test]
fn what_is_followed_ends_as_it_ends() {
    let folder = TestDataDirectory::new();
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
    let folder = TestDataDirectory::new();
    folder.play("text old", &[]).ok();
    assert_eq!(folder.sessions(&["follow", "last", "--last", "0", "--json"]).ok(), "");
    let followed = folder.sessions(&["follow", "last", "--last", "1"]);
    assert_eq!(followed.stdout, "old\n", "{}", followed.stderr);
}

#[test]
fn a_session_is_cancelled_from_elsewhere() {
    let folder = TestDataDirectory::new();
    let running = folder.start("sleep 600");
    let told = folder.sessions(&["cancel", "last"]).told();
    assert!(told.contains("has ended: cancelled"), "{told}");
    assert_eq!(running.wait_for_exit().unwrap().code, Some(130));
    assert_eq!(folder.last()["state"], "cancelled");
    let told = folder.sessions(&["cancel", "last"]).told();
    assert!(told.contains("already"), "{told}");
}

#[test]
fn a_turn_is_interrupted_from_elsewhere() {
    let folder = TestDataDirectory::new();
    let running = folder.start("sleep 600\ntext after");
    folder.sessions(&["interrupt", "last"]).told();
    let ended = running.wait_for_exit().unwrap();
    assert_eq!(ended.code, Some(130), "{}", ended.describe_output());
    assert!(!ended.stdout.contains(r#""content":"after"#), "{}", ended.describe_output());
    let shown = folder.sessions(&["show", "last"]).ok();
    assert!(shown.contains("interrupted"), "{shown}");
    let complaint = folder.sessions(&["interrupt", "last"]).fails(2);
    assert!(complaint.contains("has ended"), "{complaint}");
}

#[test]
fn whoever_answers_first_has_answered() {
    let folder = TestDataDirectory::new();
    let running = folder.asking("approve make\ntext made");
    let told = folder.sessions(&["approve", "last"]).told();
    assert_eq!(told, "allowed: $ make\n");
    let ended = running.wait_for_exit().unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.describe_output());
    assert!(ended.stdout.contains("made"), "{}", ended.describe_output());
    let complaint = folder.sessions(&["approve", "last"]).fails(2);
    assert!(complaint.contains("has ended"), "{complaint}");
}

#[test]
fn a_no_has_a_reason_and_can_stop_the_turn() {
    let folder = TestDataDirectory::new();
    let running = folder.asking("approve make\napprove check\ntext after");
    folder.sessions(&["approve", "last", "--decline", "--reason", "not today"]).told();
    running.wait_for_output("the second question", |said| said.contains("$ check")).unwrap();
    let told = folder.sessions(&["approve", "last", "--cancel"]).told();
    assert!(told.contains("the turn stops"), "{told}");
    let ended = running.wait_for_exit().unwrap();
    assert!(ended.stdout.contains("not today"), "{}", ended.describe_output());
    let shown = folder.sessions(&["show", "last"]).ok();
    assert!(shown.contains("not today") && shown.contains("the turn stopped"), "{shown}");
}

#[test]
fn a_question_is_answered_and_nonsense_leaves_it_open() {
    let folder = TestDataDirectory::new();
    let running = folder.asking("ask Which way? | Left | Right\ntext on");
    let request = |args: &[&str]| folder.sessions(&[&["approve", "last"], args].concat());
    let complaint = request(&["nothing-like-it"]).fails(2);
    assert!(complaint.contains("Which way?"), "{complaint}");
    let complaint = request(&["--option", "nonsense"]).fails(2);
    assert!(complaint.contains("nonsense"), "{complaint}");
    assert_eq!(folder.last()["approvals"], 1);
    assert_eq!(request(&["--answer", "Left"]).told(), "answered: Which way?\n");
    assert_eq!(running.wait_for_exit().unwrap().code, Some(0));
    let said = folder.sessions(&["show", "last", "--dialect", "events"]).ok();
    assert!(said.contains(r#"["Left"]"#), "{said}");
}

#[test]
fn a_prompt_comes_after_what_runs() {
    let folder = TestDataDirectory::new();
    let running = folder.asking("approve make\ntext first");
    let told = folder.sessions(&["prompt", "last", "text second"]).told();
    assert!(told.contains("got the prompt"), "{told}");
    folder.sessions(&["approve", "last"]).told();
    let ended = running.wait_for_exit().unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.describe_output());
    assert_eq!(folder.last()["turns"], 2);
    assert!(ended.stdout.contains("second"), "{}", ended.describe_output());
}

#[test]
fn a_session_that_has_ended_goes_on_here_if_nowhere_else() {
    let folder = TestDataDirectory::new();
    folder.play("text first", &[]).ok();
    let ran = folder.sessions(&["prompt", "last", "text second"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "second\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("continued here"), "{}", ran.stderr);
    let session = folder.last();
    assert_eq!((&session["runs"], &session["turns"]), (&2.into(), &2.into()), "{session}");
    let ran = folder.sessions(&["prompt", "last", "fail third"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
}

#[test]
fn a_run_begins_no_sessions_for_others() {
    let folder = TestDataDirectory::new();
    folder.play("text first", &[]).ok();
    let ended = folder.last_id();
    let running = folder.start("sleep 600");
    // It is alive and would be asked if it were a server.
    let ran = folder.sessions(&["prompt", &ended, "text second"]);
    assert!(ran.stderr.contains("continued here"), "{}", ran.stderr);
    folder.sessions(&["cancel", "last"]).told();
    running.wait_for_exit().unwrap();
}
