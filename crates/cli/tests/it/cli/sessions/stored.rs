//! `sessions list`, `show` and `delete`, also after a crash.

use rustix::process::Signal;
use serde_json::Value;
use switchboard_dialects::DIALECTS;

use super::TestDataDirectory;

const SCRIPT: &str = "text one\nthink two\nrun three\nedit four.txt\nplan five, six\napprove seven\ntext eight";

#[test]
fn an_empty_list_says_how_to_begin() {
    let folder = TestDataDirectory::new();
    let told = folder.sessions(&["list"]).told();
    assert!(told.contains("no sessions yet") && told.contains("switchboard run"), "{told}");
    assert_eq!(folder.sessions(&["list", "--json"]).ok(), "");
}

#[test]
fn people_see_a_table_with_the_newest_first() {
    let folder = TestDataDirectory::new();
    folder.play("text one", &["--project", "alpha"]).ok();
    assert_eq!(folder.play("fail two", &[]).code, Some(1));
    let table = folder.sessions(&["list"]).ok();
    let [title, newest, oldest] = table.lines().collect::<Vec<_>>()[..] else { panic!("{table}") };
    assert!(title.starts_with("ID ") && title.ends_with("TASK") && title.contains("PROJECT"), "{table}");
    assert!(newest.contains("failed") && newest.ends_with("fail two"), "{table}");
    assert!(oldest.contains("done") && oldest.contains("alpha") && oldest.ends_with("text one"), "{table}");
    // What stands in the first column names the session.
    let id = newest.split_whitespace().next().unwrap();
    assert!(folder.sessions(&["show", id]).ok().contains("fail two"));
}

#[test]
fn machines_see_what_a_server_would_show() {
    let folder = TestDataDirectory::new();
    folder.play("text one", &["--project", "alpha"]).ok();
    let session = folder.last();
    let schema = ["id", "createdAt", "updatedAt", "endedAt", "workingDirectory", "config"];
    assert!(schema.iter().all(|field| session.get(field).is_some()), "{session}");
    let is = |field: &str| session[field].clone();
    assert_eq!((is("state"), is("agentType"), is("projectId")), ("done".into(), "script".into(), "alpha".into()));
    assert_eq!((is("turns"), is("runs"), is("approvals"), is("here")), (1.into(), 1.into(), 0.into(), false.into()));
}

#[test]
fn a_list_can_be_narrowed() {
    let folder = TestDataDirectory::new();
    folder.play("text Apple pie", &["--project", "alpha"]).ok();
    folder.play("text pear", &[]).ok();
    folder.play("fail plum", &[]);
    let prompts = |args: &[&str]| -> Vec<Value> {
        folder.list(args).into_iter().map(|session| session["prompt"].clone()).collect()
    };
    assert_eq!(prompts(&["--text", "apple"]), ["text Apple pie"]);
    assert_eq!(prompts(&["--project", "alpha"]), ["text Apple pie"]);
    assert_eq!(prompts(&["--state", "failed"]), ["fail plum"]);
    assert_eq!(prompts(&["--state", "open"]), [""; 0]);
    assert_eq!(prompts(&["--agent", "echo"]), [""; 0]);
    assert_eq!(prompts(&["--agent", "script", "--limit", "2"]), ["fail plum", "text pear"]);
    assert_eq!(prompts(&["--cwd", ".", "--all"]).len(), 3);
    assert_eq!(prompts(&["--cwd", folder.path().to_str().unwrap()]), [""; 0]);
    let cut = folder.sessions(&["list", "--limit", "1"]);
    assert!(cut.stderr.contains("--all") && cut.stdout.lines().count() == 2, "{}{}", cut.stdout, cut.stderr);
    assert_eq!(folder.sessions(&["list", "--text", "nothing of the kind"]).told(), "no matching sessions\n");
    folder.sessions(&["list", "--state", "nonsense"]).fails(2);

    assert!(folder.sessions(&["archive", "last"]).told().starts_with("archived "));
    assert_eq!(prompts(&["--limit", "1"]), ["text pear"]);
    assert_eq!(prompts(&["--archived"]), ["fail plum"]);
    let id = folder.sessions(&["list", "--archived", "--json"]).ok();
    let id = serde_json::from_str::<Value>(&id).unwrap()["id"].as_str().unwrap().to_owned();
    assert!(folder.sessions(&["archive", "--undo", &id]).told().starts_with("restored "));
    assert_eq!(prompts(&["--limit", "1"]), ["fail plum"]);
}

#[test]
fn who_needs_somebody_is_marked() {
    let folder = TestDataDirectory::new();
    let running = folder.asking("approve make");
    let table = folder.sessions(&["list", "--state", "open"]).ok();
    assert!(table.contains("needs you"), "{table}");
    let session = folder.last();
    assert_eq!((&session["state"], &session["activity"]), (&"running".into(), &"waiting".into()), "{session}");
    assert_eq!(session["approvals"], 1, "{session}");
    folder.sessions(&["approve", "last"]).told();
    assert_eq!(running.wait_for_exit().unwrap().code, Some(0));
}

#[test]
fn a_log_says_what_the_run_said_in_every_dialect() {
    let folder = TestDataDirectory::new();
    for dialect in DIALECTS {
        let said = folder.run(&["run", "script", SCRIPT, "--dialect", dialect.name]).ok();
        assert_eq!(folder.sessions(&["show", "last", "--dialect", dialect.name]).ok(), said, "{}", dialect.name);
        assert_eq!(folder.sessions(&["follow", "last", "--dialect", dialect.name]).ok(), said, "{}", dialect.name);
    }
}

#[test]
fn people_see_who_what_and_when() {
    let folder = TestDataDirectory::new();
    folder.play(SCRIPT, &["--project", "alpha"]).ok();
    let shown = folder.sessions(&["show", "last"]).ok();
    let (header, transcript) = shown.split_once("\n\n").unwrap();
    let id = folder.last_id();
    for wanted in [id.as_str(), "done", "alpha", "UTC", "1 turn", " in · "] {
        assert!(header.contains(wanted), "no {wanted} in\n{header}");
    }
    let ordered = ["> text one", "\none\n", "∴ two", "$ three", "→ edit four.txt", "five", "$ seven", "eight", "— "];
    let mut rest = transcript;
    for wanted in ordered {
        let at = rest.find(wanted).unwrap_or_else(|| panic!("no {wanted} where it should be in\n{transcript}"));
        rest = rest.get(at..).unwrap();
    }
    assert!(!shown.contains('\x1b'), "colours in a pipe: {shown:?}");
    assert!(!folder.sessions(&["show", "last", "--no-reasoning"]).ok().contains("∴ two"));
}

#[test]
fn the_last_turns_alone_can_be_shown() {
    let folder = TestDataDirectory::new();
    folder.play("text first", &[]).ok();
    folder.run(&["run", "--resume", "last", "text second", "--json"]).ok();
    folder.run(&["run", "--resume", "last", "text third", "--json"]).ok();
    let transcript = |args: &[&str]| {
        let shown = folder.sessions(&[&["show", "last"], args].concat()).ok();
        shown.split_once("\n\n").unwrap().1.to_owned()
    };
    let has = |text: &str| ["first", "second", "third"].map(|word| text.contains(word));
    assert_eq!(has(&transcript(&[])), [true; 3]);
    assert_eq!(has(&transcript(&["--last", "2"])), [false, true, true]);
    assert_eq!(has(&transcript(&["--last", "0"])), [false; 3]);
    assert_eq!(has(&transcript(&["--last", "7"])), [true; 3]);
    let said = folder.sessions(&["show", "last", "--last", "1", "--json"]).ok();
    assert_eq!(has(&said), [false, false, true], "{said}");
    // Whose turn it is, is said also where it does not begin.
    assert!(transcript(&["--last", "1"]).starts_with("script"), "{}", transcript(&["--last", "1"]));
}

#[test]
fn a_session_has_many_names() {
    let folder = TestDataDirectory::new();
    folder.play("text older", &[]).ok();
    folder.play("text newer", &[]).ok();
    let [newer, older] = &folder.list(&[])[..] else { panic!("not two") };
    let (newer, older) = (newer["id"].as_str().unwrap(), older["id"].as_str().unwrap());
    let names = |name: &str, text: &str| {
        let shown = folder.sessions(&["show", name]).ok();
        assert!(shown.contains(text), "{name} is not {text}: {shown}");
    };
    names("last", "text newer");
    names("2", "text older");
    names(older, "text older");
    names(newer.get(..newer.len() - 1).unwrap(), "text newer");
    let shown = folder.sessions(&["show", newer]).ok();
    let own = shown.lines().find_map(|line| line.trim().strip_prefix("agent ID")).unwrap().trim();
    names(own, "text newer");
}

#[test]
fn a_name_that_is_none_is_bad_usage() {
    let folder = TestDataDirectory::new();
    for command in ["show", "follow", "cancel", "interrupt", "approve", "delete"] {
        let complaint = folder.sessions(&[command, "nobody"]).fails(2);
        assert!(complaint.contains("`nobody`") && complaint.contains("sessions list"), "{command}: {complaint}");
    }
    folder.sessions(&["prompt", "nobody", "text"]).fails(2);
    folder.play("text one", &[]).ok();
    folder.play("text two", &[]).ok();
    // All ids begin with the time.
    let complaint = folder.sessions(&["show", "0"]).fails(2);
    assert!(complaint.contains("text one") && complaint.contains("text two"), "{complaint}");
}

#[test]
fn one_that_has_ended_is_deleted() {
    let folder = TestDataDirectory::new();
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
    let folder = TestDataDirectory::new();
    for script in ["text one", "text two", "fail three"] {
        folder.play(script, &[]);
    }
    for args in [&["1", "2"][..], &["--all-ended"], &["--older-than", "1ms"]] {
        let complaint = folder.sessions(&[&["delete"], args].concat()).fails(2);
        assert!(complaint.contains("--yes"), "{complaint}");
    }
    folder.sessions(&["delete"]).fails(2);
    assert!(folder.sessions(&["delete", "--older-than", "1d"]).told().contains("no sessions to delete"));
    // The same one twice is one.
    folder.sessions(&["delete", "1", "last", "1"]).told();
    assert_eq!(folder.list(&[]).len(), 2);
    assert_eq!(folder.sessions(&["delete", "--all-ended", "--yes"]).told(), "deleted 2 sessions\n");
    assert_eq!(folder.list(&[]).len(), 0);
}

#[test]
fn somebody_at_a_terminal_is_asked() {
    let folder = TestDataDirectory::new();
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
    let folder = TestDataDirectory::new();
    let running = folder.start("sleep 600");
    let complaint = folder.sessions(&["delete", "last"]).fails(2);
    assert!(complaint.contains("sessions cancel") && complaint.contains("--force"), "{complaint}");
    assert!(folder.sessions(&["delete", "--all-ended", "--yes"]).told().contains("no sessions to delete"));
    folder.sessions(&["delete", "last", "--force"]).told();
    assert_eq!(running.wait_for_exit().unwrap().code, Some(130));
    assert_eq!(folder.list(&[]).len(), 0);
}

#[test]
fn what_was_killed_does_not_run() {
    let folder = TestDataDirectory::new();
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
    let folder = TestDataDirectory::new();
    let running = folder.start("sleep 600");
    let args = folder.args(&["sessions", "follow", "last"]);
    let following = switchboard_testkit::stage::StageProcess::start(crate::binary::command(&args)).unwrap();
    following.wait_for_output("what was said", |said| said.contains("ready")).unwrap();
    running.send_signal(Signal::KILL).unwrap();
    let followed = following.wait_for_exit().unwrap();
    assert_eq!(followed.code, Some(1), "{}", followed.describe_output());
}
