//! Item notifications: start, updates and completion.

use std::borrow::Cow;

use switchboard_event::{Details, Field, Id, Info, Item, Level, Notice, SessionStatus, Status, Topic};

use super::{AppServerReader, control_notice, turns::ItemPlacement};
use crate::{
    JsonObject, JsonView, RunRecorder,
    codex::{items, tool_calls},
};

/// Maximum number of reasoning items that are tracked at once.
const MAX_OPEN_REASONING_PARTS: usize = 64;

/// Reasoning arrives in parts. Holds the part in progress for each open item and field.
#[derive(Default)]
pub struct ReasoningParts(Vec<(Id, Field, u32)>);

impl ReasoningParts {
    /// Continues the text in the given part. Returns true if that part is later than the previous one.
    fn advance_part(&mut self, id: &Id, field: Field, part: u32) -> bool {
        match self.0.iter_mut().find(|(known, of, _)| known == id && *of == field) {
            Some((_, _, last)) => std::mem::replace(last, part.max(*last)) < part,
            None => {
                if self.0.len() >= MAX_OPEN_REASONING_PARTS {
                    self.0.remove(0);
                }
                self.0.push((id.clone(), field, part));
                false
            }
        }
    }

    fn forget_item(&mut self, id: &Id) {
        self.0.retain(|(known, ..)| known != id);
    }
}

impl AppServerReader {
    /// Reads a notification about an item.
    pub(super) fn read_item(&mut self, method: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let place = self.locate_item(params, recorder);
        let native = params.get("item");
        let named =
            native.and_then(|item| item.as_object().get_non_empty("id")).or_else(|| params.get_non_empty("itemId"));
        let id = named.map_or_else(|| recorder.local_id("item"), Id::from);
        match (method, native) {
            ("item/started", Some(native)) if place != ItemPlacement::Past => {
                self.start_item(&id, native, place, recorder)
            }
            ("item/completed", Some(native)) if !self.is_late(&id, place, recorder) => {
                self.complete_item(&id, native, place, recorder);
            }
            ("item/autoApprovalReview/started" | "item/autoApprovalReview/completed", _) => {
                report_auto_review(method, params, recorder);
            }
            (_, None) if recorder.item_is_open(&id) => self.read_item_update(&id, method, params, recorder),
            // The item is over or unknown.
            _ => recorder
                .write_notice_about(Some(id), Notice::new(Topic::Late).with_level(Level::Debug).with_name(method)),
        }
    }

    /// An interrupted command can still report its end after the end of its turn.
    fn is_late(&self, id: &Id, place: ItemPlacement, recorder: &RunRecorder) -> bool {
        place == ItemPlacement::Past || (self.turns.was_cut_off(id) && !recorder.item_is_open(id))
    }

    fn start_item(&mut self, id: &Id, native: JsonView<'_>, place: ItemPlacement, recorder: &mut RunRecorder) {
        let fields = native.as_object();
        let kind = fields.get_str("type").unwrap_or_default();
        if is_event_item(&kind) {
            return report_event_item(id, &kind, &fields, "started", recorder);
        }
        self.turns.clear_cut_off(id);
        // A restarted reply reuses its id (0.166).
        if let Some(Details::AgentMessage(_) | Details::Reasoning(_)) = recorder.open_item(id).map(|item| &item.details)
        {
            recorder.item_closed(id, Status::Superseded);
            self.parts.forget_item(id);
        }
        let mut item = items::parse_item(&kind, native, recorder.open_item(id), recorder);
        (item.status, item.duration_ms) = (Status::Running, None);
        self.mark_user_message(&mut item, place);
        self.assign_reply(&mut item, place);
        self.threads.track_spawn(id, &fields, false);
        recorder.item_started(id, item);
    }

    fn complete_item(&mut self, id: &Id, native: JsonView<'_>, place: ItemPlacement, recorder: &mut RunRecorder) {
        let fields = native.as_object();
        let kind = fields.get_str("type").unwrap_or_default();
        if is_event_item(&kind) {
            return report_event_item(id, &kind, &fields, "completed", recorder);
        }
        let open = recorder.item_is_open(id);
        let mut item = items::parse_item(&kind, native, recorder.open_item(id), recorder);
        if !open {
            self.mark_user_message(&mut item, place);
            self.assign_reply(&mut item, place);
        }
        if item.status == Status::Running {
            item.status = Status::Completed;
        }
        if place == ItemPlacement::Turn && matches!(item.details, Details::AgentMessage(_)) {
            self.turns.message = Some(id.clone());
        }
        self.threads.track_spawn(id, &fields, true);
        if tool_calls::is_spawn_call(&fields) {
            self.threads.register_children(&tool_calls::receiver_threads(&fields), id, recorder);
        }
        self.parts.forget_item(id);
        recorder.item_completed(id, item);
    }

    /// Attributes model output to the current reply.
    fn assign_reply(&self, item: &mut Item, place: ItemPlacement) {
        if place == ItemPlacement::Turn && !matches!(item.details, Details::UserMessage(_)) {
            item.reply = self.turns.current_reply();
        }
    }

    /// Messages to a running turn were queued; messages to a subagent are synthetic.
    fn mark_user_message(&mut self, item: &mut Item, place: ItemPlacement) {
        let Details::UserMessage(message) = &mut item.details else { return };
        if place == ItemPlacement::Child {
            message.synthetic = true;
        } else if !message.synthetic {
            message.queued = std::mem::replace(&mut self.turns.prompted, true);
        }
    }

    fn read_item_update(&mut self, id: &Id, method: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let delta = params.get_str("delta").unwrap_or_default();
        let append = |field, recorder: &mut RunRecorder| {
            recorder.item_append(id, field, 0, &delta);
        };
        match method {
            "item/agentMessage/delta" | "item/plan/delta" => append(Field::Text, recorder),
            // The first chunk can be missing (0.166); the completed item has the whole output.
            "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => append(Field::Output, recorder),
            "item/reasoning/summaryTextDelta" => {
                self.append_reasoning(id, Field::Summary, params.get_u64("summaryIndex"), &delta, recorder)
            }
            "item/reasoning/summaryPartAdded" => {
                self.append_reasoning(id, Field::Summary, params.get_u64("summaryIndex"), "", recorder)
            }
            "item/reasoning/textDelta" => {
                self.append_reasoning(id, Field::Text, params.get_u64("contentIndex"), &delta, recorder)
            }
            "item/fileChange/patchUpdated" => update_patch(id, params, recorder),
            "item/mcpToolCall/progress" => {
                recorder.item_progress(id, None, None, params.get_non_empty("message"));
            }
            "item/commandExecution/terminalInteraction" => {
                let notice = Notice::new(Topic::Status).with_level(Level::Debug).with_name(method);
                recorder.write_notice_about(
                    Some(id.clone()),
                    notice.with_text(params.get_str("stdin").unwrap_or_default()),
                );
            }
            _ => {}
        }
    }

    /// Joins parts with newlines, in the deltas as well as in the whole text.
    fn append_reasoning(&mut self, id: &Id, field: Field, part: Option<u64>, delta: &str, recorder: &mut RunRecorder) {
        let part = part.and_then(|part| part.try_into().ok()).unwrap_or(0);
        let text = match self.parts.advance_part(id, field, part) {
            true => Cow::Owned(format!("\n{delta}")),
            false => Cow::Borrowed(delta),
        };
        if text.is_empty() {
            return recorder.write_notice_about(Some(id.clone()), control_notice("item/reasoning/summaryPartAdded"));
        }
        recorder.item_append(id, field, part, &text);
    }
}

fn update_patch(id: &Id, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let Some(mut item) = recorder.open_item(id).cloned() else { return };
    if let Details::FileChange(change) = &mut item.details {
        change.changes = items::parse_changes(&params.get_array("changes"), recorder);
    }
    recorder.item_set(id, item);
}

/// Returns whether the item stands for an event rather than for a message or a tool call.
fn is_event_item(kind: &str) -> bool {
    matches!(kind, "contextCompaction" | "enteredReviewMode" | "exitedReviewMode")
}

fn report_event_item(id: &Id, kind: &str, fields: &JsonObject<'_>, stage: &str, recorder: &mut RunRecorder) {
    let compaction = kind == "contextCompaction";
    let notice = Notice::new(if compaction { Topic::Compaction } else { Topic::Status }).with_name(kind);
    let text = fields.get_non_empty("review");
    recorder.write_notice_about(Some(id.clone()), Notice { text, ..notice.with_status(stage) });
    if compaction {
        let status = if stage == "started" { SessionStatus::Compacting } else { SessionStatus::Running };
        recorder.update_info(Info { status: Some(status), ..Info::default() });
    }
}

/// Reports an automatic review, which decides in the user's place.
fn report_auto_review(method: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let review = params.get_object("review");
    let notice = Notice::new(Topic::Status).with_name(method).with_status(review.get_str("status").unwrap_or_default());
    let about = params.get_non_empty("targetItemId").map(Id::from);
    recorder.write_notice_about(about, Notice { text: review.get_non_empty("rationale"), ..notice });
}
