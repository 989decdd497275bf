//! The examples in `--help` and in documents can be pasted into a shell, and those that need only Switchboard work.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use switchboard_testkit::repository_root;
use tempfile::TempDir;

use crate::binary;

/// Examples with one of these words need an agent, a server, a terminal, a file, or a session in some state.
const NOT_RUN: &[&str] = &[
    "AGENT",
    "TASK",
    "run claude",
    "run codex",
    "run acp",
    "agent claude",
    "agent codex",
    "mcp add",
    "serve",
    "switchboard nodes",
    "cargo",
    "curl",
    "websocat",
    "jq",
    "logs watch",
    "sessions approve",
    "sessions interrupt",
    "sessions delete",
    "opencode.db",
    "logs.json",
    "-…",
    "_…",
    "01a1e1f4",
    "0199a213",
];

/// Removes comments at the ends of lines.
fn without_comments(script: &str) -> String {
    let code = |line: &str| if line.starts_with('#') { "" } else { line.split(" # ").next().unwrap() }.to_owned();
    script.lines().map(|line| code(line.trim())).collect::<Vec<_>>().join("\n")
}

fn help(args: &[&str], columns: &str) -> String {
    let mut command = binary::command(&[args, &["--help"]].concat());
    let output = command.env("COLUMNS", columns).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned));
    names.filter(|name| !name.is_empty() && name != "help").collect()
}

fn example_lines(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| !matches!(*line, "Example:" | "Examples:")).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

/// Returns the path of every command.
fn commands() -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while let Some(path) = all.get(at).cloned() {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        let inner = subcommands(&help(&names, "100"));
        all.extend(inner.into_iter().map(|name| [path.clone(), vec![name]].concat()));
        at += 1;
    }
    all
}

#[expect(clippy::disallowed_methods, reason = "examples are for a shell")]
fn shell(script: &str, directory: &Path, check_only: bool) -> (bool, String) {
    let binaries = Path::new(env!("CARGO_BIN_EXE_switchboard")).parent().unwrap();
    let mut command = Command::new("timeout");
    command.args(["60", "sh"]).args(check_only.then_some("-n")).args(["-c", script]);
    command.current_dir(directory).env_clear().stdin(Stdio::null());
    command.env("PATH", format!("{}:/usr/bin:/bin", binaries.display()));
    command.env("HOME", directory).env("SWITCHBOARD_DATA", directory.join("data"));
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// Joins lines to complete shell commands.
fn joined(lines: &[&str], directory: &Path) -> Vec<String> {
    let (mut scripts, mut script) = (Vec::new(), String::new());
    for line in lines {
        script.push_str(line);
        script.push('\n');
        let is_open = line.trim_end().ends_with('\\');
        if !is_open && shell(&script, directory, true).0 {
            scripts.push(std::mem::take(&mut script));
        }
    }
    assert!(script.is_empty(), "this is no whole command: {script}");
    scripts
}

/// Returns a directory with the files that examples mention.
fn stage() -> TempDir {
    let stage = tempfile::tempdir().unwrap();
    let recording = repository_root().join("crates/agents/src/claude/testdata/live/e_stdio_allow.jsonl");
    fs::copy(recording, stage.path().join("recording.jsonl")).unwrap();
    fs::create_dir_all(stage.path().join(".local/share/bash-completion/completions")).unwrap();
    let (ok, said) = shell("switchboard run echo hello", stage.path(), false);
    assert!(ok, "{said}");
    stage
}

/// Runs an example, unless it needs more than Switchboard. Returns whether it was run.
fn run(script: &str, stage: &TempDir, place: &str) -> bool {
    let code = without_comments(script);
    if NOT_RUN.iter().any(|word| code.contains(word)) || !code.contains("switchboard ") {
        return false;
    }
    let (ok, said) = shell(script, stage.path(), false);
    assert!(ok, "{place}: {script}{said}");
    true
}

#[test]
fn examples_of_the_help_can_be_pasted_and_work() {
    let (stage, mut ran) = (stage(), 0);
    for path in commands() {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        let (narrow, wide) = (help(&names, "80"), help(&names, "200"));
        // On a terminal of the usual width, examples are not wrapped.
        let lines = example_lines(&wide);
        assert_eq!(example_lines(&narrow), lines, "{}", path.join(" "));
        for script in joined(&lines, stage.path()) {
            ran += usize::from(run(&script, &stage, &format!("{} --help", path.join(" "))));
        }
    }
    assert!(ran >= 4, "only {ran} examples were run");
    let harness = example_lines(&help(&["harness"], "80")).join("\n");
    let (_, said) = shell(&harness, stage.path(), false);
    assert!(said.contains("\"id\":1,\"result\"") && said.contains("\"isDefault\":true"), "{said}");
}

#[test]
fn examples_of_the_documents_can_be_pasted_and_work() {
    let (stage, mut ran) = (stage(), 0);
    let documents = fs::read_dir(repository_root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let documents = documents.filter(|path| path.extension().is_some_and(|ext| ext == "md"));
    for path in [repository_root().join("README.md")].into_iter().chain(documents) {
        let text = fs::read_to_string(&path).unwrap();
        let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        for block in blocks {
            // The lines of a block belong together; only those that need nothing else are run.
            let lines: Vec<&str> = block.lines().filter(|line| !line.trim().is_empty()).collect();
            for script in joined(&lines, stage.path()) {
                ran += usize::from(run(&script, &stage, &path.display().to_string()));
            }
        }
    }
    assert!(ran >= 10, "only {ran} examples were run");
}
