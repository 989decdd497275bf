//! Parts of the user's messages: the prompt, attached files, and OpenCode's own additions.

use switchboard_event::{Content, ContentType, Id, Item, Origin, UserMessage};

use super::bus::Bus;
use crate::{JsonObject, RunRecorder};

impl Bus {
    pub(super) fn user_part(&mut self, id: &Id, message: &Id, part: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if self.ended.has(id) {
            return self.late(id, "message.part.updated", recorder);
        }
        let synthetic = part.is_true("synthetic");
        match part.get_str("type").as_deref() {
            // Shown to the user and never sent to the model, so it is not a prompt.
            Some("text") if part.is_true("ignored") => {}
            Some("text") => {
                self.said(id, message, Content::text(part.get_string("text").unwrap_or_default()), synthetic, recorder)
            }
            Some("file") => self.said(id, message, file(part), synthetic, recorder),
            Some("subtask") => {
                self.said(id, message, Content::text(part.get_string("prompt").unwrap_or_default()), false, recorder)
            }
            Some("compaction") => {
                if self.main {
                    self.turn.prompted(message, Origin::Command, None, recorder);
                }
                self.compaction_started(part, recorder);
            }
            _ => {}
        }
    }

    /// Writes a message in the user's name.
    pub(super) fn said(
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
                (false, text) => self.turn.prompted(message, Origin::Prompt, text, recorder),
                (true, text) => {
                    self.turn.prompted(message, origin(text.unwrap_or_default()), None, recorder);
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
