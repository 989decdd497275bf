//! `switchboard logs watch`: logs are shown as they grow.

use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{FileType, Mode},
    process::Signal,
};
use serde_json::{Value, json};
use switchboard_event::Timestamp;
use switchboard_testkit::stage::StageProcess;
use tempfile::TempDir;

use crate::binary;

const CTRL_C: &str = "\x03";

/// Columns and rows of a terminal on which nothing is cut.
const WIDE: (u16, u16) = (200, 50);

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// A home with an agent's log.
struct WatchTestHome {
    folder: TempDir,
    written: u32,
}

impl WatchTestHome {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/.claude/projects")).unwrap();
        Self { folder, written: 0 }
    }

    fn path(&self, inner: &str) -> PathBuf {
        self.folder.path().join(inner)
    }

    fn log(&self) -> PathBuf {
        self.path(&format!("home/.claude/projects/-srv-it/{SESSION}.jsonl"))
    }

    fn command<'a>(&'a self, args: &[&'a str], home: &'a str, data: &'a str) -> Vec<&'a str> {
        [&["logs", "watch", "--home", home, "--data", data], args].concat()
    }

    fn watch(&self, args: &[&str]) -> StageProcess {
        let (home, data) = (self.path("home"), self.path("data"));
        let args = self.command(args, home.to_str().unwrap(), data.to_str().unwrap());
        StageProcess::start(binary::command(&args)).unwrap()
    }

    fn watch_on_terminal(&self, args: &[&str], size: (u16, u16)) -> StageProcess {
        let (home, data) = (self.path("home"), self.path("data"));
        let args = self.command(args, home.to_str().unwrap(), data.to_str().unwrap());
        StageProcess::start_on_terminal_sized(binary::command_on_terminal(&args), size).unwrap()
    }

    fn other(&mut self, id: &str, cwd: &str) {
        let mut record = self.whole(json!({ "type": "user", "message": { "role": "user", "content": "and this" } }));
        (record["sessionId"], record["cwd"]) = (id.into(), cwd.into());
        fs::create_dir_all(self.log().parent().unwrap()).unwrap();
        fs::write(self.log().with_file_name(format!("{id}.jsonl")), format!("{record}\n")).unwrap();
    }

    /// Appends a record to the log, which is created if necessary.
    fn append(&mut self, record: Value) {
        fs::create_dir_all(self.log().parent().unwrap()).unwrap();
        let mut file = OpenOptions::new().create(true).append(true).open(self.log()).unwrap();
        writeln!(file, "{}", self.whole(record)).unwrap();
    }

    fn whole(&mut self, mut record: Value) -> Value {
        self.written += 1;
        let common = json!({ "sessionId": SESSION, "cwd": "/srv/it", "version": "2.1.197", "gitBranch": "main",
            "uuid": format!("u{}", self.written), "parentUuid": null, "isSidechain": false, "userType": "external",
            "timestamp": now() });
        record.as_object_mut().unwrap().extend(common.as_object().unwrap().clone());
        record
    }

    fn ask(&mut self, prompt: &str) {
        self.append(json!({ "type": "user", "message": { "role": "user", "content": prompt } }));
    }

    fn reply(&mut self, id: &str, block: &Value, stop: Option<&str>) {
        let usage = json!({ "input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 1000,
            "cache_creation_input_tokens": 100 });
        let message = json!({ "id": id, "type": "message", "role": "assistant", "model": "claude-opus-4-5-20251101",
            "content": [block], "stop_reason": stop, "usage": usage });
        self.append(json!({ "type": "assistant", "requestId": format!("req_{id}"), "message": message }));
    }

    fn run(&mut self, command: &str) {
        let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": { "command": command } });
        self.reply("msg_1", &call, Some("tool_use"));
    }

    fn printed(&mut self, text: &str) {
        let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": text });
        self.append(json!({ "type": "user", "message": { "role": "user", "content": [result] } }));
    }

    fn say(&mut self, text: &str) {
        self.reply("msg_2", &json!({ "type": "text", "text": text }), Some("end_turn"));
    }
}

#[expect(clippy::disallowed_methods, reason = "a running session has records of now")]
fn now() -> String {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_seconds(since_1970.as_secs_f64()).unwrap().to_string()
}

/// Returns the lines of the last complete picture on a terminal.
fn picture(said: &str) -> Vec<String> {
    let whole = said.rsplit_once("\x1b[J").map_or("", |(whole, _)| whole);
    let (_, last) = whole.rsplit_once("\x1b[H").unwrap_or_default();
    last.lines().map(|line| line.replace("\x1b[K", "").trim_end_matches('\r').to_owned()).collect()
}

fn told(said: &str) -> Vec<Value> {
    let (whole, _) = said.rsplit_once('\n').unwrap_or_default();
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn last(said: &str) -> Value {
    let (whole, _) = said.rsplit_once('\n').unwrap_or_default();
    whole.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default()
}

#[test]
fn a_log_is_seen_from_its_first_line_on() {
    let mut home = WatchTestHome::new();
    let watching = home.watch(&["--json"]);
    // It is unknown when watching starts; but existing records are found, later ones are observed, and none is missed
    // in between.
    home.ask("please test it");
    watching.wait_for_output("the session", |said| last(said)["session"] == SESSION).unwrap();
    home.run("cargo test --all");
    watching
        .wait_for_output("a tool", |said| last(said)["tool"] == "Bash" && last(said)["about"] == "cargo test --all")
        .unwrap();
    home.printed("ok");
    watching.wait_for_output("that it thinks", |said| last(said)["activity"] == "thinking").unwrap();
    home.say("it works");
    watching.wait_for_output("two replies", |said| last(said)["replies"] == 2).unwrap();
    assert_eq!(last(&watching.stdout_text())["activity"], "waiting", "the log says that the turn is over");
    watching.send_signal(Signal::INT).unwrap();
    let ended = watching.wait_for_exit().unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.describe_output());
    let row = last(&ended.stdout);
    assert_eq!((&row["agent"], &row["project"], &row["running"]), (&json!("claude"), &json!("/srv/it"), &json!(true)));
    let figures = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "totalTokens"];
    assert_eq!(figures.map(|name| row[name].as_u64().unwrap()), [20, 40, 2000, 200, 2260], "{row}");
    assert!(row["costUsd"].as_f64().is_some_and(|cost| cost > 0.0), "{row}");
    assert_eq!(row["contextUsed"], 1110, "{row}");
}

#[test]
fn a_pipe_that_is_named_like_a_log_stops_nothing() {
    let mut home = WatchTestHome::new();
    home.ask("please test it");
    let pipe = |name: &str| {
        let path = home.log().with_file_name(name);
        rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    pipe("before.jsonl");
    let watching = home.watch(&["--json"]);
    watching.wait_for_output("the session", |said| last(said)["session"] == SESSION).unwrap();
    pipe("after.jsonl");
    home.say("it works");
    watching.wait_for_output("a reply", |said| last(said)["replies"] == 1).unwrap();
    watching.send_signal(Signal::INT).unwrap();
    assert_eq!(watching.wait_for_exit().unwrap().code, Some(0));
}

#[test]
fn the_cost_is_at_the_prices_of_the_data_folder() {
    let mut home = WatchTestHome::new();
    let prices = json!({ "models": { "claude-opus-4-5": { "input": 1_000_000, "output": 0, "cacheRead": 0, "cacheWrite": 0 } } });
    fs::create_dir_all(home.path("data")).unwrap();
    fs::write(home.path("data/prices.json"), prices.to_string()).unwrap();
    home.ask("please test it");
    home.run("cargo test --all");
    let watching = home.watch(&["--json"]);
    watching.wait_for_output("what a reply costs", |said| last(said)["costUsd"] == 10.0).unwrap();
    home.say("it works");
    watching.wait_for_output("what two cost", |said| last(said)["costUsd"] == 20.0).unwrap();
    drop(watching);
    fs::write(home.path("data/prices.json"), "{}").unwrap();
    let refused = home.watch(&["--json"]).wait_for_exit().unwrap();
    assert_eq!(refused.code, Some(2), "{}", refused.describe_output());
    assert!(refused.stderr.contains("prices.json"), "{}", refused.describe_output());
}

#[test]
fn a_table_is_drawn_and_the_terminal_is_left_as_it_was() {
    let mut home = WatchTestHome::new();
    home.ask("please test it");
    home.run("cargo test --all");
    let mut watching = home.watch_on_terminal(&[], WIDE);
    watching
        .wait_for_output("the tool", |said| said.contains("1 session, 1 at work") && said.contains("Bash cargo"))
        .unwrap();
    home.say("it works");
    watching.wait_for_output("the tokens", |said| said.contains("2.3k")).unwrap();
    watching.write_input(CTRL_C).unwrap();
    let ended = watching.wait_for_exit().unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.describe_output());
    let (hidden, shown) = (ended.stdout.rfind("\x1b[?25l").unwrap(), ended.stdout.rfind("\x1b[?25h").unwrap());
    assert!(hidden < shown, "the cursor is hidden\n{}", ended.describe_output());
}

#[test]
fn no_row_is_wider_than_the_terminal() {
    let mut home = WatchTestHome::new();
    home.ask("please test it");
    home.run("cargo test --all --no-fail-fast --package of-a-long-name");
    for number in 2..9 {
        let cwd = "/srv/a/folder/with/a/rather/long/name";
        home.other(&format!("{number}1111111-2222-4333-8444-555555555555"), cwd);
    }
    let watching = home.watch_on_terminal(&[], WIDE);
    // The terminal becomes narrower while it is drawn to.
    for (columns, rows) in [(120, 50), (80, 24), (60, 10), (40, 6)] {
        watching.resize_terminal((columns, rows)).unwrap();
        let fits = |said: &str| {
            let picture = picture(said);
            let longest = picture.iter().map(|line| line.chars().count()).max().unwrap_or_default();
            longest < usize::from(columns) && (4..=usize::from(rows)).contains(&picture.len())
        };
        watching.wait_for_output(&format!("a picture of {columns} columns"), fits).unwrap();
        let picture = picture(&watching.stdout_text());
        assert!(picture[1].starts_with("ID        AGENT") && picture[1].ends_with("NOW"), "{picture:?}");
        let is_timed = |line: &&String| line.contains(" · ") && line.contains("1111111  claude");
        assert!(picture[2..].iter().take(3).all(|line| is_timed(&line)), "{picture:?}");
    }
    assert!(picture(&watching.stdout_text()).last().unwrap().ends_with(" more"), "what does not fit is counted");
}

#[test]
fn that_time_goes_by_is_no_news() {
    let mut home = WatchTestHome::new();
    home.ask("please test it");
    home.run("cargo test --all");
    let (objects, lines) = (home.watch(&["--json"]), home.watch(&[]));
    objects.wait_for_output("the tool", |said| last(said)["tool"] == "Bash").unwrap();
    lines.wait_for_output("the tool", |said| said.contains("Bash cargo test")).unwrap();
    // Many records that change only the time, and one that changes more.
    for _ in 0..20 {
        home.append(json!({ "type": "file-history-snapshot", "messageId": "m", "snapshot": {} }));
    }
    home.printed("ok");
    objects.wait_for_output("that it thinks", |said| last(said)["activity"] == "thinking").unwrap();
    lines.wait_for_output("that it thinks", |said| said.contains("  thinking  ")).unwrap();
    let mut news = told(&objects.stdout_text());
    news.iter_mut().for_each(|row| (row["updated"], row["since"]) = (Value::Null, Value::Null));
    assert!(news.windows(2).all(|two| two[0] != two[1]), "{news:#?}");
    let said = lines.stdout_text();
    let news: Vec<&str> = said.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
    assert!(news.windows(2).all(|two| two[0] != two[1]), "{said}");
}

#[test]
fn the_last_session_and_those_of_a_folder() {
    let mut home = WatchTestHome::new();
    let (first, second) = ("aaaaaaaa-2222-4333-8444-555555555555", "bbbbbbbb-2222-4333-8444-555555555555");
    home.other(first, "/srv/first");
    home.other(second, "/srv/second");
    let written = |id: &str, seconds: u64| {
        let file = File::options().append(true).open(home.log().with_file_name(format!("{id}.jsonl"))).unwrap();
        let now = file.metadata().unwrap().modified().unwrap();
        file.set_modified(now - Duration::from_secs(seconds)).unwrap();
    };
    // The log that was written last is not the newest one, and need not be running.
    written(first, 3_600);
    written(second, 7_200);
    for (args, id) in [
        (&["last"][..], first),
        (&["last", "--project", "SECOND"], second),
        (&["last", "--agent", "claude"], first),
        (&["--within", "1d", "--project", "second"], second),
        (&["--within", "1d", "--branch", "main", "--project", "first"], first),
    ] {
        let watching = home.watch(&[args, &["--json"]].concat());
        watching.wait_for_output("the session", |said| last(said)["session"] == id).unwrap();
        watching.send_signal(Signal::INT).unwrap();
        let ended = watching.wait_for_exit().unwrap();
        assert!(told(&ended.stdout).iter().all(|row| row["session"] == id), "{args:?}: {}", ended.describe_output());
    }
    let (inner, data) = (home.path("home"), home.path("data"));
    for (args, said) in [
        (&["last", "--project", "third"][..], "no session last"),
        (&["last", "--agent", "codex"], "no session last"),
        (&["--agent", "nobody"], "`nobody`"),
    ] {
        let args = home.command(args, inner.to_str().unwrap(), data.to_str().unwrap());
        let complaint = binary::run(&args, b"").fails(2);
        assert!(complaint.contains(said), "{complaint}");
    }
}

#[test]
fn a_copied_log_does_not_run_until_it_grows() {
    let mut home = WatchTestHome::new();
    home.ask("please test it");
    home.run("cargo test --all");
    // A copy of a log: the file is new, its records are not.
    let (copy, sign) = ("aaaaaaaa-2222-4333-8444-555555555555", "bbbbbbbb-2222-4333-8444-555555555555");
    let copied = home.log().with_file_name(format!("{copy}.jsonl"));
    let log = fs::read_to_string(home.log()).unwrap().replace(SESSION, copy);
    let old: String = log.lines().map(|line| set_time(line, "2026-01-16T10:00:00.000Z") + "\n").collect();
    fs::write(&copied, &old).unwrap();
    let watching = home.watch(&["--json"]);
    watching.wait_for_output("the session", |said| last(said)["session"] == SESSION).unwrap();
    let other = "cccccccc-2222-4333-8444-555555555555";
    fs::write(copied.with_file_name(format!("{other}.jsonl")), old.replace(copy, other)).unwrap();
    home.other(sign, "/srv/sign");
    watching.wait_for_output("a new session", |said| last(said)["session"] == sign).unwrap();
    let shown = |said: &str, id: &str| told(said).iter().any(|row| row["session"] == id && row["running"] == true);
    let said = watching.stdout_text();
    assert!(!shown(&said, copy) && !shown(&said, other), "{said}");
    let record = home.whole(json!({ "type": "user", "message": { "role": "user", "content": "go on" } }));
    let line = record.to_string().replace(SESSION, copy) + "\n";
    OpenOptions::new().append(true).open(&copied).unwrap().write_all(line.as_bytes()).unwrap();
    watching.wait_for_output("the copy", |said| shown(said, copy)).unwrap();
}

fn set_time(record: &str, time: &str) -> String {
    let mut record: Value = serde_json::from_str(record).unwrap();
    record["timestamp"] = time.into();
    record.to_string()
}

#[test]
fn one_session_is_shown_as_it_goes_on() {
    let mut home = WatchTestHome::new();
    home.ask("please test it");
    let mut watching = home.watch_on_terminal(&["1111"], WIDE);
    watching.wait_for_output("what was asked", |said| said.contains("please test it")).unwrap();
    home.run("cargo test --all");
    watching.wait_for_output("the command", |said| said.contains("cargo test --all")).unwrap();
    home.printed("all good");
    watching.wait_for_output("what it printed", |said| said.contains("all good")).unwrap();
    home.say("it works");
    watching.wait_for_output("the answer", |said| said.contains("it works")).unwrap();
    watching.write_input(CTRL_C).unwrap();
    let ended = watching.wait_for_exit().unwrap();
    assert_eq!(ended.code, Some(0), "{}", ended.describe_output());
}

#[test]
fn a_line_in_two_pieces_and_a_log_that_begins_anew() {
    let mut home = WatchTestHome::new();
    home.ask("please test it");
    let watching = home.watch(&["--json"]);
    watching.wait_for_output("the session", |said| last(said)["session"] == SESSION).unwrap();
    let record = json!({ "type": "user", "message": { "role": "user", "content": "half and half" } });
    let line = format!("{}\n", home.whole(record));
    let (first, second) = line.split_at(line.len() / 2);
    let mut file = OpenOptions::new().append(true).open(home.log()).unwrap();
    file.write_all(first.as_bytes()).unwrap();
    file.flush().unwrap();
    file.write_all(second.as_bytes()).unwrap();
    home.run("cargo build");
    watching.wait_for_output("the tool", |said| last(said)["about"] == "cargo build").unwrap();
    File::create(home.log()).unwrap();
    home.ask("from the beginning");
    watching.wait_for_output("the new log", |said| last(said)["replies"] == 0).unwrap();
    watching.send_signal(Signal::INT).unwrap();
    assert_eq!(watching.wait_for_exit().unwrap().code, Some(0));
}

#[test]
fn what_switchboard_runs_is_shown_without_a_log() {
    let home = WatchTestHome::new();
    let data = home.path("data");
    let args = ["run", "script", "text ready\nsleep 600", "--json", "--data", data.to_str().unwrap()];
    let running = StageProcess::start(binary::command(&args)).unwrap();
    running.wait_for_output("that it is ready", |said| said.contains("ready")).unwrap();
    let watching = home.watch(&["--json"]);
    watching.wait_for_output("the session", |said| last(said)["agent"] == "script").unwrap();
    let row = last(&watching.stdout_text());
    assert!(row["switchboard"].is_string() && row["activity"] == "answering", "{row}");
    running.send_signal(Signal::INT).unwrap();
    running.send_signal(Signal::TERM).unwrap();
    watching.wait_for_output("its end", |said| last(said)["running"] == false).unwrap();
    watching.send_signal(Signal::INT).unwrap();
    assert_eq!(watching.wait_for_exit().unwrap().code, Some(0));
    running.wait_for_exit().unwrap();
}

#[test]
fn nothing_has_to_be_written() {
    let mut home = WatchTestHome::new();
    home.ask("please test it");
    // A file in place of the data directory.
    File::create(home.path("data")).unwrap();
    let watching = home.watch(&["--json"]);
    watching.wait_for_output("the session", |said| last(said)["session"] == SESSION).unwrap();
    watching.send_signal(Signal::INT).unwrap();
    let ended = watching.wait_for_exit().unwrap();
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("are not shown"), "{}", ended.describe_output());
}

#[test]
fn a_session_that_is_not_there() {
    let home = WatchTestHome::new();
    let (inner, data) = (home.path("home"), home.path("data"));
    let args = home.command(&["nobody"], inner.to_str().unwrap(), data.to_str().unwrap());
    let said = binary::run(&args, b"").fails(2);
    assert!(said.contains("no session nobody"), "{said}");
    assert!(!Path::new("nobody").exists());
}
