//! Exports: whole, flat, and without secrets.

use std::fs;

use serde_json::Value;

use super::{Log, Machine, two};

/// Put together, so that no scanner takes this file for a leak.
fn key() -> String {
    ["sk-ant", "-api03-", &"a8Fk2LmQ9xZr7TbW4vYc1NdH6sJp3GeU".repeat(2)].concat()
}

fn secretive() -> Machine {
    let key = key();
    let log = Log::new("33333333-1111-4111-8111-111111111111")
        .asks(&format!("use {key}"))
        .thinks(&format!("the key is {key}"))
        .runs(
            &format!("curl -H 'x-api-key: {key}' https://me:hunter22@example.org"),
            &format!("{{\"token\":\"{key}\"}}"),
        )
        .says(&format!("I used `{key}`."));
    Machine::with(&[log])
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
    let machine = Machine::with(&two());
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

/// Fields of CSV as RFC 4180 has them.
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
    let log = Log::new("44444444-1111-4111-8111-111111111111").asks("say \"hi\", twice\r\nplease").says("hi,\nhi");
    let [one, two] = two();
    let machine = Machine::with(&[log, one, two]);
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
    let machine = Machine::with(&two());
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
    assert!(refused.contains("2 sessions do not fit on one page"), "{refused}");
    let refused = machine.logs(&["export", "last", "-o", "/nonexistent/x.jsonl"]).fails(2);
    assert!(refused.contains("cannot write /nonexistent/x.jsonl"), "{refused}");
}
