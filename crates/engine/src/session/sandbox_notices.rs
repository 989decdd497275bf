//! The reports of a session about its sandbox: how it is confined, refused writes, and protected files that it has
//! created or changed when it ends.

use std::path::{Path, PathBuf};

use serde_json::json;
use switchboard_event::{Details, Item, Level, Notice, SandboxMode, Timestamp, Topic, to_raw_json};

use super::actor::SessionActor;
use crate::{
    protected_files::{KnownFiles, ProtectedFiles, find_changed_files},
    supervise::SandboxReport,
};

/// Errors of the kernel for a write that mounts forbid, as programs print them. A protected file cannot be replaced
/// either, since it is a mount point.
const REFUSAL_ERRORS: [&str; 5] =
    ["Read-only file system", "read-only file system", "EROFS", "Device or resource busy", "EBUSY"];

/// The maximum length of a message that is repeated in a notice.
const MAX_MESSAGE_CHARS: usize = 200;

const MAX_PATHS_IN_TEXT: usize = 20;

/// The maximum number of paths in the detail of a notice.
const MAX_PATHS: usize = 10_000;

/// The maximum size of the paths in the detail of a notice.
const MAX_PATH_BYTES: usize = 1 << 20;

/// The maximum number of refused writes that a session reports.
const MAX_REFUSED_WRITES: u32 = 20;

/// The state from which a session reports about its sandbox.
pub struct SessionSandbox {
    /// The directories that it may write.
    pub workspace: Vec<PathBuf>,
    pub started: Timestamp,
    /// The protected files that existed then.
    pub known_files: KnownFiles,
    pub refused_writes: u32,
}

/// Returns the notice that a confined session begins with.
pub fn sandbox_notice(mode: SandboxMode, report: &SandboxReport) -> Notice {
    let enforced: Vec<_> = report.enforced.iter().map(|feature| feature.name()).collect();
    let missing: Vec<_> = report.missing.iter().map(|(feature, _)| feature.name()).collect();
    let text = format!("sandbox: {}, enforced by {}", mode_name(mode), enforced.join(", "));
    let detail = json!({ "mode": mode, "enforced": enforced, "missing": missing });
    Notice { detail: Some(to_raw_json(&detail)), ..Notice::new(Topic::Status).with_name("sandbox").with_text(text) }
}

fn mode_name(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::None => "none",
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::FullAccess => "full-access",
    }
}

/// Returns the error message of a tool's refused write, if it printed one.
fn refused_write(item: &Item) -> Option<String> {
    if matches!(item.details, Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_)) {
        return None;
    }
    let details = to_raw_json(item);
    let text = REFUSAL_ERRORS.iter().find_map(|refusal| Some((details.get().find(refusal)?, refusal.len())));
    let (at, length) = text?;
    // The line that contains it, as escaped in JSON.
    let before = details.get().get(..at)?;
    let start = ["\\n", "\""].iter().filter_map(|end| Some(before.rfind(end)? + end.len())).max().unwrap_or_default();
    let line = details.get().get(start..at + length)?;
    Some(line.chars().take(MAX_MESSAGE_CHARS).collect())
}

impl SessionActor {
    /// Reports a write that was refused to a completed tool of a confined session.
    pub(super) fn report_refused_write(&mut self, item: &Item) {
        let Some(sandbox) = self.parts.sandbox.as_mut().filter(|sandbox| sandbox.refused_writes < MAX_REFUSED_WRITES)
        else {
            return;
        };
        let Some(message) = refused_write(item) else { return };
        sandbox.refused_writes += 1;
        self.pending_notices.push(format!(
            "the sandbox refused a write: {message}; to allow it, list the path in config.writablePaths \
             (--writable-path), or its directory in config.writableRoots"
        ));
    }

    /// Sends the notices that waited until their events were written.
    pub(super) fn write_pending_notices(&mut self) {
        for text in std::mem::take(&mut self.pending_notices) {
            self.write_notice(
                &Notice::new(Topic::Warning).with_level(Level::Warning).with_name("sandbox").with_text(text),
            );
        }
    }

    /// Reports the protected files that a confined session has created or changed: they may run code later, outside of
    /// the sandbox.
    pub(super) async fn report_planted_files(&mut self) {
        let Some(sandbox) = self.parts.sandbox.as_ref() else { return };
        let (workspace, since, known_files) = (sandbox.workspace.clone(), sandbox.started, sandbox.known_files.clone());
        let home = self.parts.host.home.clone();
        let search = move || find_changed_files(&workspace, &home, since, &known_files);
        let Ok(ProtectedFiles { paths: changed, is_complete }) = tokio::task::spawn_blocking(search).await else {
            return;
        };
        if !changed.is_empty() {
            self.write_notice(&planted_files_notice(&changed));
        }
        if !is_complete {
            self.write_warning("the workspace is too large or too deep to look for all files that run code later");
        }
    }
}

/// Returns the notice about files that a session has planted. The detail lists all of them, so that none is hidden
/// among others.
fn planted_files_notice(paths: &[PathBuf]) -> Notice {
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
    Notice { detail: Some(to_raw_json(&detail)), ..notice }
}

/// Escapes characters of a path that break a line, move the cursor or hide others.
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

    use super::{MAX_PATHS, planted_files_notice, refused_write};

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
        let notice = planted_files_notice(&paths);
        let text = notice.text.unwrap();
        assert!(text.contains("/w/19/.envrc and 11 more") && !text.contains("/w/20/"), "{text}");
        let detail: serde_json::Value = serde_json::from_str(notice.detail.unwrap().get()).unwrap();
        assert_eq!((detail["count"].as_u64(), detail["paths"].as_array().unwrap().len()), (Some(31), 31));
        assert_eq!(detail["paths"][30], "/w/a\\n\\u{1b}[2Kb\\u{202e}/.git/hooks/pre-commit");
        let many: Vec<_> = (0..MAX_PATHS + 5).map(|number| PathBuf::from(format!("/{number}"))).collect();
        let detail: serde_json::Value =
            serde_json::from_str(planted_files_notice(&many).detail.unwrap().get()).unwrap();
        assert_eq!(detail["count"].as_u64(), Some(10_005));
        assert_eq!(detail["paths"].as_array().unwrap().len(), MAX_PATHS);
    }
}
