//! Messages: what a person said, what the model answered, what the program had to say.

use switchboard_event::{
    AgentMessage, Content, ContentType, ErrorCode, Fault, Id, Info, Item, Level, Notice, Reasoning, Scope, Topic,
    TurnStarted, Usage, UserMessage,
};

use super::{Log, context, parts, time};
use crate::{Json, Object, Scribe, gemini::usage};

impl Log {
    /// A message, for the first time or once more: who answers writes down first what it says, then what tools gave back.
    pub(super) fn message(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let Some(id) = fields.filled("id") else { return };
        scribe.happened(time(fields, "timestamp"));
        self.place(&id);
        match fields.str("type").as_deref() {
            Some("user") if self.seen.contains_key(&id) => self.again(fields, scribe),
            Some("user") => self.user(id, fields, scribe),
            Some("gemini") => self.answer(&id, fields, scribe),
            Some(kind @ ("info" | "warning" | "error")) if !self.seen.contains_key(&id) => {
                self.seen.entry(id).or_default();
                said(kind, fields, scribe);
            }
            _ => self.again(fields, scribe),
        }
    }

    /// A message is there, behind all others if it was not.
    fn place(&mut self, id: &str) {
        if self.present.insert(id.to_owned()) {
            self.order.push(id.to_owned());
        }
    }

    /// A message that is known, or a part of it: only what is new matters.
    pub(super) fn again(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let known = fields.filled("id").filter(|id| self.seen.contains_key(id));
        if let Some(id) = known {
            self.count(&id, fields, scribe);
            self.tool_calls(&id, fields, scribe);
        }
        let kind = fields.string("type").unwrap_or_default();
        if fields.has("type") && matches!(&*kind, "user" | "gemini" | "info" | "warning" | "error") {
            scribe.otherwise(Notice::new(Topic::Echo).with_level(Level::Debug).with_name(kind));
        }
    }

    fn user(&mut self, id: String, fields: &Object<'_>, scribe: &mut Scribe) {
        self.seen.entry(id.clone()).or_default();
        let responses = parts::responses(fields.get("content"));
        for response in &responses {
            self.response(response, scribe);
        }
        let content = fields.get("displayContent").or_else(|| fields.get("content"));
        let text = content.map(parts::text).unwrap_or_default();
        let pictures: Vec<_> = content.map(parts::attachments).unwrap_or_default().into_iter().map(picture).collect();
        if text.is_empty() && pictures.is_empty() {
            return scribe.otherwise(Notice::new(Topic::Echo).with_level(Level::Debug).with_name("functionResponse"));
        }
        let synthetic = !responses.is_empty() || context::is_injected(&text);
        if synthetic
            && scribe.cwd().is_none()
            && let Some(cwd) = context::folder(&text)
        {
            scribe.info(Info { cwd: Some(cwd), ..Info::default() });
        }
        if !synthetic {
            self.answered = false;
            scribe.turn_started(TurnStarted { prompt: Some(text.clone()), ..TurnStarted::default() });
        }
        let content = [vec![Content::text(text)], pictures].concat();
        scribe.item_completed(&Id::from(id), Item::new(UserMessage { content, synthetic, queued: false }));
    }

    fn answer(&mut self, id: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        self.seen.entry(id.to_owned()).or_default();
        if let Some(model) = fields.filled("model").filter(|model| scribe.model() != Some(model)) {
            scribe.info(Info { model: Some(model), ..Info::default() });
        }
        // Figures belong to what follows them: to the answer, or to its calls; to thoughts only if there is nothing else.
        let text = fields.get("content").filter(|_| !scribe.is_brief()).map(parts::text).unwrap_or_default();
        if text.is_empty() && fields.array("toolCalls").is_empty() {
            self.count(id, fields, scribe);
        }
        if !scribe.is_brief() {
            self.think(id, fields, scribe);
        }
        self.count(id, fields, scribe);
        if !scribe.is_brief() {
            self.say(id, text, scribe);
        }
        self.tool_calls(id, fields, scribe);
        scribe.otherwise(Notice::new(Topic::Echo).with_level(Level::Debug).with_name("gemini"));
    }

    fn think(&mut self, id: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        let thoughts = fields.array("thoughts");
        let Some(seen) = self.seen.get_mut(id) else { return };
        let from = seen.thoughts;
        seen.thoughts = from.max(thoughts.len());
        for (number, thought) in thoughts.into_iter().enumerate().skip(from) {
            let item = Item { reply: Some(Id::from(id)), ..Item::new(thought_of(thought)) };
            scribe.item_completed(&Id::from(format!("{id}.thought{}", number + 1)), item);
        }
    }

    /// What it says. Of a message that says something else than before, that is told too.
    fn say(&mut self, id: &str, text: String, scribe: &mut Scribe) {
        let Some(seen) = self.seen.get_mut(id) else { return };
        if text.is_empty() || text == seen.text {
            return;
        }
        seen.versions += 1;
        let name = if seen.versions == 1 { id.to_owned() } else { format!("{id}.{}", seen.versions) };
        seen.text.clone_from(&text);
        self.answered = true;
        let item = Item { reply: Some(Id::from(id)), ..Item::new(AgentMessage::text(text)) };
        scribe.item_completed(&Id::from(name), item);
    }

    /// What the reply used, once. It is written down when it is known, which may be later; should it then grow, only
    /// what came in addition counts.
    fn count(&mut self, id: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        let Some(seen) = self.seen.get_mut(id) else { return };
        let tokens = fields.object("tokens");
        let model = fields.filled("model").or_else(|| scribe.model().map(str::to_owned));
        let used = usage::log(&tokens, model);
        let key = match &seen.usage {
            _ if used.is_zero() => return,
            None => Id::from(id),
            Some(before) if total(&used) > total(before) => Id::from(format!("{id}+{}", total(before))),
            Some(_) => return,
        };
        let more = seen.usage.as_ref().map_or_else(|| used.clone(), |before| used.minus(before));
        seen.usage = Some(used);
        scribe.usage(Usage { key: Some(key), scope: Scope::Reply, ..more });
    }
}

fn total(usage: &Usage) -> u64 {
    usage.all_input().saturating_add(usage.output).saturating_add(usage.tool.unwrap_or(0))
}

fn thought_of(thought: Json<'_>) -> Reasoning {
    let fields = thought.object();
    let said = ["subject", "description"].into_iter().filter_map(|key| fields.filled(key)).collect::<Vec<_>>();
    Reasoning { text: Some(said.join(": ")), ..Reasoning::default() }
}

fn picture(media_type: String) -> Content {
    let kind = if media_type.starts_with("image/") { ContentType::Image } else { ContentType::File };
    Content { kind, media_type: Some(media_type), ..Content::default() }
}

/// What the program has to say to the user.
fn said(kind: &str, fields: &Object<'_>, scribe: &mut Scribe) {
    let text = fields.get("content").map(parts::text).unwrap_or_default();
    let notice = match kind {
        "info" => Notice::new(Topic::Status),
        "warning" => Notice::new(Topic::Warning).with_level(Level::Warning),
        _ => Notice {
            error: Some(Fault::new(ErrorCode::Unknown, text.clone())),
            ..Notice::new(Topic::Warning).with_level(Level::Error)
        },
    };
    scribe.notice(notice.with_text(text));
}
