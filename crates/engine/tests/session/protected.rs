//! Paths that an agent of the table protects, as the policy sees them.

use std::path::Path;

use switchboard_engine::protected_paths::is_protected;

#[test]
fn settings_hooks_and_plugins_of_agents_are_protected() {
    let home = Path::new("/home/ada");
    for path in [
        "/w/.claude/settings.json",
        "/w/.claude/settings.local.json",
        "/w/.claude/hooks/run.sh",
        "/home/ada/.claude/settings.json",
        "/home/ada/.claude.json",
        "/w/.codex/config.toml",
        "/w/.codex/hooks.json",
        "/home/ada/.codex/rules/default.rules",
        "/w/.gemini/settings.json",
        "/w/.gemini/extensions/x/gemini-extension.json",
        "/w/opencode.json",
        "/w/.opencode/plugin/x.ts",
        "/home/ada/.config/opencode/opencode.jsonc",
        "/w/.qwen/settings.json",
    ] {
        assert!(is_protected(Path::new(path), home), "{path}");
    }
    for path in [
        "/w/CLAUDE.md",
        "/w/AGENTS.md",
        "/home/ada/.claude/projects/x/session.jsonl",
        "/home/ada/.codex/sessions/2026/x.jsonl",
        "/home/ada/.gemini/tmp/x/chats/session.jsonl",
        "/w/.claude.json",
    ] {
        assert!(!is_protected(Path::new(path), home), "{path}");
    }
}
