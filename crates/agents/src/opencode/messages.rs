//! Messages: their author, the message they reply to, and when they are complete. Their content arrives in parts; those
//! of the user's messages are read here.

use switchboard_event::{
    AgentMessage, Content, ContentType, Details, Id, Info, Item, Notice, Origin, Status, Topic, UserMessage,
    to_raw_json,
};

use super::{bus::BusReader, errors, offers};
use crate::{JsonObject, RunRecorder};

/// State of a message.
pub struct BusMessage {
    /// The author is the user.
    pub user: bool,
    /// It is a summary of the conversation, not an answer.
    pub summary: bool,
    /// The message is older than this stream: copied into a forked session, or complete when first seen.
    pub past: bool,
    /// No further content follows.
    pub complete: bool,
    /// The model that writes the message.
    pub model: Option<String>,
    /// Number of model calls counted for the message.
    pub steps: u32,
}

impl BusMessage {
    pub fn new(info: &JsonObject<'_>, past: bool) -> Self {
        let user = info.str_equals("role", "user");
        let complete = past && info.get_object("time").get_u64("completed").is_some();
        Self {
            user,
            summary: !user && info.is_true("summary"),
            past,
            complete,
            model: info.get_non_empty("modelID"),
            steps: 0,
        }
    }
}

impl BusReader {
    /// `message.updated`: the whole message without its parts.
    pub(super) fn message_updated(&mut self, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = Id::from(info.get_str("id").unwrap_or_default());
        match info.get_str("role").as_deref() {
            Some("user") => self.user_message(&id, info, recorder),
            Some("assistant") => self.assistant_message(&id, info, recorder),
            _ => {}
        }
    }

    fn user_message(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if self.messages.has(id) {
            return;
        }
        let past = self.remember(id, info);
        if self.main && !past {
            self.posted.remove_oldest();
        }
        let model = info.get_object("model");
        if self.main {
            let (model, provider) = (model.get_non_empty("modelID"), model.get_non_empty("providerID"));
            self.report_mode_and_model(
                Info { mode: info.get_non_empty("agent"), model, provider, ..Info::default() },
                recorder,
            );
        }
    }

    /// Reports the mode and the model at work.
    fn report_mode_and_model(&mut self, info: Info, recorder: &mut RunRecorder) {
        self.moded |= info.mode.is_some();
        let model = offers::full(info.provider.clone(), info.model);
        self.offers.set_current_model(model.clone());
        recorder.update_info(Info { model, options: self.offers.options(), ..info });
    }

    /// Remembers a message seen for the first time. Returns whether it is older than this stream.
    fn remember(&mut self, id: &Id, info: &JsonObject<'_>) -> bool {
        let time = info.get_object("time");
        let complete = info.str_equals("role", "assistant") && time.get_u64("completed").is_some();
        let past = complete || self.main && self.sessions.is_copied(time.get_u64("created"));
        self.messages.insert(id.clone(), BusMessage::new(info, past));
        past
    }

    pub(super) fn begin_reply(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let to = info.get_str("parentID").map(Id::from);
        if recorder.in_turn() && self.turn.is_stale(to.as_deref()) {
            self.end_turn(recorder);
        }
        self.turn.start_reply(id.clone(), to, recorder);
    }

    fn assistant_message(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if !self.messages.has(id) && !self.remember(id, info) && self.main {
            self.begin_reply(id, info, recorder);
        }
        if !self.main {
            return self.complete(id, info, recorder);
        }
        if !info.is_true("summary") {
            let (model, provider) = (info.get_non_empty("modelID"), info.get_non_empty("providerID"));
            let (cwd, mode) = (
                info.get_object("path").get_non_empty("cwd"),
                info.get_non_empty("agent").or_else(|| info.get_non_empty("mode")),
            );
            self.report_mode_and_model(Info { cwd, mode, model, provider, ..Info::default() }, recorder);
        }
        if self.turn.awaits(id) {
            if let Some(error) = info.get("error") {
                self.turn.fault = Some(errors::fault(error));
            }
            self.turn.finish = info.get_non_empty("finish").or(self.turn.finish.take());
        }
        self.write_structured_answer(id, info, recorder);
        self.complete(id, info, recorder);
    }

    /// Writes an answer that follows a schema. It is a field of the message, not text of the model.
    fn write_structured_answer(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(answer) = info.get("structured").filter(|_| self.turn.awaits(id)) else { return };
        // The answer was given by a tool call, but it ends the turn.
        self.turn.finish = Some("stop".to_owned());
        let part = Id::from(format!("{id}/structured"));
        if !self.ended.has(&part) {
            let item = Item { reply: Some(id.clone()), ..Item::new(AgentMessage::text(answer.raw_text())) };
            recorder.item_completed(&part, item);
            self.ended.insert(part, ());
        }
    }

    /// Marks a message as complete. No more text follows, but its tools may still report results.
    fn complete(&mut self, id: &Id, info: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if info.get_object("time").get_u64("completed").is_none() {
            return;
        }
        if let Some(message) = self.messages.get_mut(id) {
            message.complete = true;
        }
        for part in self.items_of(id, recorder) {
            if is_speech(&part, recorder) {
                recorder.item_closed(&part, Status::Completed);
                self.ended.insert(part, ());
            }
        }
        if self.main && self.turn.awaits(id) {
            self.turn.complete_reply(id, recorder);
            if self.turn.is_over() {
                self.end_turn_if_idle(recorder);
            }
        }
    }

    /// `message.removed`.
    pub(super) fn message_removed(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.write_notice(retraction_notice("message.removed", fields));
        let message = fields.get_str("messageID").unwrap_or_default();
        for part in self.items_of(&message, recorder) {
            recorder.item_closed(&part, Status::Superseded);
            self.ended.insert(part, ());
        }
    }

    /// `message.part.removed`.
    pub(super) fn part_removed(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let part = Id::from(fields.get_str("partID").unwrap_or_default());
        recorder.write_notice_about(Some(part.clone()), retraction_notice("message.part.removed", fields));
        recorder.item_closed(&part, Status::Superseded);
        self.ended.insert(part, ());
    }

    fn items_of(&self, message: &str, recorder: &RunRecorder) -> Vec<Id> {
        let mut items = recorder.open_items(self.thread.as_deref());
        items.retain(|id| recorder.open_item(id).is_some_and(|item| item.reply.as_deref() == Some(message)));
        items
    }
}

fn retraction_notice(name: &str, fields: &JsonObject<'_>) -> Notice {
    let detail = RetractedItem { message: fields.get_non_empty("messageID"), part: fields.get_non_empty("partID") };
    let notice = Notice::new(Topic::Retracted).with_name(name);
    Notice { detail: Some(to_raw_json(&detail)), ..notice }
}

#[derive(serde::Serialize)]
struct RetractedItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
}

fn is_speech(id: &str, recorder: &RunRecorder) -> bool {
    recorder.open_item(id).is_some_and(|item| matches!(item.details, Details::AgentMessage(_) | Details::Reasoning(_)))
}

impl BusReader {
    pub(super) fn user_part(&mut self, id: &Id, message: &Id, part: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if self.ended.has(id) {
            return self.report_late_update(id, "message.part.updated", recorder);
        }
        let synthetic = part.is_true("synthetic");
        match part.get_str("type").as_deref() {
            // Shown to the user and never sent to the model, so it is not a prompt.
            Some("text") if part.is_true("ignored") => {}
            Some("text") => self.write_user_message(
                id,
                message,
                Content::text(part.get_string("text").unwrap_or_default()),
                synthetic,
                recorder,
            ),
            Some("file") => self.write_user_message(id, message, file(part), synthetic, recorder),
            Some("subtask") => self.write_user_message(
                id,
                message,
                Content::text(part.get_string("prompt").unwrap_or_default()),
                false,
                recorder,
            ),
            Some("compaction") => {
                if self.main {
                    self.turn.begin_prompted_turn(message, Origin::Command, None, recorder);
                }
                self.compaction_started(part, recorder);
            }
            _ => {}
        }
    }

    /// Writes a message in the user's name.
    pub(super) fn write_user_message(
        &mut self,
        id: &Id,
        message: &Id,
        content: Content,
        synthetic: bool,
        recorder: &mut RunRecorder,
    ) {
        let text = content.text.as_deref().filter(|_| content.kind == ContentType::Text);
        let queued = self.main
            && match (synthetic, text) {
                (false, text) => self.turn.begin_prompted_turn(message, Origin::Prompt, text, recorder),
                (true, text) => {
                    self.turn.begin_prompted_turn(message, origin(text.unwrap_or_default()), None, recorder);
                    false
                }
            };
        recorder.item_completed(id, Item::new(UserMessage { content: vec![content], synthetic, queued }));
        self.ended.insert(id.clone(), ());
    }
}

/// A message that OpenCode writes in the user's name is the trace of a command or the result of a background task.
fn origin(text: &str) -> Origin {
    if text.starts_with("<task ") { Origin::Background } else { Origin::Command }
}

/// Returns the content of a file: its bytes if the URL contains them, otherwise the URL. Newer sessions call the field
/// `uri`.
pub fn file(part: &JsonObject<'_>) -> Content {
    let media_type = part.get_non_empty("mime");
    let image = media_type.as_deref().is_some_and(|mime| mime.starts_with("image/"));
    let url = part.get_string("url").or_else(|| part.get_string("uri")).unwrap_or_default();
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).map(|(_, data)| data.to_owned());
    Content {
        kind: if image { ContentType::Image } else { ContentType::File },
        text: part.get_non_empty("filename").or_else(|| part.get_non_empty("name")),
        media_type,
        url: Some(url).filter(|url| data.is_none() && !url.is_empty()),
        data,
        ..Content::default()
    }
}

#[cfg(test)]
mod tests {

    use switchboard_event::ContentType;

    use super::file;
    use crate::JsonView;

    #[test]
    fn bytes_in_an_address_are_taken_out() {
        let part = JsonView::parse(r#"{"mime":"image/png","url":"data:image/png;base64,AAAA"}"#).unwrap().as_object();
        let content = file(&part);
        assert_eq!((content.kind, content.data.as_deref(), content.url), (ContentType::Image, Some("AAAA"), None));
        let part = JsonView::parse(r#"{"mime":"text/plain","url":"file:///a","filename":"a"}"#).unwrap().as_object();
        let content = file(&part);
        assert_eq!((content.kind, content.data, content.url.as_deref()), (ContentType::File, None, Some("file:///a")));
    }
}
