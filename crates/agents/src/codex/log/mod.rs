//! Codex's rollouts on disk, one file per thread, in the formats of all versions. The reader converts them to events;
//! the scanner extracts facts, usage and text directly. Both count tokens with the same tracker.

mod items;
mod lineage;
mod messages;
mod passages;
mod record;
mod scanner;
mod tool_calls;
mod turns;
mod usage;

#[cfg(test)]
mod tests;

use std::path::{Component, Path};

use lineage::is_uuid;
use messages::MessageDeduplicator;
use record::{RolloutRecord, split_document};
use switchboard_event::{Context, Dir, Id, Info, Level, Notice, Topic};
use turns::RolloutTurns;
use usage::RolloutUsageTracker;

use super::launch::codex_home;
use crate::{AgentLogs, JsonView, LogFile, LogFormat, RecordReader, RunRecorder, no_workspace_root, walk::JsonWalker};

/// The logs of Codex, which it never deletes.
pub const LOGS: AgentLogs = AgentLogs {
    agent: "codex",
    source: "codex:log",
    homes: |host| vec![codex_home(host)],
    below: &[".codex"],
    folders: &["sessions", "archived_sessions"],
    file,
    skim: |file, saved| Box::new(scanner::RolloutScanner::new(file, saved)),
    // Usage of another thread is not reported again, so the reply's position in its own thread is enough.
    key: |thread, reply, _, _| format!("codex:{thread}:{reply}"),
    root: no_workspace_root,
    kept_days: None,
};

#[derive(Default)]
pub struct RolloutReader {
    pub(super) account: RolloutUsageTracker,
    pub(super) said: MessageDeduplicator,
    pub(super) turns: RolloutTurns,
}

impl RecordReader for RolloutReader {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let Some(line) = RolloutRecord::parse(&mut JsonWalker::new(record.raw_text())) else { return };
        recorder.set_record_time(line.at);
        match line.kind.as_ref() {
            "session_meta" => self.read_session_meta(&line, recorder),
            "turn_context" => self.read_turn_context(&line, recorder),
            "response_item" => self.read_item(&line, recorder),
            "event_msg" => self.read_event(&line, recorder),
            "token_usage_record" => {
                let reply = self.account.count_record(&line.fields, line.at);
                self.report_usage(reply, &line, recorder);
            }
            "compacted" => {
                let notice = Notice::new(Topic::Compaction).with_name("compacted");
                recorder.write_notice(Notice { text: line.fields.get_non_empty("message"), ..notice });
            }
            "inter_agent_communication" => {
                let text = line.fields.get_non_empty("content").or_else(|| line.fields.get_non_empty("message"));
                recorder.write_notice(Notice { text, ..Notice::new(Topic::Task).with_name(line.kind.as_ref()) });
            }
            _ => {}
        }
        recorder.write_notice_if_no_event(fallback_notice(&line));
    }

    /// A line that is not JSON is incomplete: the process was killed while writing, or the disk was full.
    fn read_text(&mut self, _: Dir, _: &str, recorder: &mut RunRecorder) {
        recorder.write_notice(
            Notice::new(Topic::Unknown).with_level(Level::Warning).with_text("a record that cannot be read"),
        );
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        self.turns.finish_file(recorder);
    }
}

/// Notice for a record without an event.
fn fallback_notice(line: &RolloutRecord<'_>) -> Notice {
    let topic = if line.is_known() { Topic::Control } else { Topic::Unknown };
    Notice::new(topic).with_name(line.record_name())
}

impl RolloutReader {
    /// Reads `session_meta`. Only the first is the file's own: a copied history brings those of the threads it comes
    /// from.
    fn read_session_meta(&mut self, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let meta = &line.fields;
        if !self.account.read_session_meta(meta, line.at) {
            return;
        }
        if let Some(from) = meta.get_non_empty("forked_from_id") {
            recorder.set_resumed_from(Id::from(from));
        }
        recorder.set_agent_session(&meta.get_str("id").unwrap_or_default());
        recorder.update_info(Info {
            cwd: meta.get_non_empty("cwd"),
            provider: meta.get_non_empty("model_provider"),
            version: meta.get_non_empty("cli_version"),
            ..Info::default()
        });
    }

    /// Reads `turn_context`: the model and the working directory of the following records.
    fn read_turn_context(&mut self, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let turn = line.fields.get_non_empty("turn_id");
        if turn.is_some() {
            self.account.enter_turn(turn.as_deref(), line.at);
        }
        recorder.update_info(Info {
            cwd: line.fields.get_non_empty("cwd"),
            model: line.fields.get_non_empty("model"),
            ..Info::default()
        });
    }

    /// Reports the usage of a reply. Usage of another thread is counted there.
    fn report_usage(
        &mut self,
        reply: Result<Option<usage::ReplyUsage>, usage::InvalidTokenCounts>,
        line: &RolloutRecord<'_>,
        recorder: &mut RunRecorder,
    ) {
        match reply {
            Ok(Some(reply)) => {
                let name = self.turns.finish_reply(recorder);
                if !reply.copied {
                    let usage = reply.used.build_usage(recorder.current_model());
                    recorder.record_usage(switchboard_event::Usage { key: Some(name), ..usage });
                }
            }
            Ok(None) => {}
            Err(wrong) => {
                let notice = Notice::new(Topic::Unknown).with_level(Level::Warning).with_name(line.record_name());
                recorder.write_notice(notice.with_text(wrong.to_string()));
            }
        }
    }

    /// Reads `token_count`.
    pub(super) fn read_token_count(&mut self, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let info = line.fields.get_object("info");
        let reply = self.account.count_total(&info, line.at);
        self.report_usage(reply, line, recorder);
        if let Some((used, size)) = context_usage(&info) {
            recorder.update_info(Info { context: Some(Context { used, size }), ..Info::default() });
        }
    }
}

/// Returns the size of the context: the tokens of the last call, and the limit.
pub fn context_usage(info: &crate::JsonObject<'_>) -> Option<(Option<u64>, Option<u64>)> {
    let used = info.get_object("last_token_usage").get_u64("total_tokens").filter(|used| *used > 0);
    let size = info.get_u64("model_context_window");
    (used.is_some() || size.is_some()).then_some((used, size))
}

/// Recognizes `sessions/YYYY/MM/DD/rollout-TIME-THREAD.jsonl`, the same with `.zst` once it is cold,
/// `archived_sessions/` without subdirectories, and the `rollout-*.json` of 2025. Other programs write rollouts here
/// too, under different names.
fn file(path: &Path) -> Option<LogFile> {
    let mut parts = path.components();
    let archived = match parts.next()? {
        Component::Normal(folder) if folder == "sessions" => false,
        Component::Normal(folder) if folder == "archived_sessions" => true,
        _ => return None,
    };
    let name = path.file_name()?.to_str()?;
    let (stem, ending) = name.split_once(".json").filter(|(stem, _)| !stem.is_empty())?;
    let (form, packed) = match ending {
        "" if stem.starts_with("rollout-") => (LogFormat::Document(split_document), 0),
        "l" => (LogFormat::Lines, 0),
        "l.zst" => (LogFormat::Compressed, 1),
        _ => return None,
    };
    // A name without a thread id may be shared by several threads.
    let session = stem.len().checked_sub(36).and_then(|at| stem.get(at..)).filter(|id| is_uuid(id));
    let twin = session.map(|_| (stem.to_owned(), packed + 2 * u8::from(archived)));
    Some(LogFile { form, archived, twin, ..LogFile::line_log(session.map(str::to_owned)) })
}

#[cfg(test)]
mod unit_tests {

    use std::path::Path;

    use super::file;
    use crate::LogFormat;

    const ROLLOUT_STEM: &str = "rollout-2026-11-15T19-22-38-01a1e0a9-5f4e-7ce0-a9bb-fba447950f56";

    fn check_log_file(path: &str, form: &str, rank: u8) {
        let found = file(Path::new(path)).unwrap_or_else(|| panic!("{path}"));
        let name = match found.form {
            LogFormat::Lines => "lines",
            LogFormat::Compressed => "compressed",
            LogFormat::Document(_) => "document",
            _ => "other",
        };
        assert_eq!((name, found.twin.as_ref().map(|twin| twin.1)), (form, Some(rank)), "{path}");
        assert_eq!(found.twin.map(|twin| twin.0).as_deref(), Some(ROLLOUT_STEM));
        assert_eq!(found.session.as_deref(), Some("01a1e0a9-5f4e-7ce0-a9bb-fba447950f56"));
        assert_eq!(found.archived, path.starts_with("archived"));
    }

    #[test]
    fn the_copy_that_is_in_use_comes_first() {
        check_log_file(&format!("sessions/2026/11/15/{ROLLOUT_STEM}.jsonl"), "lines", 0);
        check_log_file(&format!("sessions/2026/11/15/{ROLLOUT_STEM}.jsonl.zst"), "compressed", 1);
        check_log_file(&format!("archived_sessions/{ROLLOUT_STEM}.jsonl"), "lines", 2);
        check_log_file(&format!("archived_sessions/{ROLLOUT_STEM}.jsonl.zst"), "compressed", 3);
        check_log_file(&format!("sessions/{ROLLOUT_STEM}.json"), "document", 0);
    }

    #[test]
    fn other_files_are_no_logs() {
        let other = ["history.jsonl", "sessions/notes.json", "sessions/rollout-x.jsonl.tmp", "log/rollout-x.jsonl"];
        assert!(other.into_iter().all(|path| file(Path::new(path)).is_none()));
        assert!(
            file(Path::new("sessions/rollout-x.jsonl"))
                .is_some_and(|file| file.session.is_none() && file.twin.is_none())
        );
    }
}
