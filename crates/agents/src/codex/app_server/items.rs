//! The life of items: begun, grown, finished.

use std::borrow::Cow;

use switchboard_event::{Details, Field, Id, Info, Item, Level, Notice, SessionStatus, Status, Topic};

use super::{
    super::{changes, collab, items},
    AppServer,
    turns::Place,
};
use crate::{Json, Object, Scribe};

/// How many thoughts can be open at once.
const LIMIT: usize = 64;

/// Thoughts come in parts. Of each open one, the part that is being written.
#[derive(Default)]
pub struct Parts(Vec<(Id, Field, u32)>);

impl Parts {
    /// The text goes on in this part; true if it is a later one than before.
    fn advance(&mut self, id: &Id, field: Field, part: u32) -> bool {
        match self.0.iter_mut().find(|(known, of, _)| known == id && *of == field) {
            Some((_, _, last)) => std::mem::replace(last, part.max(*last)) < part,
            None => {
                if self.0.len() >= LIMIT {
                    self.0.remove(0);
                }
                self.0.push((id.clone(), field, part));
                false
            }
        }
    }

    fn forget(&mut self, id: &Id) {
        self.0.retain(|(known, ..)| known != id);
    }
}

impl AppServer {
    /// Notifications about items.
    pub(super) fn item(&mut self, method: &str, params: &Object<'_>, scribe: &mut Scribe) {
        let place = self.place(params, scribe);
        let native = params.get("item");
        let named = native.and_then(|item| item.object().filled("id")).or_else(|| params.filled("itemId"));
        let id = named.map_or_else(|| scribe.local_id("item"), Id::from);
        match (method, native) {
            ("item/started", Some(native)) if place != Place::Past => self.begun(&id, native, place, scribe),
            ("item/completed", Some(native)) if !self.is_late(&id, place, scribe) => {
                self.finished(&id, native, place, scribe);
            }
            ("item/autoApprovalReview/started" | "item/autoApprovalReview/completed", _) => {
                review(method, params, scribe);
            }
            (_, None) if scribe.item_is_open(&id) => self.grown(&id, method, params, scribe),
            // News about an item that is over, or of which nothing is known.
            _ => scribe.notice_about(Some(id), Notice::new(Topic::Late).with_level(Level::Debug).with_name(method)),
        }
    }

    /// A command that is interrupted can still report its end after that of its turn.
    fn is_late(&self, id: &Id, place: Place, scribe: &Scribe) -> bool {
        place == Place::Past || (self.turns.is_cut(id) && !scribe.item_is_open(id))
    }

    fn begun(&mut self, id: &Id, native: Json<'_>, place: Place, scribe: &mut Scribe) {
        let fields = native.object();
        let kind = fields.str("type").unwrap_or_default();
        if is_event(&kind) {
            return event(id, &kind, &fields, "started", scribe);
        }
        self.turns.uncut(id);
        // A reply that is begun anew has the same id (0.166).
        if let Some(Details::AgentMessage(_) | Details::Reasoning(_)) = scribe.item(id).map(|item| &item.details) {
            scribe.item_closed(id, Status::Superseded);
            self.parts.forget(id);
        }
        let mut item = items::item(&kind, native, scribe.item(id), scribe);
        (item.status, item.duration_ms) = (Status::Running, None);
        self.heard(&mut item, place);
        self.replied(&mut item, place);
        self.threads.spawn(id, &fields, false);
        scribe.item_started(id, item);
    }

    fn finished(&mut self, id: &Id, native: Json<'_>, place: Place, scribe: &mut Scribe) {
        let fields = native.object();
        let kind = fields.str("type").unwrap_or_default();
        if is_event(&kind) {
            return event(id, &kind, &fields, "completed", scribe);
        }
        let open = scribe.item_is_open(id);
        let mut item = items::item(&kind, native, scribe.item(id), scribe);
        if !open {
            self.heard(&mut item, place);
            self.replied(&mut item, place);
        }
        if item.status == Status::Running {
            item.status = Status::Completed;
        }
        if place == Place::Turn && matches!(item.details, Details::AgentMessage(_)) {
            self.turns.message = Some(id.clone());
        }
        self.threads.spawn(id, &fields, true);
        if collab::is_spawn(&fields) {
            self.threads.expect(&collab::receivers(&fields), id, scribe);
        }
        self.parts.forget(id);
        scribe.item_completed(id, item);
    }

    /// What the model says and does belongs to one of its replies.
    fn replied(&self, item: &mut Item, place: Place) {
        if place == Place::Turn && !matches!(item.details, Details::UserMessage(_)) {
            item.reply = self.turns.reply();
        }
    }

    /// What is said to a running turn was queued; what is said to a subagent, nobody typed.
    fn heard(&mut self, item: &mut Item, place: Place) {
        let Details::UserMessage(message) = &mut item.details else { return };
        if place == Place::Child {
            message.synthetic = true;
        } else if !message.synthetic {
            message.queued = std::mem::replace(&mut self.turns.prompted, true);
        }
    }

    fn grown(&mut self, id: &Id, method: &str, params: &Object<'_>, scribe: &mut Scribe) {
        let delta = params.str("delta").unwrap_or_default();
        let append = |field, scribe: &mut Scribe| {
            scribe.item_append(id, field, 0, &delta);
        };
        match method {
            "item/agentMessage/delta" | "item/plan/delta" => append(Field::Text, scribe),
            // The first piece can be missing (0.166); the end has everything.
            "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => append(Field::Output, scribe),
            "item/reasoning/summaryTextDelta" => {
                self.thought(id, Field::Summary, params.u64("summaryIndex"), &delta, scribe)
            }
            "item/reasoning/summaryPartAdded" => {
                self.thought(id, Field::Summary, params.u64("summaryIndex"), "", scribe)
            }
            "item/reasoning/textDelta" => self.thought(id, Field::Text, params.u64("contentIndex"), &delta, scribe),
            "item/fileChange/patchUpdated" => patched(id, params, scribe),
            "item/mcpToolCall/progress" => {
                scribe.item_progress(id, None, None, params.filled("message"));
            }
            "item/commandExecution/terminalInteraction" => {
                let notice = Notice::new(Topic::Status).with_level(Level::Debug).with_name(method);
                scribe.notice_about(Some(id.clone()), notice.with_text(params.str("stdin").unwrap_or_default()));
            }
            _ => {}
        }
    }

    /// The whole is its parts, one under the other, and so is what is added to it.
    fn thought(&mut self, id: &Id, field: Field, part: Option<u64>, delta: &str, scribe: &mut Scribe) {
        let part = part.and_then(|part| part.try_into().ok()).unwrap_or(0);
        let text = match self.parts.advance(id, field, part) {
            true => Cow::Owned(format!("\n{delta}")),
            false => Cow::Borrowed(delta),
        };
        if text.is_empty() {
            return scribe.notice_about(Some(id.clone()), super::reader::control("item/reasoning/summaryPartAdded"));
        }
        scribe.item_append(id, field, part, &text);
    }
}

fn patched(id: &Id, params: &Object<'_>, scribe: &mut Scribe) {
    let Some(mut item) = scribe.item(id).cloned() else { return };
    if let Details::FileChange(change) = &mut item.details {
        change.changes = changes::list(&params.array("changes"), scribe);
    }
    scribe.item_set(id, item);
}

/// Items that stand for something that happened, not for something that is said or done.
fn is_event(kind: &str) -> bool {
    matches!(kind, "contextCompaction" | "enteredReviewMode" | "exitedReviewMode")
}

fn event(id: &Id, kind: &str, fields: &Object<'_>, stage: &str, scribe: &mut Scribe) {
    let compaction = kind == "contextCompaction";
    let notice = Notice::new(if compaction { Topic::Compaction } else { Topic::Status }).with_name(kind);
    let text = fields.filled("review");
    scribe.notice_about(Some(id.clone()), Notice { text, ..notice.with_status(stage) });
    if compaction {
        let status = if stage == "started" { SessionStatus::Compacting } else { SessionStatus::Running };
        scribe.info(Info { status: Some(status), ..Info::default() });
    }
}

/// An automatic reviewer decides in the user's place.
fn review(method: &str, params: &Object<'_>, scribe: &mut Scribe) {
    let review = params.object("review");
    let notice = Notice::new(Topic::Status).with_name(method).with_status(review.str("status").unwrap_or_default());
    let about = params.filled("targetItemId").map(Id::from);
    scribe.notice_about(about, Notice { text: review.filled("rationale"), ..notice });
}
