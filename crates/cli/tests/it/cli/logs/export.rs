//! Exports: complete, flat, without secrets, and with the same totals as `usage`.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};
use switchboard_testkit::corpus::{self, CorpusOptions};

use super::{TestLog, TestMachine, two};

/// Assembled at run time, so that secret scanners ignore this file.
fn key() -> String {
    ["sk-ant", "-api03-", &"a8Fk2LmQ9xZr7TbW4vYc1NdH6sJp3GeU".repeat(2)].concat()
}

fn secretive() -> TestMachine {
    let key = key();
    let log = TestLog::new("33333333-1111-4111-8111-111111111111")
        .asks(&format!("use {key}"))
        .thinks(&format!("the key is {key}"))
        .runs(
            &format!("curl -H 'x-api-key: {key}' https://me:hunter22@example.org"),
            &format!("{{\"token\":\"{key}\"}}"),
        )
        .says(&format!("I used `{key}`."));
    TestMachine::with(&[log])
}

#[test]
fn secrets_are_taken_out_unless_they_are_wanted() {
    let machine = secretive();
    for format in ["trace", "csv", "markdown", "html"] {
        let ran = machine.logs(&["export", "-f", format]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.stdout.contains("a8Fk2LmQ9") && !ran.stdout.contains("hunter22"), "{format}: {}", ran.stdout);
        assert!(ran.stdout.contains("[redacted:") || ran.stdout.contains("\\[redacted:"), "{format}: {}", ran.stdout);
        let whole = machine.logs(&["export", "-f", format, "--no-redact"]).ok();
        assert!(whole.contains(&key()) && whole.contains("hunter22"), "{format}");
    }
}

#[test]
fn a_trace_is_one_object_a_line_and_has_the_records() {
    let machine = TestMachine::with(&two());
    let trace = machine.objects(&["export"]);
    assert!(trace.iter().all(|line| line["schema_version"] == "agtrace.event.v1" && line["source"] == "claude_code"));
    let kinds: Vec<&str> = trace.iter().filter_map(|line| line["event_type"].as_str()).collect();
    for kind in ["user_message", "assistant_message", "reasoning", "tool_call", "tool_result"] {
        assert!(kinds.contains(&kind), "{kind}");
    }
    assert!(trace.iter().any(|line| line["raw"]["message"]["content"] == "and now the lexer"));
    let tokens = |trace: &[Value]| trace.iter().filter_map(|line| line["tokens_output"].as_u64()).sum::<u64>();
    assert_eq!(tokens(&trace), 5 * 5, "each reply once");
    let bare = machine.objects(&["export", "--no-raw"]);
    assert!(bare.len() == trace.len() && bare.iter().all(|line| line["raw"].is_null()));
}

#[test]
fn a_log_that_is_broken_takes_no_other_with_it() {
    let machine = TestMachine::with(&two());
    let chats = machine.out("home/.gemini/tmp/p/chats");
    fs::create_dir_all(&chats).unwrap();
    let torn = r#"{"sessionId":"44444444-1111-4111-8111-111111111111","startTime":"2026-11-10T10:00:00Z","messages":[
        {"id":"a","timestamp":"2026-11-10T10:00:00Z","type":"user","content":"hello there"},{"id":"b"#;
    fs::write(chats.join("session-2026-11-10T10-00-44444444.json"), torn).unwrap();
    // This log was never readable.
    let rollouts = machine.out("home/.codex/sessions/2026/11/10");
    fs::create_dir_all(&rollouts).unwrap();
    fs::write(rollouts.join("rollout-2026-11-10T10-00-00-01a1e1f4-0000-7000-8000-000000000001.jsonl.zst"), "no zstd")
        .unwrap();
    for format in ["trace", "csv"] {
        let ran = machine.logs(&["export", "-f", format]);
        assert_eq!(ran.code, Some(0), "{format}: {}", ran.stderr);
        assert!(
            ["off by one", "Rain on cloth", "hello there"].iter().all(|said| ran.stdout.contains(said)),
            "{format}"
        );
        assert!(ran.stderr.contains("skipped: ") && ran.stderr.contains("jsonl.zst"), "{format}: {}", ran.stderr);
    }
    assert!(machine.logs(&["show", "44444444"]).ok().contains("hello there"));
}

/// Parses CSV as RFC 4180 defines it.
fn table(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {
                assert_eq!(chars.next(), Some('\n'));
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    rows
}

#[test]
fn a_table_has_the_same_columns_in_every_row() {
    let log = TestLog::new("44444444-1111-4111-8111-111111111111").asks("say \"hi\", twice\r\nplease").says("hi,\nhi");
    let [one, two] = two();
    let machine = TestMachine::with(&[log, one, two]);
    let rows = table(&machine.logs(&["export", "-f", "csv"]).ok());
    let columns = rows[0].len();
    assert!(rows.len() > 10 && rows.iter().all(|row| row.len() == columns));
    assert_eq!(rows.iter().filter(|row| row[0] == "schema_version").count(), 1);
    let text = rows[0].iter().position(|name| name == "text").unwrap();
    assert!(rows.iter().any(|row| row[text] == "say \"hi\", twice\r\nplease"));
    let trace = machine.objects(&["export"]);
    assert_eq!(rows.len() - 1, trace.len());
}

#[test]
fn sessions_go_into_a_folder_or_a_file() {
    let machine = TestMachine::with(&two());
    let folder = machine.out("pages/");
    let ran = machine.logs(&["export", "-f", "html", "-o", folder.to_str().unwrap()]);
    assert!(ran.code == Some(0) && ran.stderr.contains("2 sessions written"), "{}", ran.stderr);
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    let ids = ["1111-4111-8111-111111111111", "2222-4222-8222-222222222222"];
    assert_eq!(names, ids.map(|id| std::ffi::OsString::from(format!("2026-11-01-claude-11111111-{id}.html"))));
    let file = machine.out("one.md");
    machine.logs(&["export", "last", "-f", "markdown", "-o", file.to_str().unwrap()]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# please fix the flaky parser test\n") && text.contains("\nThe **parser** was"),
        "{text}"
    );
    let refused = machine.logs(&["export", "-f", "html"]).fails(2);
    assert!(refused.contains("2 sessions do not fit in one page"), "{refused}");
    for path in ["/nonexistent/x.jsonl", "/proc/x/"] {
        let refused = machine.logs(&["export", "last", "-o", path]).fails(5);
        assert!(refused.contains(&format!("cannot write {path}")), "{refused}");
    }
}

#[test]
fn ids_and_filters_narrow_each_other() {
    let machine = TestMachine::with(&two());
    let id = "11111111-1111";
    let count = |args: &[&str]| machine.objects(&[&["export"], args].concat()).len();
    let one = count(&[id]);
    assert_eq!(
        [count(&[id, id]), count(&[id, "--agent", "claude"]), count(&["last", "last"])],
        [one, one, count(&["last"])]
    );
    for filter in
        [&["--since", "2030-01-01"][..], &["--agent", "codex"], &["--project", "elsewhere"], &["--text", "haiku"]]
    {
        let refused = machine.logs(&[&["export", id], filter].concat()).fails(2);
        // Another agent has no session with that ID.
        assert!(
            ["no matching sessions", "no session"].iter().any(|said| refused.contains(said)),
            "{filter:?}: {refused}"
        );
    }
}

#[test]
fn telling_names_are_enough_in_every_format() {
    let secrets =
        ["correcthorse", "Tr0ub4dor&3", "qqqwwweee", "Zm9vYmFyYmF6MTIz", "secretpw", "my pass word 1", "abcdefghijkl"];
    let [word, odd, json, cookie, mysql, spaced, option] = secrets;
    let text = format!(
        "PASSWORD={word}\nDB_PASSWORD={odd}\n{{\"token\":\"{json}\"}}\nCookie: a=1; session={cookie}\nmysql -p{mysql} x\n\
         export PASSWORD='{spaced}'\nrun --token {option} --fast\n\"max_tokens\": 4096"
    );
    let id = "99999999-1111-4111-8111-111111111111";
    let machine = TestMachine::with(&[TestLog::new(id).asks(&text).runs(&text, &text).says(&text)]);
    for format in ["trace", "csv", "markdown", "html"] {
        let shown = machine.logs(&["export", "-f", format]).ok();
        for secret in secrets {
            assert!(!shown.contains(secret), "{format}: {secret}: {shown}");
        }
        assert!(shown.contains("4096"), "{format}");
    }
    assert!(machine.objects(&["export"]).len() > 3, "each line is JSON");
}

/// One key of each kind that a line can begin with.
fn kinds() -> Vec<(String, String)> {
    let noise =
        |length: usize| "a8Fk2LmQ9xZr7TbW4vYc1NdH6sJp3GeU5iKo0".chars().cycle().take(length).collect::<String>();
    let hex = "3f9a1c7be5d20486".repeat(4);
    let mut kinds: Vec<(String, String)> = [
        ("sk-ant-api03-", 90),
        ("sk-proj-", 60),
        ("ghp_", 36),
        ("github_pat_", 70),
        ("glpat-", 20),
        ("xoxb-123456789012-", 24),
        ("AIza", 35),
        ("sk_live_", 24),
        ("npm_", 36),
        ("hf_", 34),
        ("xai-", 80),
        ("gsk_", 52),
        ("pypi-", 80),
        ("hvs.", 40),
        ("123456789:AA", 33),
        ("Cookie: sid=", 24),
        ("curl -u me:", 12),
        ("sshpass -p ", 12),
        ("Authorization: Basic ", 24),
    ]
    .map(|(prefix, length)| (prefix.to_owned(), noise(length)))
    .into();
    kinds.push(("AKIA".to_owned(), noise(16).to_uppercase()));
    kinds.push((format!("SG.{}.", noise(22)), noise(43)));
    kinds.push((format!("eyJ{}.eyJ{}.", noise(20), noise(30)), noise(40)));
    kinds.extend(["dop_v1_", "sk-or-v1-"].map(|prefix| (prefix.to_owned(), hex.clone())));
    kinds
}

/// A file with all of them, at the beginning of lines and after tabs.
fn file() -> String {
    let line = |(prefix, rest): (String, String)| format!("{prefix}{rest}\n\t{prefix}{rest}\n");
    kinds().into_iter().map(line).collect()
}

/// A session of another agent.
pub fn codex(machine: &TestMachine, text: &str) {
    let record = |kind: &str, payload: Value| {
        let line = json!({ "timestamp": "2026-11-15T10:00:00.000Z", "type": kind, "payload": payload });
        format!("{line}\n")
    };
    let id = "01a1e0a9-0000-7ce0-a9bb-0000000000cc";
    let meta =
        json!({ "id": id, "cwd": "/home/me/app", "cli_version": "0.166.0", "timestamp": "2026-11-15T10:00:00Z" });
    let asked = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "go" }] });
    let given = json!({ "command": ["bash", "-lc", text] }).to_string();
    let call = json!({ "type": "function_call", "name": "shell", "call_id": "c1", "arguments": given });
    let gave = json!({ "output": text, "metadata": { "exit_code": 0 } }).to_string();
    let gave = json!({ "type": "function_call_output", "call_id": "c1", "output": gave });
    let folder = machine.out("home/.codex/sessions/2026/11/15");
    fs::create_dir_all(&folder).unwrap();
    let records = [meta, asked, call, gave].into_iter().zip(["session_meta"].into_iter().chain(["response_item"; 3]));
    let log: String = records.map(|(payload, kind)| record(kind, payload)).collect();
    fs::write(folder.join(format!("rollout-2026-11-15T10-00-00-{id}.jsonl")), log).unwrap();
}

#[test]
fn no_key_at_the_beginning_of_a_line_is_left() {
    let text = file();
    let id = "55555555-1111-4111-8111-111111111111";
    let machine = TestMachine::with(&[TestLog::new(id).asks("go").runs(&format!("cat > .env <<E\n{text}E"), &text)]);
    codex(&machine, &format!("cat > .env <<E\n{text}E"));
    for args in [
        &["export", "-f", "trace"][..],
        &["export", "-f", "trace", "--no-raw"],
        &["export", "-f", "csv"],
        &["export", "-f", "markdown"],
        &["export", "-f", "html", id],
        &["export", "-f", "html", "01a1e0a9"],
    ] {
        let shown = machine.logs(args).ok();
        for (prefix, rest) in kinds() {
            assert!(!shown.contains(&rest), "{args:?}: {prefix}");
        }
        assert!(shown.contains("cat &gt; .env") || shown.contains("cat > .env"), "{args:?}: {shown}");
    }
}

#[test]
fn a_private_key_in_a_patch_is_taken_out() {
    let body = "MIIEa8Fk2LmQ9xZr7TbW4vYc1NdH6sJp3GeU";
    let lines =
        ["+-----BEGIN RSA PRIVATE KEY-----", &format!("+{body}"), "+-----END RSA PRIVATE KEY-----"].map(str::to_owned);
    let log = TestLog::new("66666666-1111-4111-8111-111111111111").asks("go").record(json!({
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "done"}]},
        "toolUseResult": {"filePath": "key.pem", "structuredPatch": [{"oldStart": 1, "lines": lines}]},
    }));
    let shown = TestMachine::with(&[log]).logs(&["export"]).ok();
    assert!(!shown.contains(body) && shown.contains("+-----END RSA PRIVATE KEY-----"), "{shown}");
}

#[test]
fn a_title_is_cut_behind_its_secrets() {
    let key = key();
    let log =
        TestLog::new("77777777-1111-4111-8111-111111111111").asks(&format!("{} {key}", "x".repeat(98))).says("ok");
    let machine = TestMachine::with(&[log]);
    for format in ["markdown", "html"] {
        let shown = machine.logs(&["export", "-f", format]).ok();
        assert!(!shown.contains("sk-ant"), "{shown}");
    }
}

/// A session, and a fork that begins with a copy of it.
fn forked() -> [TestLog; 2] {
    let first =
        TestLog::new("88888888-1111-4111-8111-111111111111").asks("one").says("first").asks("two").says("second");
    let id = "88888888-2222-4222-8222-222222222222";
    let copied = first.records.iter().map(|record| {
        record.replacen(&format!("\"sessionId\":\"{}\"", first.id), &format!("\"sessionId\":\"{id}\""), 1)
    });
    let fork = TestLog { id, records: copied.collect() }.asks("three").says("third");
    [first, fork]
}

#[test]
fn what_a_fork_repeats_is_counted_once() {
    let machine = TestMachine::with(&forked());
    let sum = |trace: &[Value]| trace.iter().filter_map(|line| line["tokens_output"].as_u64()).sum::<u64>();
    let trace = machine.objects(&["export"]);
    let used = machine.objects(&["usage", "--by", "session", "--json"]);
    let used: u64 = used.iter().filter_map(|row| row["outputTokens"].as_u64()).sum();
    assert!(sum(&trace) == 3 * 5 && used == 3 * 5, "{} {used}", sum(&trace));
    let said = |word: &str| trace.iter().filter(|line| line["text"] == word).count();
    assert_eq!([said("first"), said("second"), said("third")], [2, 2, 1], "told twice, and counted once");
    assert_eq!(sum(&machine.objects(&["export", "88888888-2222"])), 15, "alone, it has all");
    let bare = machine.objects(&["export", "--no-raw"]);
    assert_eq!(sum(&bare), 15);
}

#[test]
fn a_pipe_and_a_link_stay_what_they_are() {
    let machine = TestMachine::with(&two());
    let (file, link) = (machine.out("all.jsonl"), machine.out("link.jsonl"));
    std::os::unix::fs::symlink("all.jsonl", &link).unwrap();
    fs::write(machine.out("link.jsonl.part"), "mine").unwrap();
    let ran = machine.logs(&["export", "-o", link.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(link.is_symlink() && fs::read_to_string(&file).unwrap().contains("agtrace.event.v1"));
    assert_eq!(fs::read_to_string(machine.out("link.jsonl.part")).unwrap(), "mine");
    let piped = machine.logs(&["export", "-o", "/dev/stdout"]);
    assert_eq!(piped.stdout, fs::read_to_string(&file).unwrap());
    let full = machine.logs(&["export", "-o", "/dev/full"]);
    assert!(full.code != Some(0) && full.stderr.contains("No space left"), "{}", full.stderr);
}

type TokenSums = BTreeMap<String, u64>;

/// Adds up tokens by the value of a field.
fn sums(objects: &[Value], by: &str, tokens: &str) -> TokenSums {
    let mut sums = TokenSums::new();
    for object in objects {
        if let Some(tokens) = object[tokens].as_u64().filter(|tokens| *tokens > 0) {
            *sums.entry(object[by].as_str().unwrap_or_default().to_owned()).or_default() += tokens;
        }
    }
    sums
}

fn used(machine: &TestMachine, by: &str) -> TokenSums {
    sums(&machine.objects(&["usage", "--by", by, "--json"]), "key", "totalTokens")
}

#[test]
fn an_export_of_everything_adds_up_to_what_was_used() {
    for seed in [1, 2] {
        let machine = TestMachine::new();
        corpus::write_corpus(machine.folder.path(), &CorpusOptions::small(seed)).unwrap();
        let trace = machine.objects(&["export", "--no-raw"]);
        assert_eq!(sums(&trace, "model", "tokens_total"), used(&machine, "model"), "corpus {seed}");
    }
}

#[test]
fn a_session_with_subagents_adds_up_to_what_it_used() {
    let machine = TestMachine::new();
    corpus::write_corpus(machine.folder.path(), &CorpusOptions::small(3)).unwrap();
    let with_subagents = |line: &Value| line["subagents"].as_array().is_some_and(|subagents| !subagents.is_empty());
    let sessions = machine.objects(&["list", "--all", "--json"]);
    let (mut seen, used) = (0, used(&machine, "session"));
    for session in sessions.iter().filter(|session| with_subagents(session)) {
        let id = session["id"].as_str().unwrap();
        let trace = machine.objects(&["export", id, "--no-raw"]);
        let exported: u64 = sums(&trace, "model", "tokens_total").values().sum();
        assert_eq!(Some(&exported), used.get(id), "{id}");
        seen += 1;
    }
    assert!(seen > 2, "{seen}");
}
