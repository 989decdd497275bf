//! `user`: what Claude was told, and, under the same name, what its tools gave back.

use serde::Serialize;
use switchboard_event::{Content, Id, Item, Notice, Origin, Topic, UserMessage, raw};

use super::{
    super::{errors, results, stream::blocks, user},
    read::Log,
    threads::Thread,
    words::{self, Words},
};
use crate::{Json, Object, Scribe};

impl Log {
    /// `user`.
    pub(super) fn user(&mut self, fields: &Object<'_>, thread: Option<&Thread>, scribe: &mut Scribe) {
        let message = fields.object("message");
        if message.is_empty() {
            return;
        }
        let blocks = blocks(message.get("content"));
        let results: Vec<_> = blocks.iter().map(|block| block.object()).filter(is_result).collect();
        match results.as_slice() {
            [] if fields.has("toolUseResult") => {
                self.place(fields, thread, scribe);
                self.bare_result(fields, scribe);
            }
            [] => self.said(fields, thread, scribe),
            results => {
                self.place(fields, thread, scribe);
                // Beside several results, nobody knows whose the structured one is.
                let structured = fields.get("toolUseResult").filter(|_| results.len() == 1);
                results.iter().for_each(|block| self.result(block, structured, fields, scribe));
                self.beside(&blocks, scribe);
            }
        }
    }

    /// A result that is in `toolUseResult` alone. Its call is the one that is named, else the only one that waits.
    fn bare_result(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let structured = fields.get("toolUseResult");
        let named = ["sourceToolUseID", "toolUseID", "tool_use_id"].iter().find_map(|key| fields.filled(key));
        let waits = |id: &Id| scribe.item(id).is_some_and(|item| item.call.is_some());
        let waiting: Vec<_> = scribe.open_items(None).into_iter().filter(waits).collect();
        let id = named.map(Id::from).or_else(|| (waiting.len() == 1).then(|| waiting[0].clone()));
        let known = id.and_then(|id| Some((scribe.item(&id).cloned()?, id)));
        let said = Some(user::text_of(&user::said(fields))).filter(|text| !text.is_empty());
        let text = said.or_else(|| structured.map(bare_text)).unwrap_or_default();
        let Some((item, id)) = known else {
            return scribe.notice(Notice::new(Topic::Late).with_name("tool_result").with_text(text));
        };
        let is_error = structured.is_some_and(|result| result.str().is_some_and(|text| text.starts_with("Error")));
        let block = raw(&BareResult { content: &text, is_error });
        let item =
            results::of_tool(item, &Json::of(&block).object(), structured, errors::is_refused(fields, &id), scribe);
        self.answered(&id, structured, item, scribe);
    }

    fn result(&mut self, block: &Object<'_>, structured: Option<Json<'_>>, fields: &Object<'_>, scribe: &mut Scribe) {
        let id = Id::from(block.string("tool_use_id").unwrap_or_default());
        let Some(item) = scribe.item(&id).cloned() else {
            // The call is in another log, or in a part that was cut off.
            let text = user::text_of(&user::contents(block.get("content")));
            return scribe.notice_about(Some(id), Notice::new(Topic::Late).with_name("tool_result").with_text(text));
        };
        let item = results::of_tool(item, block, structured, errors::is_refused(fields, &id), scribe);
        self.answered(&id, structured, item, scribe);
    }

    /// What stands beside results was put there by Claude Code.
    fn beside(&mut self, blocks: &[Json<'_>], scribe: &mut Scribe) {
        let others: Vec<_> = blocks.iter().filter(|block| !is_result(&block.object())).collect();
        for block in others {
            let content = user::contents(Json::parse(&format!("[{}]", block.text())));
            let id = self.make_up("beside", scribe);
            scribe.item_completed(&id, Item::new(UserMessage { content, synthetic: true, queued: false }));
        }
    }

    fn said(&mut self, fields: &Object<'_>, thread: Option<&Thread>, scribe: &mut Scribe) {
        let content = user::said(fields);
        let text = user::text_of(&content);
        if thread.is_some() {
            self.ensure_turn(fields, scribe);
            self.place(fields, thread, scribe);
            return self.message(fields, content, true, scribe);
        }
        if fields.is_true("isCompactSummary") {
            self.place(fields, None, scribe);
            return scribe.notice(Notice::new(Topic::Compaction).with_name("summary").with_text(text));
        }
        match words::of(&text) {
            Words::Interrupted => {
                self.place(fields, None, scribe);
                scribe.interrupted();
                scribe.notice(Notice::new(Topic::Interrupt).with_text(text));
            }
            Words::Printed(printed) => {
                self.place(fields, None, scribe);
                scribe.notice(Notice::new(Topic::Stdout).with_name("local_command").with_text(printed));
            }
            _ if is_injected(fields) => self.injected(fields, content, scribe),
            Words::Injected => self.injected(fields, content, scribe),
            Words::Command(command) => {
                self.begin_turn(Origin::Command, Some(command.clone()), fields, scribe);
                self.message(fields, vec![Content::text(command)], false, scribe);
            }
            Words::Prompt => {
                self.begin_turn(Origin::Prompt, Some(text), fields, scribe);
                self.message(fields, content, false, scribe);
            }
        }
    }

    /// Claude Code speaks to the model. News of what went on in the background begin a turn, like a prompt.
    fn injected(&mut self, fields: &Object<'_>, content: Vec<Content>, scribe: &mut Scribe) {
        if fields.object("origin").is("kind", "task-notification") {
            self.begin_turn(Origin::Background, None, fields, scribe);
        }
        self.place(fields, None, scribe);
        self.message(fields, content, true, scribe);
    }

    pub(super) fn message(&mut self, fields: &Object<'_>, content: Vec<Content>, synthetic: bool, scribe: &mut Scribe) {
        let id = fields.filled("uuid").map(Id::from).unwrap_or_else(|| self.make_up("message", scribe));
        scribe.item_completed(&id, Item::new(UserMessage { content, synthetic, queued: false }));
    }
}

/// A result as a block has it.
#[derive(Serialize)]
struct BareResult<'a> {
    content: &'a str,
    is_error: bool,
}

/// The text of a result that has no block: what a command printed, what a file holds, else all of it.
fn bare_text(result: Json<'_>) -> String {
    let fields = result.object();
    let text = ["stdout", "content", "text", "output"].iter().find_map(|key| fields.string(key));
    let text = text.or_else(|| fields.object("file").string("content"));
    text.or_else(|| result.str().map(Into::into)).unwrap_or_else(|| result.text().to_owned())
}

fn is_result(block: &Object<'_>) -> bool {
    block.is("type", "tool_result")
}

/// The record says itself that nobody typed it.
fn is_injected(fields: &Object<'_>) -> bool {
    let origin = fields.object("origin");
    fields.is_true("isMeta")
        || fields.is_true("isVisibleInTranscriptOnly")
        || (fields.has("origin") && !origin.is_empty() && !origin.is("kind", "human"))
}
