//! Converts a rollout to events, record by record. Content that Codex writes twice produces one item; the second record
//! is reported as an echo.

use switchboard_event::{Context, Dir, Id, Info, Level, Notice, Topic};

use super::{account::RolloutUsageTracker, line::RolloutRecord, said::MessageDeduplicator, turns::RolloutTurns};
use crate::{JsonView, RecordReader, RunRecorder, walk::JsonWalker};

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
    pub(super) fn report_usage(
        &mut self,
        reply: Result<Option<super::account::ReplyUsage>, super::account::InvalidTokenCounts>,
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
