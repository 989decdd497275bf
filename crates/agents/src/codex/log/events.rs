//! `event_msg`: what Codex tells whoever watches, as far as it is written down.

use switchboard_event::{Info, Level, Notice, Topic};

use super::{super::errors, ends, line::Line, reader::Log};
use crate::Scribe;

impl Log {
    /// One event, by its name.
    pub(super) fn event(&mut self, line: &Line<'_>, scribe: &mut Scribe) {
        let (fields, what) = (&line.fields, line.what());
        match &*what {
            "token_count" => self.counted(line, scribe),
            "task_started" | "turn_started" => {
                self.account.turn(fields.filled("turn_id").as_deref(), line.at);
                self.turns.began(fields, self.account.is_copied(line.at), scribe);
            }
            "task_complete" | "turn_complete" => self.turns.ended(false, fields, scribe),
            "turn_aborted" => self.turns.ended(true, fields, scribe),
            "item_completed" => self.completed(line, scribe),
            "user_message" => self.speech(&what, line, scribe),
            "agent_message" | "agent_reasoning" | "agent_reasoning_raw_content" => {
                self.account.spoke();
                self.speech(&what, line, scribe);
            }
            "thread_settings_applied" => {
                let settings = fields.object("thread_settings");
                scribe.info(Info { cwd: settings.filled("cwd"), model: settings.filled("model"), ..Info::default() });
            }
            "thread_name_updated" => scribe.info(Info { title: fields.filled("thread_name"), ..Info::default() }),
            "context_compacted" => scribe.notice(Notice::new(Topic::Compaction).with_name(what)),
            "thread_rolled_back" => {
                let turns = fields.count("num_turns");
                scribe.notice(
                    Notice::new(Topic::Retracted).with_name(what).with_text(format!("{turns} turns taken back")),
                );
            }
            "error" | "stream_error" | "warning" => {
                let fault = errors::from_turn(fields);
                let level = if what == "error" { Level::Error } else { Level::Warning };
                let notice = Notice::new(Topic::Warning).with_level(level).with_name(what);
                scribe.notice(Notice { error: Some(fault.clone()), ..notice.with_text(fault.message) });
            }
            other => self.ended(ends::ended(other, line.payload), line, scribe),
        }
    }
}
