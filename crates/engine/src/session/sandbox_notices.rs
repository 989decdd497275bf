//! What a session reports about its sandbox: how it is confined, writes that were refused, and protected files that it has
//! created or changed when it ends.

use std::path::{Path, PathBuf};

use serde_json::json;
use switchboard_event::{Details, Item, Level, Notice, SandboxMode, Timestamp, Topic, raw};

use super::actor::Actor;
use crate::{
    protected_files::{self, KnownFiles, ProtectedFiles},
    supervise::SandboxReport,
};

/// Answers of the kernel to a write that mounts forbid, as programs print them. A protected file cannot be replaced
/// either, since it is a mount of its own.
const REFUSALS: [&str; 5] =
    ["Read-only file system", "read-only file system", "EROFS", "Device or resource busy", "EBUSY"];

/// How much of a message is repeated in a notice.
const MAX_MESSAGE_CHARS: usize = 200;

/// How many paths the text of a notice names.
const MAX_PATHS_IN_TEXT: usize = 20;

/// How many paths the detail of a notice lists.
const MAX_PATHS: usize = 10_000;

/// How many bytes the paths in the detail of a notice may take.
const MAX_PATH_BYTES: usize = 1 << 20;

/// How many refused writes of a session are reported.
const MAX_REFUSALS: u32 = 20;

/// The sandbox of a session, for what is reported about it.
pub struct SessionSandbox {
    /// The directories that it may write.
    pub workspace: Vec<PathBuf>,
    /// When it started.
    pub started: Timestamp,
    /// The protected files that were there then.
    pub known: KnownFiles,
    /// Refused writes that were reported.
    pub refusals: u32,
}

/// The notice that a confined session begins with.
pub fn confined(mode: SandboxMode, report: &SandboxReport) -> Notice {
    let enforced: Vec<_> = report.enforced.iter().map(|feature| feature.name()).collect();
    let missing: Vec<_> = report.missing.iter().map(|(feature, _)| feature.name()).collect();
    let text = format!("sandbox: {}, enforced by {}", mode_name(mode), enforced.join(", "));
    let detail = json!({ "mode": mode, "enforced": enforced, "missing": missing });
    Notice { detail: Some(raw(&detail)), ..Notice::new(Topic::Status).with_name("sandbox").with_text(text) }
}

fn mode_name(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::None => "none",
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::FullAccess => "full-access",
    }
}

/// The message of a write that was refused to a tool, if it printed one.
fn refused_write(item: &Item) -> Option<String> {
    if matches!(item.details, Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_)) {
        return None;
    }
    let details = raw(item);
    let text = REFUSALS.iter().find_map(|refusal| Some((details.get().find(refusal)?, refusal.len())));
    let (at, length) = text?;
    // The line that it stands in, as it stands in JSON.
    let before = details.get().get(..at)?;
    let start = ["\\n", "\""].iter().filter_map(|end| Some(before.rfind(end)? + end.len())).max().unwrap_or_default();
    let line = details.get().get(start..at + length)?;
    Some(line.chars().take(MAX_MESSAGE_CHARS).collect())
}

impl Actor {
    /// A tool of a confined session has ended: a write that was refused to it is reported.
    pub(super) fn note_refused_write(&mut self, item: &Item) {
        let Some(sandbox) = self.parts.sandbox.as_mut().filter(|sandbox| sandbox.refusals < MAX_REFUSALS) else {
            return;
        };
        let Some(message) = refused_write(item) else { return };
        sandbox.refusals += 1;
        self.pending_notices.push(format!(
            "the sandbox refused a write: {message}; to allow it, list the path in config.writablePaths \
             (--writable-path), or its directory in config.writableRoots"
        ));
    }

    /// Notices that wait until what they are about is written down.
    pub(super) fn send_pending_notices(&mut self) {
        for text in std::mem::take(&mut self.pending_notices) {
            self.say(&Notice::new(Topic::Warning).with_level(Level::Warning).with_name("sandbox").with_text(text));
        }
    }

    /// Reports the protected files that a confined session has created or changed: they may run code later, outside of
    /// the sandbox.
    pub(super) async fn note_planted_files(&mut self) {
        let Some(sandbox) = self.parts.sandbox.as_ref() else { return };
        let (workspace, since, known) = (sandbox.workspace.clone(), sandbox.started, sandbox.known.clone());
        let home = self.parts.machine.home.clone();
        let search = move || protected_files::changed_since(&workspace, &home, since, &known);
        let Ok(ProtectedFiles { paths: changed, is_complete }) = tokio::task::spawn_blocking(search).await else {
            return;
        };
        if !changed.is_empty() {
            self.say(&planted_files(&changed));
        }
        if !is_complete {
            self.warn("the workspace is too large or too deep to look for all files that run code later");
        }
    }
}

/// The notice about files that a session has planted. The detail has all of them, so that none hides among others.
fn planted_files(paths: &[PathBuf]) -> Notice {
    let shown: Vec<_> = paths.iter().take(MAX_PATHS_IN_TEXT).map(|path| printable(path)).collect();
    let more = paths.len().saturating_sub(MAX_PATHS_IN_TEXT);
    let more = if more > 0 { format!(" and {more} more (all are in the notice's detail)") } else { String::new() };
    let text = format!(
        "files that run code later were created or changed in this session: {}{more}; check them before you use them \
         outside of the sandbox",
        shown.join(", ")
    );
    let mut bytes_left = MAX_PATH_BYTES;
    let listed = paths.iter().take(MAX_PATHS).map(|path| printable(path)).take_while(|path| {
        bytes_left = bytes_left.saturating_sub(path.len());
        bytes_left > 0
    });
    let detail = json!({ "count": paths.len(), "paths": listed.collect::<Vec<_>>() });
    let notice = Notice::new(Topic::Warning).with_level(Level::Warning).with_name("planted_files").with_text(text);
    Notice { detail: Some(raw(&detail)), ..notice }
}

/// A path without characters that break a line, move the cursor or hide others.
fn printable(path: &Path) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let letters = path.to_string_lossy();
    letters.chars().fold(String::new(), |mut text, letter| {
        if is_hidden(letter) {
            text.extend(letter.escape_default());
        } else {
            text.push(letter);
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use switchboard_event::{AgentMessage, Command, Item};

    use std::path::PathBuf;

    use super::{MAX_PATHS, planted_files, refused_write};

    fn check(output: &str, expected: Option<&str>) {
        let command = Command { output: output.to_owned(), ..Command::default() };
        let item = Item::new(command);
        assert_eq!(refused_write(&item).as_deref(), expected, "{output}");
    }

    #[test]
    fn the_line_of_a_refused_write_is_found() {
        check("all is well", None);
        check(
            "first\nerror: could not write config file .git/config: Device or resource busy\nlast",
            Some("error: could not write config file .git/config: Device or resource busy"),
        );
        check("touch: cannot touch 'x': Read-only file system", Some("touch: cannot touch 'x': Read-only file system"));
        let text = AgentMessage { text: "EROFS means Read-only file system".to_owned(), ..AgentMessage::default() };
        let item = Item::new(text);
        assert_eq!(refused_write(&item), None);
    }

    #[test]
    fn every_planted_file_is_listed() {
        let mut paths: Vec<_> = (0..30).map(|number| PathBuf::from(format!("/w/{number}/.envrc"))).collect();
        paths.push(PathBuf::from("/w/a\n\u{1b}[2Kb\u{202e}/.git/hooks/pre-commit"));
        let notice = planted_files(&paths);
        let text = notice.text.unwrap();
        assert!(text.contains("/w/19/.envrc and 11 more") && !text.contains("/w/20/"), "{text}");
        let detail: serde_json::Value = serde_json::from_str(notice.detail.unwrap().get()).unwrap();
        assert_eq!((detail["count"].as_u64(), detail["paths"].as_array().unwrap().len()), (Some(31), 31));
        assert_eq!(detail["paths"][30], "/w/a\\n\\u{1b}[2Kb\\u{202e}/.git/hooks/pre-commit");
        let many: Vec<_> = (0..MAX_PATHS + 5).map(|number| PathBuf::from(format!("/{number}"))).collect();
        let detail: serde_json::Value = serde_json::from_str(planted_files(&many).detail.unwrap().get()).unwrap();
        assert_eq!(detail["count"].as_u64(), Some(10_005));
        assert_eq!(detail["paths"].as_array().unwrap().len(), MAX_PATHS);
    }
}
