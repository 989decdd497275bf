//! `user`: what Claude was told, and, under the same name, what its tools gave back.

use switchboard_event::{
    Content, ContentType, Details, FileChange, Id, Item, Notice, Origin, Topic, TurnStarted, UserMessage,
};

use super::{
    assistant::piece,
    errors,
    live::{Live, written},
    results,
    stream::blocks,
};
use crate::{Json, Object, Scribe};

impl Live {
    /// `user` on its way to Claude: a prompt.
    pub(super) fn prompted(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let content = said(fields);
        let text = text_of(&content);
        // Stored without being asked about: Claude answers with an empty result at once.
        let queued = scribe.in_turn();
        let id = fields.filled("uuid").map(Id::from).unwrap_or_else(|| self.make_up("prompt", scribe));
        if queued {
            self.waiting.push(&id, text);
        } else {
            self.begin_turn(Origin::Prompt, Some(text), scribe);
        }
        scribe.item_completed(&id, Item::new(UserMessage { content, synthetic: false, queued }));
    }

    /// `user` from Claude.
    pub(super) fn user(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        // An echo has the time at which we spoke, which may be long past.
        if !fields.is_true("isReplay") {
            scribe.happened(written(fields));
        }
        let sub = self.place(fields, scribe);
        let message = fields.object("message");
        let results: Vec<_> = blocks(message.get("content"))
            .into_iter()
            .map(Json::object)
            .filter(|block| block.is("type", "tool_result"))
            .collect();
        if !results.is_empty() && !sub && !scribe.is_interrupted() {
            self.waiting.results();
        }
        for block in &results {
            self.tool_result(block, fields, scribe);
        }
        if results.is_empty() {
            self.user_text(fields, sub, scribe);
        }
    }

    fn user_text(&mut self, fields: &Object<'_>, sub: bool, scribe: &mut Scribe) {
        let content = said(fields);
        let text = text_of(&content);
        if text.starts_with("[Request interrupted by user") {
            scribe.interrupted();
            return scribe.notice(Notice::new(Topic::Interrupt).with_text(text));
        }
        // With `--replay-user-messages` our own words come back; so does what local commands print.
        let echo = fields.is_true("isReplay") && (self.knows(&text, scribe) || text.starts_with("<local-command"));
        if echo {
            return scribe.notice(Notice::new(Topic::Echo).with_text(text));
        }
        let synthetic = sub || fields.is_true("isSynthetic") || fields.has("origin");
        let id = fields.filled("uuid").map(Id::from).unwrap_or_else(|| self.make_up("message", scribe));
        scribe.item_completed(&id, Item::new(UserMessage { content, synthetic, queued: false }));
    }

    /// We sent this text ourselves.
    fn knows(&self, text: &str, scribe: &Scribe) -> bool {
        self.books.prompt.as_deref() == Some(text)
            || self.waiting.contains(text)
            || scribe.start().prompt.as_deref() == Some(text)
    }

    fn tool_result(&mut self, block: &Object<'_>, fields: &Object<'_>, scribe: &mut Scribe) {
        let id = block.str("tool_use_id").unwrap_or_default();
        let structured = fields.get("tool_use_result");
        let refused = errors::is_refused(fields, &id).or(self.asks.was_denied(&id).then_some(true));
        let Some(item) = scribe.item(&id).cloned() else {
            return scribe.notice(Notice::new(Topic::Late).with_name("tool_result"));
        };
        let mut item = results::of_tool(item, block, structured, refused, scribe);
        let (reply, is_command) = (item.reply.clone(), matches!(item.details, Details::Command(_)));
        if let Details::Plan(plan) = &mut item.details {
            let call = item.call.as_deref();
            self.todos.learn(call, structured, plan);
        }
        let id = Id::from(id);
        scribe.item_completed(&id, item);
        if is_command {
            complete_changed_files(&id, reply, structured, scribe);
        }
    }

    /// Begins a turn.
    pub(super) fn begin_turn(&mut self, origin: Origin, prompt: Option<String>, scribe: &mut Scribe) {
        self.books.begin(prompt.clone());
        self.forget_turn();
        scribe.turn_started(TurnStarted { origin, prompt, agent_turn: None });
        self.books.count_early_replies(scribe);
    }

    /// Begins a turn if none is open: Claude works, and did not say why.
    pub(super) fn ensure_turn(&mut self, scribe: &mut Scribe) {
        if scribe.in_turn() {
            return;
        }
        if let Some(prompt) = self.waiting.next() {
            return self.begin_turn(Origin::Prompt, Some(prompt), scribe);
        }
        // A task that only reports, such as a monitor's, begins turns as one that ends does.
        let is_background = self.woken || self.is_one_shot || scribe.turns() > 0 && self.tasks.is_any_running();
        let origin = if is_background { Origin::Background } else { Origin::Prompt };
        let prompt = scribe.start().prompt.clone().filter(|_| scribe.turns() == 0);
        self.begin_turn(origin, prompt, scribe);
    }
}

/// The files that a command changed are an item of their own, below none: the command is what was called.
pub fn complete_changed_files(call: &Id, reply: Option<Id>, structured: Option<Json<'_>>, scribe: &mut Scribe) {
    let changes = results::changed_by_command(structured, scribe);
    if !changes.is_empty() {
        let change = Item::new(FileChange { changes, output: None });
        scribe.item_completed(&Id::from(format!("{call}.files")), Item { reply, ..change });
    }
}

/// What a `user` record says: text, or blocks of text and images.
pub fn said(fields: &Object<'_>) -> Vec<Content> {
    contents(fields.object("message").get("content"))
}

/// The same of a message's content alone.
pub fn contents(content: Option<Json<'_>>) -> Vec<Content> {
    if let Some(text) = content.and_then(Json::str) {
        return vec![Content::text(text)];
    }
    let other = |block: Json<'_>| Content {
        kind: ContentType::Other,
        text: Some(block.text().to_owned()),
        ..Content::default()
    };
    blocks(content).into_iter().map(|block| piece(&block.object()).unwrap_or_else(|| other(block))).collect()
}

/// The text of a message.
pub fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter(|c| c.kind == ContentType::Text).filter_map(|c| c.text.as_deref());
    texts.collect::<Vec<_>>().join("\n")
}
