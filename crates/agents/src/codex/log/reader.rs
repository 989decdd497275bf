//! A rollout as events, record by record. What is told in two ways is told once: the second is an echo.

use switchboard_event::{Context, Dir, Id, Info, Level, Notice, Topic};

use super::{account::Account, line::Line, said::Said, turns::Turns};
use crate::{Json, Reader, Scribe, walk::Walk};

/// Reads one rollout.
#[derive(Default)]
pub struct Log {
    pub(super) account: Account,
    pub(super) said: Said,
    pub(super) turns: Turns,
}

impl Reader for Log {
    fn tells_time(&self) -> bool {
        true
    }

    fn read(&mut self, _: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let Some(line) = Line::of(&mut Walk::new(record.text())) else { return };
        scribe.happened(line.at);
        match line.kind.as_ref() {
            "session_meta" => self.session(&line, scribe),
            "turn_context" => self.context(&line, scribe),
            "response_item" => self.item(&line, scribe),
            "event_msg" => self.event(&line, scribe),
            "token_usage_record" => {
                let reply = self.account.record(&line.fields, line.at);
                self.used(reply, &line, scribe);
            }
            "compacted" => {
                let notice = Notice::new(Topic::Compaction).with_name("compacted");
                scribe.notice(Notice { text: line.fields.filled("message"), ..notice });
            }
            "inter_agent_communication" => {
                let text = line.fields.filled("content").or_else(|| line.fields.filled("message"));
                scribe.notice(Notice { text, ..Notice::new(Topic::Task).with_name(line.kind.as_ref()) });
            }
            _ => {}
        }
        scribe.otherwise(kept(&line));
    }

    /// A line that is no JSON was torn: the process was killed while it wrote, or the disk was full.
    fn text(&mut self, _: Dir, _: &str, scribe: &mut Scribe) {
        scribe.notice(Notice::new(Topic::Unknown).with_level(Level::Warning).with_text("a record that cannot be read"));
    }

    fn end(&mut self, scribe: &mut Scribe) {
        self.turns.over(scribe);
    }
}

/// What has no event of its own is kept under its name.
fn kept(line: &Line<'_>) -> Notice {
    let topic = if line.is_known() { Topic::Control } else { Topic::Unknown };
    Notice::new(topic).with_name(line.name())
}

impl Log {
    /// `session_meta`. Only the first is the file's own: a copied history brings those of the threads it comes from.
    fn session(&mut self, line: &Line<'_>, scribe: &mut Scribe) {
        let meta = &line.fields;
        if !self.account.session(meta, line.at) {
            return;
        }
        if let Some(from) = meta.filled("forked_from_id") {
            scribe.resumed(Id::from(from));
        }
        scribe.identify(&meta.str("id").unwrap_or_default());
        scribe.info(Info {
            cwd: meta.filled("cwd"),
            provider: meta.filled("model_provider"),
            version: meta.filled("cli_version"),
            ..Info::default()
        });
    }

    /// `turn_context`: the model and the folder of what follows.
    fn context(&mut self, line: &Line<'_>, scribe: &mut Scribe) {
        let turn = line.fields.filled("turn_id");
        if turn.is_some() {
            self.account.turn(turn.as_deref(), line.at);
        }
        scribe.info(Info { cwd: line.fields.filled("cwd"), model: line.fields.filled("model"), ..Info::default() });
    }

    /// Tokens of a reply. What another thread used is counted there.
    pub(super) fn used(
        &mut self,
        reply: Result<Option<super::account::Reply>, super::account::NoNumbers>,
        line: &Line<'_>,
        scribe: &mut Scribe,
    ) {
        match reply {
            Ok(Some(reply)) => {
                let name = self.turns.counted(scribe);
                if !reply.copied {
                    let usage = reply.used.usage(scribe.model());
                    scribe.usage(switchboard_event::Usage { key: Some(name), ..usage });
                }
            }
            Ok(None) => {}
            Err(wrong) => {
                let notice = Notice::new(Topic::Unknown).with_level(Level::Warning).with_name(line.name());
                scribe.notice(notice.with_text(wrong.to_string()));
            }
        }
    }

    /// `token_count`.
    pub(super) fn counted(&mut self, line: &Line<'_>, scribe: &mut Scribe) {
        let info = line.fields.object("info");
        let reply = self.account.total(&info, line.at);
        self.used(reply, line, scribe);
        if let Some((used, size)) = context(&info) {
            scribe.info(Info { context: Some(Context { used, size }), ..Info::default() });
        }
    }
}

/// How full the context is: what the last call had before it, and what fits.
pub fn context(info: &crate::Object<'_>) -> Option<(Option<u64>, Option<u64>)> {
    let used = info.object("last_token_usage").u64("total_tokens").filter(|used| *used > 0);
    let size = info.u64("model_context_window");
    (used.is_some() || size.is_some()).then_some((used, size))
}
