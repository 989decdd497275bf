//! What recordings look like: in a pipe, and on a terminal in colour.

use switchboard_event::Event;

use super::{Options, check, readable, recorded, shown};

/// The recordings that are looked at: all kinds of things, from all agents.
const RECORDINGS: &[&str] = &[
    "claude live/a_text_partial",
    "claude live/b_bash_default_denied",
    "claude live/b_bashbg",
    "claude live/b_parallel",
    "claude live/c_todo",
    "claude live/c_write_edit_partial",
    "claude live/d_think",
    "claude live/e_stdio_allow",
    "claude live/e_stdio_deny",
    "claude live/f_interrupt_text",
    "claude live/f_queue_two",
    "claude live/h_e529",
    "claude live/i_task_ask",
    "claude live/i_taskfg_forward",
    "claude live/k_schema",
    "claude live/y_big",
    "codex live/shell",
    "codex live/http401",
    "codex:app-server app-server/cmd-cancel",
    "codex:app-server app-server/interrupt-shell",
    "codex:app-server app-server/made-file-changes",
    "codex:app-server app-server/made-notices",
    "codex:app-server app-server/made-subagent",
    "codex:app-server app-server/mcp",
    "codex:app-server app-server/plan",
    "codex:app-server app-server/steer",
    "codex:app-server app-server/websearch",
    "gemini live/made-tools",
    "gemini live/27-api-429",
    "opencode live/04write_edit_always",
    "opencode live/08subagent",
    "opencode live/made-tools",
    "acp live/gemini-allow",
    "acp live/made-permissions",
    "script live/made-all-verbs.txt",
    "script live/made-fail.txt",
];

/// All that a recording looks like.
fn looks(events: &[Event]) -> String {
    let piped = shown(events, Options::piped());
    let terminal = shown(events, Options::terminal(80));
    let terminal = readable(&terminal.all);
    format!("# stdout\n{}\n# stderr\n{}\n# terminal\n{terminal}", piped.answer, piped.activity)
}

#[test]
fn recordings_look_as_they_did() {
    for name in RECORDINGS {
        let file = name.replace([' ', '/', ':'], "-");
        check(&file, &looks(&recorded(name)));
    }
}

#[test]
fn colour_is_the_only_difference() {
    for name in RECORDINGS {
        let plain = shown(&recorded(name), Options { colour: false, ..Options::terminal(80) }).all;
        let coloured = readable(&shown(&recorded(name), Options::terminal(80)).all);
        let without = ["⟨/⟩", "⟨bold⟩", "⟨dim⟩", "⟨red⟩", "⟨green⟩", "⟨yellow⟩", "⟨cyan⟩"];
        assert_eq!(without.into_iter().fold(coloured, |text, word| text.replace(word, "")), plain, "{name}");
    }
}
