//! `sessions list`: what there is, newest first, for people and for machines.

use serde_json::Value;

use super::Folder;

#[test]
fn an_empty_list_says_how_to_begin() {
    let folder = Folder::new();
    let told = folder.sessions(&["list"]).told();
    assert!(told.contains("no sessions yet") && told.contains("switchboard run"), "{told}");
    assert_eq!(folder.sessions(&["list", "--json"]).ok(), "");
}

#[test]
fn people_see_a_table_with_the_newest_first() {
    let folder = Folder::new();
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
    let folder = Folder::new();
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
    let folder = Folder::new();
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
    assert_eq!(folder.sessions(&["list", "--text", "nothing of the kind"]).told(), "no such session\n");
    folder.sessions(&["list", "--state", "nonsense"]).fails(2);

    assert!(folder.sessions(&["archive", "last"]).told().starts_with("put away "));
    assert_eq!(prompts(&["--limit", "1"]), ["text pear"]);
    assert_eq!(prompts(&["--archived"]), ["fail plum"]);
    let id = folder.sessions(&["list", "--archived", "--json"]).ok();
    let id = serde_json::from_str::<Value>(&id).unwrap()["id"].as_str().unwrap().to_owned();
    assert!(folder.sessions(&["archive", "--undo", &id]).told().starts_with("took out "));
    assert_eq!(prompts(&["--limit", "1"]), ["fail plum"]);
}

#[test]
fn who_needs_somebody_is_marked() {
    let folder = Folder::new();
    let running = folder.asking("approve make");
    let table = folder.sessions(&["list", "--state", "open"]).ok();
    assert!(table.contains("needs you"), "{table}");
    let session = folder.last();
    assert_eq!((&session["state"], &session["activity"]), (&"running".into(), &"waiting".into()), "{session}");
    assert_eq!(session["approvals"], 1, "{session}");
    folder.sessions(&["approve", "last"]).told();
    assert_eq!(running.wait_for_exit().unwrap().code, Some(0));
}
