//! `session/update`: which update is which, and the small ones.

use switchboard_event::{Id, Info, Item, Level, Notice, Plan, PlanEntry, PlanStatus, SessionStatus, Status, Topic};

use super::{
    content::{contents, text_of},
    info,
    live::{Live, control},
    session::Place,
    speech::Kind,
};
use crate::{Json, Object, Scribe};

/// What a history is made of.
const HISTORY: [&str; 6] =
    ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

impl Live {
    pub(super) fn update(&mut self, params: &Object<'_>, scribe: &mut Scribe) {
        let place = self.place(params, scribe);
        let update = params.object("update");
        let kind = update.string("sessionUpdate").unwrap_or_default();
        // It was told when it happened.
        if matches!(place, Place::Replay(_)) && HISTORY.contains(&kind.as_str()) {
            return scribe.notice(Notice::new(Topic::Echo).with_level(Level::Debug).with_name(kind));
        }
        match kind.as_str() {
            "user_message_chunk" => self.chunk(Kind::User, &update, &place, scribe),
            "agent_message_chunk" => self.chunk(Kind::Agent, &update, &place, scribe),
            "agent_thought_chunk" => self.chunk(Kind::Thought, &update, &place, scribe),
            "tool_call" | "tool_call_update" => self.tool_call(kind == "tool_call", &update, &place, scribe),
            "plan" => self.plan(None, entries(&update), &place, scribe),
            "plan_update" => self.plan_update(&update.object("plan"), &place, scribe),
            "plan_removed" => self.plan_removed(&update, scribe),
            "compaction_update" => compaction(&update, &place, scribe),
            "compaction_summary_chunk" => {
                let text = update.get("content").map(|block| text_of(&contents(vec![block]))).unwrap_or_default();
                scribe.notice(Notice::new(Topic::Compaction).with_status("summary").with_text(text));
            }
            "notice" => notice(&update, scribe),
            "subagent_update" => self.subagent_update(&update, scribe),
            "session_message" | "session_message_chunk" => session_message(&update, scribe),
            _ => self.session_news(&kind, &update, &place, scribe),
        }
        scribe.otherwise(control(&kind));
    }

    /// Updates about the session itself. Those of other sessions on the connection say nothing about this one.
    fn session_news(&mut self, kind: &str, update: &Object<'_>, place: &Place, scribe: &mut Scribe) {
        let mine = !matches!(place, Place::Other(_));
        scribe.within(None, None);
        match kind {
            "available_commands_update" if mine => {
                scribe.info(Info { commands: info::commands(update), ..Info::default() });
            }
            "current_mode_update" if mine => {
                scribe.info(Info { mode: update.filled("currentModeId"), ..Info::default() });
            }
            "config_option_update" if mine => self.offered(update, scribe),
            "session_info_update" if mine => {
                if let Some(state) = session_state(update) {
                    self.prompts.set_state(&state);
                }
                scribe.info(Info { title: update.filled("title"), ..Info::default() });
            }
            "usage_update" if mine => self.spending.update(update, self.session.resumed, scribe),
            "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update"
            | "usage_update" => {}
            _ => scribe.notice(Notice::new(Topic::Unknown).with_level(Level::Debug).with_name(kind)),
        }
    }

    /// A plan is one item, changed as it goes on. An agent may have several, with names.
    fn plan(&mut self, id: Option<Id>, plan: Plan, place: &Place, scribe: &mut Scribe) {
        if matches!(place, Place::Main) {
            self.active(scribe);
        }
        let thread = place.thread().map_or("", |thread| thread.as_str());
        let known = id.unwrap_or_else(|| Id::from(format!("plan{thread}")));
        let open = self.plans.iter().find(|(name, _)| *name == known).map(|(_, item)| item.clone());
        let item = match open.filter(|item| scribe.item_is_open(item)) {
            Some(item) => item,
            None => {
                let item = self.next_id("plan", scribe);
                self.plans.retain(|(name, item)| *name != known && scribe.item_is_open(item));
                self.plans.push((known, item.clone()));
                item
            }
        };
        scribe.item_started(&item, Item::new(plan));
    }

    fn plan_update(&mut self, plan: &Object<'_>, place: &Place, scribe: &mut Scribe) {
        let id = plan.str("planId").map(|id| Id::from(format!("plan:{id}")));
        let content = match plan.str("type").as_deref() {
            Some("markdown") => Plan { text: plan.string("content"), ..Plan::default() },
            Some("file") => Plan { text: plan.string("uri"), ..Plan::default() },
            _ => entries(plan),
        };
        self.plan(id, content, place, scribe);
    }

    fn plan_removed(&mut self, update: &Object<'_>, scribe: &mut Scribe) {
        let name = format!("plan:{}", update.str("planId").unwrap_or_default());
        if let Some((_, item)) = self.plans.iter().find(|(known, _)| *known == *name.as_str()) {
            scribe.item_closed(item, Status::Superseded);
        }
    }
}

/// The state of the session, which agents put into a part of `_meta` that is their own.
fn session_state(update: &Object<'_>) -> Option<String> {
    let meta = update.object("_meta");
    meta.iter().find_map(|(_, own)| own.object().object("threadStatus").filled("type"))
}

fn entries(plan: &Object<'_>) -> Plan {
    let entry = |entry: Json<'_>| {
        let entry = entry.object();
        PlanEntry { step: entry.string("content").unwrap_or_default(), status: plan_status(&entry) }
    };
    Plan { entries: plan.array("entries").into_iter().map(entry).collect(), ..Plan::default() }
}

/// How far a step got, also in the lists of things to do that tools keep.
pub(super) fn plan_status(entry: &Object<'_>) -> PlanStatus {
    match entry.str("status").as_deref() {
        Some("in_progress") => PlanStatus::InProgress,
        Some("completed") => PlanStatus::Completed,
        Some("failed" | "cancelled") => PlanStatus::Failed,
        _ => PlanStatus::Pending,
    }
}

/// `compaction_update`: the context is made smaller, or was.
fn compaction(update: &Object<'_>, place: &Place, scribe: &mut Scribe) {
    let status = update.string("status").unwrap_or_default();
    let running = status == "in_progress";
    let text = Some(text_of(&contents(update.array("summary")))).filter(|text| !text.is_empty());
    let notice = Notice::new(Topic::Compaction).with_status(if running { "started".to_owned() } else { status });
    scribe.notice(Notice { text: text.or_else(|| update.filled("error")), ..notice });
    if matches!(place, Place::Main) {
        let status = match (running, scribe.in_turn()) {
            (true, _) => SessionStatus::Compacting,
            (false, true) => SessionStatus::Running,
            (false, false) => SessionStatus::Idle,
        };
        scribe.info(Info { status: Some(status), ..Info::default() });
    }
}

/// `notice`: something for the user to know that is not part of the conversation.
fn notice(update: &Object<'_>, scribe: &mut Scribe) {
    let (topic, level) = match update.str("severity").as_deref() {
        Some("error") => (Topic::Warning, Level::Error),
        Some("warning") => (Topic::Warning, Level::Warning),
        _ => (Topic::Status, Level::Info),
    };
    let title = update.string("title").unwrap_or_default();
    let text = match update.filled("description") {
        Some(description) => format!("{title}: {description}"),
        None => title,
    };
    scribe.notice(Notice::new(topic).with_level(level).with_name("notice").with_text(text));
}

/// What one session says to another on the same connection.
fn session_message(update: &Object<'_>, scribe: &mut Scribe) {
    let blocks = match update.get("content") {
        Some(block) if block.is_object() => vec![block],
        _ => update.array("content"),
    };
    let name = update.string("messageId").unwrap_or_default();
    scribe.notice(Notice::new(Topic::Task).with_name(name).with_text(text_of(&contents(blocks))));
}
