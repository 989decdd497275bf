//! `sessions show`: what lies in the log, as `run` showed it.

use switchboard_dialects::DIALECTS;

use super::Folder;

const SCRIPT: &str = "text one\nthink two\nrun three\nedit four.txt\nplan five, six\napprove seven\ntext eight";

#[test]
fn a_log_says_what_the_run_said_in_every_dialect() {
    let folder = Folder::new();
    for dialect in DIALECTS {
        let said = folder.run(&["run", "script", SCRIPT, "--dialect", dialect.name]).ok();
        assert_eq!(folder.sessions(&["show", "last", "--dialect", dialect.name]).ok(), said, "{}", dialect.name);
        assert_eq!(folder.sessions(&["follow", "last", "--dialect", dialect.name]).ok(), said, "{}", dialect.name);
    }
}

#[test]
fn people_see_who_what_and_when() {
    let folder = Folder::new();
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
    let folder = Folder::new();
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
    let folder = Folder::new();
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
    let own = shown.lines().find_map(|line| line.trim().strip_prefix("its id")).unwrap().trim();
    names(own, "text newer");
}

#[test]
fn a_name_that_is_none_is_bad_usage() {
    let folder = Folder::new();
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
