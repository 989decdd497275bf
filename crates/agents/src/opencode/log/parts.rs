//! Parts of messages: what was said, thought and done.

use switchboard_event::{AgentMessage, Call, Content, Id, Item, Level, Notice, Status, Tool, Topic, UserMessage};

use super::{Log, Row, messages::echo, time, unknown};
use crate::{
    Object, Scribe,
    opencode::{
        errors, prompts,
        speech::{self, Voice},
        state::{Phase, State},
        steps, tools, wire,
    },
};

impl Log {
    pub(super) fn part(&mut self, row: &Row<'_>, scribe: &mut Scribe) {
        let id = Id::from(&*row.id);
        if row.message().is_some_and(|message| message != *self.message.id) {
            // Its message is not there.
            scribe.before(|scribe| self.tell_usage(scribe));
            self.message = super::Message { id: row.message().map(Id::from).unwrap_or_default(), ..Default::default() };
        }
        if self.message.known || !self.known.insert(row.id.to_string()) {
            return scribe.notice(echo("part"));
        }
        let (own, tool) = (row.data.object("time"), row.data.object("state").object("time"));
        // The rows of a copied session are younger than what they hold: a part without a time of its own happened with
        // the one before.
        let row_made = row.columns.get("time_created").filter(|_| !self.message.is_dated);
        scribe.happened(own.get("start").or_else(|| tool.get("start")).or(row_made).and_then(time));
        match self.message.user {
            true => user_part(&id, &row.data, scribe),
            false => self.agent_part(&id, &row.data, scribe),
        }
    }

    fn agent_part(&mut self, id: &Id, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        match fields.str("type").as_deref() {
            Some("text") if self.message.summary => scribe.notice(summary(fields.filled("text"))),
            Some("text") => self.say(id, Voice::Answer, fields, scribe),
            Some("reasoning") => self.say(id, Voice::Thought, fields, scribe),
            Some("tool") => self.tool(id, &State::of_part(fields), scribe),
            Some("step-start") => scribe.notice(steps::started()),
            Some("step-finish") => {
                scribe.notice(steps::finished(fields));
                self.count_step(fields);
            }
            Some(kind @ ("patch" | "snapshot")) => scribe.notice(snapshot(kind, fields)),
            Some("retry") => scribe.notice(retry(fields)),
            Some("compaction") => scribe.notice(compaction(fields)),
            Some("file") => {
                let shown = AgentMessage { content: vec![prompts::file(fields)], ..AgentMessage::default() };
                let reply = Some(self.reply());
                scribe.item_completed(id, Item { reply, ..Item::new(shown) });
            }
            other => scribe.notice(unknown(other.unwrap_or("part"))),
        }
    }

    fn say(&self, id: &Id, voice: Voice, fields: &Object<'_>, scribe: &mut Scribe) {
        let text = fields.str("text").unwrap_or_default();
        let (reply, took) = (self.reply(), wire::took(&fields.object("time")));
        if !self.message.undone {
            return speech::end(id, voice, &text, Some(&reply), took, scribe);
        }
        let item = Item { reply: Some(reply), ..Item::new(AgentMessage::text(text)) };
        scribe.item_completed(id, item.with_status(Status::Superseded));
    }

    /// A call as far as it got. One that was never over ends with its turn.
    pub(super) fn tool(&mut self, id: &Id, state: &State<'_>, scribe: &mut Scribe) {
        if scribe.is_brief() {
            let call = Call { name: state.tool.clone().into_owned(), ..Call::default() };
            let item = Item { reply: Some(self.reply()), ..Item::new(Tool::default()).with_call(call) };
            scribe.item_started(id, item.clone());
            return scribe.item_completed(id, item);
        }
        let item = tools::item(state, None, &[], scribe);
        let item = Item { reply: Some(self.reply()), ..item };
        match state.phase {
            Phase::Completed | Phase::Failed => {
                let ended = tools::ended(item.clone(), state);
                scribe.item_started(id, without_end(item));
                scribe.item_completed(id, ended);
            }
            Phase::Pending | Phase::Running => scribe.item_started(id, item),
        }
    }
}

/// The call as it was made.
fn without_end(mut item: Item) -> Item {
    if let switchboard_event::Details::Command(command) = &mut item.details {
        command.exit_code = None;
    }
    item
}

/// A prompt, what goes with it, and what OpenCode adds of its own.
fn user_part(id: &Id, part: &Object<'_>, scribe: &mut Scribe) {
    let said = |content: Content, synthetic: bool, scribe: &mut Scribe| {
        let message = UserMessage { content: vec![content], synthetic, queued: false };
        scribe.item_completed(id, Item::new(message));
    };
    match part.str("type").as_deref() {
        Some("text") if part.is_true("ignored") => scribe.notice(echo("ignored")),
        Some("text") => {
            let text = Content::text(part.string("text").unwrap_or_default());
            said(text, part.is_true("synthetic"), scribe);
        }
        Some("file") => said(prompts::file(part), true, scribe),
        Some("subtask") => said(Content::text(part.string("prompt").unwrap_or_default()), true, scribe),
        Some("compaction") => scribe.notice(compaction(part)),
        Some("agent") => scribe.notice(echo("agent")),
        other => scribe.notice(unknown(other.unwrap_or("part"))),
    }
}

/// What a compaction leaves.
pub fn summary(text: Option<String>) -> Notice {
    Notice { text, ..Notice::new(Topic::Compaction).with_status("completed") }
}

fn compaction(fields: &Object<'_>) -> Notice {
    let reason = if fields.is_true("auto") { "auto" } else { "manual" };
    Notice::new(Topic::Compaction).with_status("started").with_name(reason)
}

fn snapshot(kind: &str, fields: &Object<'_>) -> Notice {
    let notice = Notice::new(Topic::Snapshot).with_level(Level::Debug).with_name(kind);
    let text = fields.has("files").then(|| format!("snapshot of {} files", fields.array("files").len()));
    Notice { text, detail: fields.raw("files"), ..notice }
}

fn retry(fields: &Object<'_>) -> Notice {
    let fault = fields.get("error").map(errors::fault);
    let notice = Notice::new(Topic::Retry).with_level(Level::Warning);
    Notice { text: fault.as_ref().map(|fault| fault.message.clone()), error: fault, ..notice }
}
