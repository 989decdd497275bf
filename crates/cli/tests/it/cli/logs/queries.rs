//! Sessions that are listed, shown and found, also if they contain hostile text.

use std::{fs, io::Read as _, process::Stdio};

use serde_json::json;
use switchboard_testkit::stage::StageProcess;

use super::{TestLog, TestMachine, export::codex, two};
use crate::binary::{command, command_on_terminal};

/// Colors, window title, clipboard, bell, reversed text, line ends, tags.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]52;c;eA==\u{7}\u{9b}31m\u{202e}gpj\u{2066}\r\u{8}<script>alert(1)</script>needle";

#[test]
fn sessions_are_listed_the_latest_first() {
    let machine = TestMachine::with(&two());
    let list = machine.logs(&["list"]).ok();
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 3, "{list}");
    assert!(lines[0].starts_with("ID "));
    // IDs are as short as is unique.
    assert!(lines[1].starts_with("11111111-1  2026-11-01 10:06  claude  /home/me/app"), "{list}");
    assert!(lines[1].ends_with("please fix the flaky parser test"), "{list}");
    assert!(lines[2].starts_with("11111111-2 "), "{list}");
    let objects = machine.objects(&["list", "--json"]);
    let first = &objects[0];
    assert_eq!(
        (&first["turns"], &first["project"], &first["branch"]),
        (&2.into(), &"/home/me/app".into(), &"main".into())
    );
    // Four replies, each with 10 input, 5 output and 100 cached tokens.
    assert_eq!(first["totalTokens"], 4 * 115);
    assert_eq!(objects.len(), 2);
}

/// A session in a directory with a long name, with a title of two lines that is wider than any terminal.
fn long() -> TestLog {
    let title = format!("please look at this:\n{}", "the same again and ".repeat(15));
    TestLog::new("33333333-3333-4333-8333-333333333333")
        .record(json!({"type": "user", "cwd": "/home/me/a/folder/with/a/rather/long/name/for/an/app",
            "message": {"role": "user", "content": title}}))
        .says("yes")
}

#[test]
fn a_session_is_one_line_at_any_width_and_whole_in_a_pipe() {
    let machine = TestMachine::with(&[long()]);
    let list = machine.logs(&["list"]).ok();
    let row = list.lines().nth(1).unwrap();
    assert!(row.contains("  /home/me/a/folder/with/a/rather/long/name/for/an/app  "), "{list}");
    assert!(row.ends_with("the same again and the same again and"), "{list}");
    let [home, data] = ["home", "data"].map(|name| machine.out(name).to_str().unwrap().to_owned());
    for columns in [200, 100, 80, 60, 40] {
        let command = command_on_terminal(&["logs", "list", "--home", &home, "--data", &data]);
        let shown =
            StageProcess::start_on_terminal_sized(command, (columns, 24)).unwrap().wait_for_exit().unwrap().stdout;
        let lines: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("ID ")).collect();
        assert!(lines.len() == 2 && lines[1].starts_with("33333333  "), "{columns}: {shown}");
        assert!(lines.iter().all(|line| line.chars().count() < usize::from(columns)), "{columns}: {shown}");
        assert!(lines[1].contains("  please look") && lines[1].ends_with('…'), "{columns}: {shown}");
    }
}

#[test]
fn a_list_can_be_filtered() {
    let machine = TestMachine::with(&two());
    let ids = |args: &[&str]| -> Vec<String> {
        let objects = machine.objects(&[&["list", "--json"], args].concat());
        objects.iter().map(|object| object["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&["--text", "umbrellas"]), ["11111111-2222-4222-8222-222222222222"]);
    assert_eq!(ids(&["--text", "\"off by one\""]), ["11111111-1111-4111-8111-111111111111"]);
    assert_eq!(ids(&["--limit", "1"]).len(), 1);
    assert_eq!(ids(&["--project", "APP", "--agent", "claude", "--model", "sonnet", "--branch", "main"]).len(), 2);
    for none in [["--project", "elsewhere"], ["--model", "gpt"], ["--branch", "dev"], ["--since", "2026-11-02"]] {
        assert!(ids(&none).is_empty(), "{none:?}");
    }
    let ran = machine.logs(&["list", "--project", "elsewhere"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", "no matching sessions\n"));
}

#[test]
fn a_session_is_shown_turn_by_turn() {
    let machine = TestMachine::with(&two());
    let shown = machine.logs(&["show", "11111111-1"]).ok();
    for part in [
        "please fix the flaky parser test\n",
        "── turn 1 · 2026-11-01 10:00 ──\n> please fix",
        "∴ the parser\n  reads\n  to\n  the\n  … 4 more lines …\n",
        "$ cargo test\n  test parser ... FAILED\n",
        "The **parser** was off by one.\n",
        "── turn 2 · 2026-11-01 10:05 ──\n> and now the lexer\n",
        "The lexer is fine.\n",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
    let second = machine.logs(&["show", "11111111-1", "--turn", "2"]).ok();
    assert!(second.contains("The lexer is fine.") && !second.contains("off by one"), "{second}");
    let first = machine.logs(&["show", "11111111-1", "-n", "1", "--full"]).ok();
    assert!(first.contains("  of\n  it\n  all\n") && !first.contains("lexer is"), "{first}");
    let at = machine.logs(&["show", "11111111-1", "--at", "2026-11-01T10:05:30Z"]).ok();
    assert!(at.contains("turn 2") && !at.contains("turn 1"), "{at}");
}

#[test]
fn events_give_back_the_records() {
    let [log, other] = two();
    let machine = TestMachine::with(&[log, other]);
    let events = machine.objects(&["show", "11111111-1", "--json"]);
    let records: Vec<String> = events.iter().filter_map(|event| event.get("native")).map(ToString::to_string).collect();
    let written = fs::read_to_string(machine.path("11111111-1111-4111-8111-111111111111")).unwrap();
    assert_eq!(records, written.lines().collect::<Vec<_>>());
    let chunks = machine.objects(&["show", "11111111-1", "--dialect", "unified"]);
    assert!(chunks.iter().any(|message| message["content"] == "The lexer is fine."));
}

#[test]
fn unknown_and_ambiguous_ids_are_errors() {
    let machine = TestMachine::with(&two());
    assert!(machine.logs(&["show", "999"]).fails(2).contains("no session 999"));
    let several = machine.logs(&["show", "11111111"]).fails(2);
    assert!(several.contains("11111111-1111") && several.contains("11111111-2222"), "{several}");
    assert!(machine.logs(&["show", "last"]).ok().contains("flaky parser"));
}

#[test]
fn a_turn_that_is_not_there_is_refused() {
    let machine = TestMachine::with(&two());
    let ran = machine.logs(&["show", "last", "--turn", "9"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("there is no turn 9: this session has 2"), "{}", ran.stderr);
    let behind = machine.logs(&["show", "last", "--at", "2026-11-03"]);
    assert!(behind.stdout.contains("── turn 2") && !behind.stdout.contains("── turn 1"), "{}", behind.stdout);
    assert!(behind.stderr.contains("showing the last turn"), "{}", behind.stderr);
    let within = machine.logs(&["show", "last", "--at", "2026-11-01T10:05:30Z"]);
    assert_eq!(within.stderr, "");
}

#[test]
fn an_id_shared_by_two_agents_requires_the_agent() {
    const ID: &str = "01a1e0a9-0000-7ce0-a9bb-0000000000cc";
    let machine = TestMachine::with(&[TestLog::new(ID).asks("the title\u{1b}[2J of it").says("ok")]);
    codex(&machine, "ls");
    for id in [ID, "01a1"] {
        let said = machine.logs(&["show", id]).fails(2);
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].contains(id) && lines[0].contains("--agent NAME"), "{said}");
        assert!(lines.contains(&&*format!("  {ID}  claude  the title of it")), "{said}");
        assert!(lines.contains(&&*format!("  {ID}  codex  go")), "{said}");
        for (agent, title) in [("claude", "Claude Code"), ("codex", "Codex")] {
            assert!(machine.logs(&["show", id, "--agent", agent]).ok().contains(title), "{agent}");
            let source = &machine.objects(&["export", id, "--agent", agent])[0]["source"];
            assert!(source.as_str().unwrap().starts_with(agent), "{source}");
        }
        assert!(machine.logs(&["watch", id]).fails(2).contains("codex"));
    }
    assert!(machine.logs(&["show", ID, "--agent", "nobody"]).fails(2).contains("unknown agent `nobody`"));
    assert!(machine.logs(&["show", ID, "--agent", "gemini"]).fails(2).contains("no session"));
}

#[test]
fn an_ambiguous_id_lists_all_matches() {
    let id = |number: usize| -> &'static str { format!("1000000{number}-1111-4111-8111-111111111111").leak() };
    let logs: Vec<TestLog> = (0..10).map(|number| TestLog::new(id(number)).asks("go").says("ok")).collect();
    let said = TestMachine::with(&logs).logs(&["show", "1"]).fails(2);
    assert_eq!(said.matches("-1111-4111-8111-111111111111  claude  go").count(), 10, "{said}");
}

#[test]
fn hits_contain_session_path_and_offset() {
    let machine = TestMachine::with(&two());
    let hits = machine.objects(&["search", "off by one", "--json"]);
    assert_eq!(hits.len(), 1, "{hits:?}");
    let hit = &hits[0];
    for name in ["session", "agent", "at", "eventType", "snippet", "path", "offset"] {
        assert!(!hit[name].is_null(), "{name} is missing in {hit}");
    }
    assert_eq!((&hit["eventType"], &hit["turn"]), (&"assistant_message".into(), &1.into()));
    let bytes = fs::read(hit["path"].as_str().unwrap()).unwrap();
    let record = &bytes[usize::try_from(hit["offset"].as_u64().unwrap()).unwrap()..];
    let record = record.split(|byte| *byte == b'\n').next().unwrap();
    assert!(String::from_utf8_lossy(record).contains("off by one"));
    let shown = machine.logs(&["search", "lexer", "--in", "assistant"]);
    assert_eq!(shown.stdout.lines().count(), 2, "{}", shown.stdout);
    assert!(
        shown.stdout.starts_with("11111111-1 --turn 2  claude  2026-11-01 10:06  said  /home/me/app\n"),
        "{}",
        shown.stdout
    );
    assert!(shown.stderr.contains("switchboard logs show 11111111-1 --turn 2"), "{}", shown.stderr);
}

#[test]
fn searches_are_narrowed_and_take_expressions() {
    let machine = TestMachine::with(&two());
    let count = |args: &[&str]| machine.objects(&[&["search", "--json"], args].concat()).len();
    assert_eq!(count(&["parser", "--in", "thinking"]), 1);
    assert_eq!(count(&["FAILED", "--in", "user,assistant"]), 0);
    assert_eq!(count(&["FAILED", "--in", "tools"]), 1);
    assert_eq!(count(&["--regex", r"off\s+by (one|two)"]), 1);
    assert_eq!(count(&["umbrellas", "--session", "11111111-1"]), 0);
    assert!(machine.logs(&["search", "--regex", "("]).fails(2).contains("not a regular expression"));
    let ran = machine.logs(&["search", "nowhere"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", "no matches\n"));
}

#[test]
fn missing_logs_list_the_searched_directories() {
    let machine = TestMachine::new();
    for args in [&["scan"][..], &["list"], &["search", "x"], &["export"]] {
        let ran = machine.logs(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{args:?}: {}", ran.stderr);
        assert!(
            ["no such directory", "no logs found in\n", ".claude"].iter().all(|said| ran.stderr.contains(said)),
            "{}",
            ran.stderr
        );
    }
    assert!(machine.logs(&["show", "last"]).fails(2).contains("no session last"));
    assert!(machine.logs(&["doctor"]).stdout.contains("not found"));
}

#[test]
fn a_closed_standard_output_is_not_an_error() {
    let machine = TestMachine::with(&two());
    machine.logs(&["scan"]).ok();
    let [home, data] = ["home", "data"].map(|name| machine.out(name).to_str().unwrap().to_owned());
    for args in [&["list"][..], &["show", "last", "--json"], &["export"], &["doctor"]] {
        let args = [&["logs"], args, &["--home", &home, "--data", &data]].concat();
        let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        assert_eq!(
            (child.wait().unwrap().code(), complaint.contains("error")),
            (Some(0), false),
            "{args:?}: {complaint}"
        );
    }
}

#[test]
fn an_invalid_value_names_its_option() {
    let machine = TestMachine::with(&two());
    let said = machine.logs(&["show", "last", "--at", "garbage"]).fails(2);
    assert!(said.contains("--at") && !said.contains("--since"), "{said}");
    for words in ["", "*", "\"", " \"*\" "] {
        let said = machine.logs(&["search", words]).fails(2);
        assert!(said.contains("there is nothing to search for"), "{said}");
    }
    let none = machine.logs(&["list", "-n", "0"]);
    assert!(none.stderr.contains("… and 2 older") && !none.stderr.contains("no matching sessions"), "{}", none.stderr);
    assert!(machine.logs(&["search", "-e", "The ..PARSER"]).stdout.contains("parser"), "whatever the case");
}

fn machine() -> TestMachine {
    let log = TestLog::new("22222222-1111-4111-8111-111111111111")
        .asks(HOSTILE)
        .thinks(HOSTILE)
        .runs(HOSTILE, HOSTILE)
        .says(HOSTILE)
        .record(serde_json::json!({"type": HOSTILE}));
    TestMachine::with(&[log])
}

fn control_characters(text: &str) -> Vec<char> {
    let turns = |c: &char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| c.is_control() && !"\n\t".contains(*c) || turns(c)).collect()
}

#[test]
fn terminal_output_has_no_escape_sequences() {
    let machine = machine();
    for args in [
        &["list"][..],
        &["show", "last"],
        &["show", "last", "--full"],
        &["search", "needle"],
        &["doctor"],
        &["export", "-f", "markdown"],
        &["export", "-f", "html"],
    ] {
        let ran = machine.logs(args);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.stdout.is_empty() && control_characters(&ran.stdout).is_empty(), "{args:?}: {:?}", ran.stdout);
        assert!(control_characters(&ran.stderr).is_empty(), "{args:?}: {:?}", ran.stderr);
    }
}

#[test]
fn no_tag_reaches_a_browser() {
    let page = machine().logs(&["export", "-f", "html"]).ok();
    assert!(page.contains("needle") && !page.contains("<script"), "{page}");
}

#[test]
fn doctor_reports_unknown_record_types() {
    let troubles = machine().objects(&["doctor", "--json"]);
    let told = troubles.iter().find(|object| object["type"] == "trouble").unwrap();
    assert!(told["what"].as_str().unwrap().contains("unknown kind"), "{told}");
    assert!(told["offset"].as_u64().unwrap() > 0 && told["times"] == 1 && told["agent"] == "claude", "{told}");
}
