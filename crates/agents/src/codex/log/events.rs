//! `event_msg`: the events for user interfaces, as far as rollouts store them.

use switchboard_event::{Info, Level, Notice, Topic};

use super::{ends, line::RolloutRecord, reader::RolloutReader};
use crate::{RunRecorder, codex::errors};

impl RolloutReader {
    pub(super) fn read_event(&mut self, line: &RolloutRecord<'_>, recorder: &mut RunRecorder) {
        let (fields, what) = (&line.fields, line.payload_type());
        match &*what {
            "token_count" => self.read_token_count(line, recorder),
            "task_started" | "turn_started" => {
                self.account.enter_turn(fields.get_non_empty("turn_id").as_deref(), line.at);
                self.turns.start_turn(fields, self.account.is_copied(line.at), recorder);
            }
            "task_complete" | "turn_complete" => self.turns.end_turn(false, fields, recorder),
            "turn_aborted" => self.turns.end_turn(true, fields, recorder),
            "item_completed" => self.read_completed_item(line, recorder),
            "user_message" => self.read_speech_event(&what, line, recorder),
            "agent_message" | "agent_reasoning" | "agent_reasoning_raw_content" => {
                self.account.note_model_output();
                self.read_speech_event(&what, line, recorder);
            }
            "thread_settings_applied" => {
                let settings = fields.get_object("thread_settings");
                recorder.update_info(Info {
                    cwd: settings.get_non_empty("cwd"),
                    model: settings.get_non_empty("model"),
                    ..Info::default()
                });
            }
            "thread_name_updated" => {
                recorder.update_info(Info { title: fields.get_non_empty("thread_name"), ..Info::default() })
            }
            "context_compacted" => recorder.write_notice(Notice::new(Topic::Compaction).with_name(what)),
            "thread_rolled_back" => {
                let turns = fields.get_count("num_turns");
                recorder.write_notice(
                    Notice::new(Topic::Retracted).with_name(what).with_text(format!("{turns} turns taken back")),
                );
            }
            "error" | "stream_error" | "warning" => {
                let fault = errors::from_turn(fields);
                let level = if what == "error" { Level::Error } else { Level::Warning };
                let notice = Notice::new(Topic::Warning).with_level(level).with_name(what);
                recorder.write_notice(Notice { error: Some(fault.clone()), ..notice.with_text(fault.message) });
            }
            other => self.read_tool_end(ends::parse_end_event(other, line.payload), line, recorder),
        }
    }
}
