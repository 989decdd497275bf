//! `switchboard logs usage` on generated homes.

use std::fs;

use serde_json::{Value, json};
use switchboard_logs::usage::{UsageGrouping, UsageOrder};
use tempfile::TempDir;

use crate::binary::{ProgramOutput, run};

/// A home with logs, and a data directory.
struct UsageTestHome {
    folder: TempDir,
    lines: Vec<String>,
}

impl UsageTestHome {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), lines: Vec::new() }
    }

    /// Adds a reply with `input` input tokens and twice as many output tokens.
    fn reply(mut self, at: &str, model: &str, input: u64, tools: &[&str]) -> Self {
        let id = self.lines.len();
        let call = |(number, name): (usize, &&str)| json!({"type":"tool_use","id":format!("t{id}-{number}"),"name":name,"input":{}});
        let content: Vec<Value> = tools.iter().enumerate().map(call).collect();
        let usage = json!({"input_tokens": input, "output_tokens": 2 * input,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
        let message = json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model,
            "content": content, "usage": usage});
        let record = json!({"type": "assistant", "uuid": format!("u{id}"), "sessionId": "5e551011-0000-4000-8000-000000000001",
            "cwd": "/made/project", "gitBranch": "main", "version": "2.1.197", "timestamp": at,
            "requestId": format!("req_{id}"), "message": message});
        self.lines.push(record.to_string());
        self
    }

    fn write(&self) {
        let project = self.folder.path().join("home/.claude/projects/-made-project");
        fs::create_dir_all(&project).unwrap();
        let text = self.lines.join("\n") + "\n";
        fs::write(project.join("5e551011-0000-4000-8000-000000000001.jsonl"), text).unwrap();
    }

    fn usage(&self, args: &[&str]) -> ProgramOutput {
        self.write();
        let path = |name: &str| self.folder.path().join(name).to_str().unwrap().to_owned();
        let (home, data) = (path("home"), path("data"));
        let place = ["logs", "usage", "--home", &home, "--data", &data];
        let zone: &[&str] = if args.contains(&"--timezone") { &[] } else { &["--timezone", "UTC"] };
        run(&[&place[..], zone, args].concat(), b"")
    }

    fn rows(&self, args: &[&str]) -> Vec<Value> {
        let text = self.usage(&[args, &["--json"]].concat()).ok();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn tokens(&self, args: &[&str]) -> Vec<(String, u64)> {
        let of = |row: &Value| (row["key"].as_str().unwrap().to_owned(), row["totalTokens"].as_u64().unwrap());
        self.rows(args).iter().map(of).collect()
    }
}

fn home() -> UsageTestHome {
    UsageTestHome::new()
        .reply("2026-10-31T22:30:00Z", "claude-opus-4-7", 1_000, &["Bash"])
        .reply("2026-11-01T10:00:00Z", "claude-opus-4-7", 100, &["Bash", "Read"])
        .reply("2026-11-02T10:00:00Z", "made-up-model", 10, &[])
}

fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|(key, tokens)| ((*key).to_owned(), *tokens)).collect()
}

#[test]
fn rows_have_the_fields_that_are_promised() {
    let home = home();
    for by in UsageGrouping::ALL {
        for row in home.rows(&["--by", by.as_str()]) {
            assert!(row["key"].is_string() && row["costUsd"].is_number(), "{row}");
            let kinds = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"];
            let sum: u64 = kinds.iter().map(|kind| row[kind].as_u64().unwrap()).sum();
            assert_eq!(row["totalTokens"], sum, "{row}");
            assert!(row["reasoningTokens"].is_u64() && row["replies"].is_u64(), "{row}");
        }
    }
}

#[test]
fn replies_are_put_together() {
    let home = home();
    let check = |by: &str, expected: &[(&str, u64)]| assert_eq!(home.tokens(&["--by", by]), pairs(expected), "{by}");
    check("day", &[("2026-10-31", 3_000), ("2026-11-01", 300), ("2026-11-02", 30)]);
    check("week", &[("2026-W44", 3_300), ("2026-W45", 30)]);
    check("month", &[("2026-10", 3_000), ("2026-11", 330)]);
    check("model", &[("claude-opus-4-7", 3_300), ("made-up-model", 30)]);
    check("agent", &[("claude", 3_330)]);
    check("project", &[("/made/project", 3_330)]);
    check("session", &[("5e551011-0000-4000-8000-000000000001", 3_330)]);
    check("tool", &[("Bash", 3_150), ("Read", 150), ("(answer)", 30)]);
    check("subagent", &[("(main)", 3_330)]);
    check("block", &[("2026-10-31T22:00:00Z", 3_000), ("2026-11-01T10:00:00Z", 300), ("2026-11-02T10:00:00Z", 30)]);
}

#[test]
fn days_follow_the_time_zone() {
    let expected = pairs(&[("2026-11-01", 3_300), ("2026-11-02", 30)]);
    assert_eq!(home().tokens(&["--timezone", "Asia/Tokyo"]), expected);
    assert_eq!(home().tokens(&["--timezone", "+01:30"]), expected);
}

#[test]
fn filters_leave_out_the_rest() {
    let home = home();
    let check = |args: &[&str], expected: u64| {
        let sum: u64 = home.tokens(args).iter().map(|(_, tokens)| tokens).sum();
        assert_eq!(sum, expected, "{args:?}");
    };
    check(&["--since", "2026-11-01"], 330);
    check(&["--since", "2026-11-01", "--until", "2026-11-01"], 300);
    check(&["--until", "2026-10"], 3_000);
    check(&["--until", "2026-11-01T10:00:00Z"], 3_000);
    check(&["--model", "opus"], 3_300);
    check(&["--project", "/MADE"], 3_330);
    check(&["--project", "elsewhere"], 0);
    check(&["--branch", "main"], 3_330);
    check(&["--branch", "other"], 0);
    check(&["--agent", "claude"], 3_330);
    check(&["--agent", "gemini"], 0);
    check(&["--session", "5e551011"], 3_330);
}

#[test]
fn a_second_run_and_one_more_line_are_right() {
    let home = home();
    let first = home.tokens(&[]);
    assert_eq!(home.tokens(&[]), first);
    let home = home.reply("2026-11-02T11:00:00Z", "made-up-model", 1, &[]);
    assert_eq!(home.tokens(&["--since", "2026-11-02"]), pairs(&[("2026-11-02", 33)]));
}

#[test]
fn another_home_in_the_same_index_is_not_counted() {
    let home = home();
    let first = home.tokens(&[]);
    let other = home.folder.path().join("other");
    fs::create_dir_all(other.join(".claude/projects/-made")).unwrap();
    let (data, text) = (home.folder.path().join("data"), home.lines.last().unwrap());
    fs::write(other.join(".claude/projects/-made/copy.jsonl"), format!("{text}\n")).unwrap();
    let args = ["logs", "usage", "--json", "--home", other.to_str().unwrap(), "--data", data.to_str().unwrap()];
    let rows = run(&args, b"").ok();
    assert!(rows.lines().count() == 1 && rows.contains(r#""totalTokens":30,"#), "also what is a copy: {rows}");
    assert_eq!(home.tokens(&[]), first);
}

#[test]
fn prices_can_be_added() {
    let home = home();
    let cost =
        |args: &[&str]| home.rows(&[args, &["--by", "model", "--model", "made-up"]].concat())[0]["costUsd"].as_f64();
    assert_eq!(cost(&[]), Some(0.0));
    let file = home.folder.path().join("mine.json");
    fs::write(&file, r#"{"models":{"made-up-model":{"input":1000,"output":100}}}"#).unwrap();
    assert_eq!(cost(&["--prices", file.to_str().unwrap()]), Some(0.012));
    fs::copy(&file, home.folder.path().join("data/prices.json")).unwrap();
    assert_eq!(cost(&[]), Some(0.012), "the file in the data folder counts");
    fs::write(&file, r#"{"models":{"made-up-model":{"in":1}}}"#).unwrap();
    let complaint = home.usage(&["--prices", file.to_str().unwrap()]).fails(2);
    assert!(complaint.contains("`made-up-model`") && complaint.contains("`in`"), "{complaint}");
    home.usage(&["--prices", "/nowhere/prices.json"]).fails(2);
}

#[test]
fn people_get_a_table_with_a_total() {
    let text = home().usage(&[]).ok();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("DAY") && lines[0].contains("CACHE READ"), "{text}");
    assert!(lines[4].starts_with("total") && lines[4].contains("3,330"), "{text}");
    assert!(text.contains("excluded from cost (no price): made-up-model (30 tokens)"), "{text}");
    let text = home().usage(&["--breakdown", "--by", "project"]).ok();
    assert!(text.contains("\n  claude-opus-4-7 ") && text.contains("\n  made-up-model "), "{text}");
    let text = home().usage(&["--project", "elsewhere"]).ok();
    assert!(text.starts_with("no usage"), "{text}");
}

#[test]
fn bars_and_values_are_there_too() {
    let chart = home().usage(&["--chart"]).ok();
    assert!(chart.starts_with("2026-10-31  █████"), "{chart}");
    home().usage(&["--chart=cost", "--by", "model"]).ok();
    let text = home().usage(&["--csv"]).ok();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].starts_with("key,inputTokens,outputTokens,cacheReadTokens,"), "{text}");
    assert!(lines[1].starts_with("2026-10-31,1000,2000,0,0,0,3000,1,"), "{text}");
}

#[test]
fn rows_can_be_sorted_and_fewer() {
    let home = home();
    let keys = |args: &[&str]| home.tokens(args).into_iter().map(|(key, _)| key).collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&["--reverse"]), "2026-11-02 2026-11-01 2026-10-31");
    assert_eq!(keys(&["-n", "1"]), "2026-11-02", "of days, the latest");
    assert_eq!(keys(&["--limit", "2", "--sort", "tokens"]), "2026-10-31 2026-11-01");
    for order in UsageOrder::ALL {
        assert_eq!(home.tokens(&["--sort", order.as_str()]).len(), 3);
    }
    let text = home.usage(&["-n", "1"]).ok();
    assert!(text.contains("and 2 rows more") && text.contains("3,330"), "{text}");
}

#[test]
fn what_makes_no_sense_is_said() {
    let home = home();
    for (args, what) in [
        (&["--by", "hour"][..], "block"),
        (&["--sort", "colour"], "replies"),
        (&["--since", "soon"], "--since: `soon` is not a time"),
        (&["--until", "2026-13-01"], "--until: `2026-13-01` is not a time"),
        (&["--since", "2026-11-02", "--until", "2026-11-01"], "--until: nothing is between"),
        (&["--agent", "nobody"], "unknown agent `nobody`"),
        (&["--session", "nothing"], "no session nothing"),
        (&["--json", "--csv"], "--csv"),
        (&["--chart", "--json"], "--json"),
        (&["--chart=colour"], "tokens"),
    ] {
        let complaint = home.usage(args).fails(2);
        assert!(complaint.contains(what), "{args:?}: {complaint}");
    }
    let complaint = run(&["logs", "usage", "--timezone", "Mars/Olympus"], b"").fails(2);
    assert!(complaint.contains("--timezone: `Mars/Olympus` is not a time zone"), "{complaint}");
}

#[test]
fn help_says_what_there_is() {
    let help = run(&["logs", "usage", "--help"], b"").ok();
    for by in UsageGrouping::ALL {
        assert!(help.contains(by.as_str()) && help.contains(by.description()), "{}", by.as_str());
    }
    for option in [
        "--since",
        "--until",
        "--timezone",
        "--json",
        "--csv",
        "--chart",
        "--breakdown",
        "--prices",
        "--home",
        "--data",
    ] {
        assert!(help.contains(option), "{option}");
    }
}
