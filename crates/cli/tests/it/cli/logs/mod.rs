//! `switchboard logs`: lists, transcripts, search hits, exports and checkups of the agents' logs.

mod damaged;
mod export;
mod lifecycle;
mod queries;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::binary::{ProgramOutput, run};

/// A home directory and a data directory.
struct TestMachine {
    folder: TempDir,
}

/// The log of a session, built record by record.
struct TestLog {
    id: &'static str,
    records: Vec<String>,
}

impl TestMachine {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn with(logs: &[TestLog]) -> Self {
        let machine = Self::new();
        logs.iter().for_each(|log| machine.put(log));
        machine
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.path().join("home/.claude/projects/-home-me-app").join(format!("{id}.jsonl"))
    }

    fn put(&self, log: &TestLog) {
        let path = self.path(log.id);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, log.records.concat()).unwrap();
    }

    fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn logs(&self, args: &[&str]) -> ProgramOutput {
        let [home, data] = ["home", "data"].map(|name| self.out(name).to_str().unwrap().to_owned());
        let place = ["--home", &home, "--data", &data];
        let zone = if ["scan", "watch"].contains(&args[0]) { &[][..] } else { &["--timezone", "UTC"] };
        run(&[&["logs"], args, &place, zone].concat(), b"")
    }

    fn objects(&self, args: &[&str]) -> Vec<Value> {
        let ran = self.logs(args);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl TestLog {
    fn new(id: &'static str) -> Self {
        Self { id, records: Vec::new() }
    }

    /// Adds a record, one minute after the previous one.
    fn record(mut self, mut record: Value) -> Self {
        let number = self.records.len();
        let common = json!({
            "sessionId": self.id,
            "uuid": format!("{}-{number}", self.id),
            "timestamp": format!("2026-11-01T10:{number:02}:00.000Z"),
            "cwd": "/home/me/app",
            "version": "2.1.197",
            "gitBranch": "main",
            "isSidechain": false,
            "userType": "external",
        });
        for (name, value) in common.as_object().unwrap() {
            record.as_object_mut().unwrap().entry(name).or_insert_with(|| value.clone());
        }
        self.records.push(format!("{record}\n"));
        self
    }

    fn asks(self, text: &str) -> Self {
        self.record(json!({"type": "user", "message": {"role": "user", "content": text}}))
    }

    fn reply(self, content: &Value) -> Self {
        let id = format!("msg_{}_{}", self.id, self.records.len());
        let usage = json!({"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100});
        self.record(json!({
            "type": "assistant",
            "requestId": format!("req_{id}"),
            "message": {
                "id": id, "role": "assistant", "type": "message", "model": "claude-sonnet-4-5",
                "content": [content], "stop_reason": "end_turn", "usage": usage,
            },
        }))
    }

    fn says(self, text: &str) -> Self {
        self.reply(&json!({"type": "text", "text": text}))
    }

    fn thinks(self, text: &str) -> Self {
        self.reply(&json!({"type": "thinking", "thinking": text, "signature": "x"}))
    }

    fn runs(self, command: &str, output: &str) -> Self {
        let id = format!("toolu_{}_{}", self.id, self.records.len());
        let input = json!({"command": command, "description": "a command"});
        self.reply(&json!({"type": "tool_use", "id": id, "name": "Bash", "input": input})).record(json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output}]},
            "toolUseResult": {"stdout": output, "stderr": "", "interrupted": false, "isImage": false},
        }))
    }
}

/// Two sessions with a bit of everything.
fn two() -> [TestLog; 2] {
    [
        TestLog::new("11111111-1111-4111-8111-111111111111")
            .asks("please fix the flaky parser test")
            .thinks("the parser\nreads\nto\nthe\nend\nof\nit\nall")
            .runs("cargo test", "test parser ... FAILED\nexit\n")
            .says("The **parser** was off by one.")
            .asks("and now the lexer")
            .says("The lexer is fine."),
        TestLog::new("11111111-2222-4222-8222-222222222222")
            .asks("write a haiku about umbrellas")
            .says("Rain on cloth."),
    ]
}
