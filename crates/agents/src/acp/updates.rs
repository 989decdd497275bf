//! Dispatches `session/update`, and handles the smaller updates.

use switchboard_event::{Id, Info, Item, Level, Notice, Plan, PlanEntry, PlanStatus, SessionStatus, Status, Topic};

use super::{
    content::{contents, text_of},
    info,
    live::{Live, control},
    session::Place,
    speech::Kind,
};
use crate::{JsonObject, JsonView, RunRecorder};

/// The updates that a replayed history consists of.
const HISTORY: [&str; 6] =
    ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

impl Live {
    pub(super) fn update(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let place = self.place(params, recorder);
        let update = params.get_object("update");
        let kind = update.get_string("sessionUpdate").unwrap_or_default();
        // The event was reported when it happened.
        if matches!(place, Place::Replay(_)) && HISTORY.contains(&kind.as_str()) {
            return recorder.write_notice(Notice::new(Topic::Echo).with_level(Level::Debug).with_name(kind));
        }
        match kind.as_str() {
            "user_message_chunk" => self.chunk(Kind::User, &update, &place, recorder),
            "agent_message_chunk" => self.chunk(Kind::Agent, &update, &place, recorder),
            "agent_thought_chunk" => self.chunk(Kind::Thought, &update, &place, recorder),
            "tool_call" | "tool_call_update" => self.tool_call(kind == "tool_call", &update, &place, recorder),
            "plan" => self.plan(None, entries(&update), &place, recorder),
            "plan_update" => self.plan_update(&update.get_object("plan"), &place, recorder),
            "plan_removed" => self.plan_removed(&update, recorder),
            "compaction_update" => compaction(&update, &place, recorder),
            "compaction_summary_chunk" => {
                let text = update.get("content").map(|block| text_of(&contents(vec![block]))).unwrap_or_default();
                recorder.write_notice(Notice::new(Topic::Compaction).with_status("summary").with_text(text));
            }
            "notice" => notice(&update, recorder),
            "subagent_update" => self.subagent_update(&update, recorder),
            "session_message" | "session_message_chunk" => session_message(&update, recorder),
            _ => self.session_news(&kind, &update, &place, recorder),
        }
        recorder.write_notice_if_no_event(control(&kind));
    }

    /// Reads updates about the session itself. Those of other sessions on the connection do not concern this one.
    fn session_news(&mut self, kind: &str, update: &JsonObject<'_>, place: &Place, recorder: &mut RunRecorder) {
        let mine = !matches!(place, Place::Other(_));
        recorder.set_scope(None, None);
        match kind {
            "available_commands_update" if mine => {
                recorder.update_info(Info { commands: info::commands(update), ..Info::default() });
            }
            "current_mode_update" if mine => {
                recorder.update_info(Info { mode: update.get_non_empty("currentModeId"), ..Info::default() });
            }
            "config_option_update" if mine => self.offered(update, recorder),
            "session_info_update" if mine => {
                if let Some(state) = session_state(update) {
                    self.prompts.set_state(&state);
                }
                recorder.update_info(Info { title: update.get_non_empty("title"), ..Info::default() });
            }
            "usage_update" if mine => self.spending.update(update, self.session.resumed, recorder),
            "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update"
            | "usage_update" => {}
            _ => recorder.write_notice(Notice::new(Topic::Unknown).with_level(Level::Debug).with_name(kind)),
        }
    }

    /// Writes a plan. It is one item that is updated; an agent may have several named plans.
    fn plan(&mut self, id: Option<Id>, plan: Plan, place: &Place, recorder: &mut RunRecorder) {
        if matches!(place, Place::Main) {
            self.active(recorder);
        }
        let thread = place.thread().map_or("", |thread| thread.as_str());
        let known = id.unwrap_or_else(|| Id::from(format!("plan{thread}")));
        let open = self.plans.iter().find(|(name, _)| *name == known).map(|(_, item)| item.clone());
        let item = match open.filter(|item| recorder.item_is_open(item)) {
            Some(item) => item,
            None => {
                let item = self.next_id("plan", recorder);
                self.plans.retain(|(name, item)| *name != known && recorder.item_is_open(item));
                self.plans.push((known, item.clone()));
                item
            }
        };
        recorder.item_started(&item, Item::new(plan));
    }

    fn plan_update(&mut self, plan: &JsonObject<'_>, place: &Place, recorder: &mut RunRecorder) {
        let id = plan.get_str("planId").map(|id| Id::from(format!("plan:{id}")));
        let content = match plan.get_str("type").as_deref() {
            Some("markdown") => Plan { text: plan.get_string("content"), ..Plan::default() },
            Some("file") => Plan { text: plan.get_string("uri"), ..Plan::default() },
            _ => entries(plan),
        };
        self.plan(id, content, place, recorder);
    }

    fn plan_removed(&mut self, update: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let name = format!("plan:{}", update.get_str("planId").unwrap_or_default());
        if let Some((_, item)) = self.plans.iter().find(|(known, _)| *known == *name.as_str()) {
            recorder.item_closed(item, Status::Superseded);
        }
    }
}

/// Returns the state of the session, which agents put into their own object in `_meta`.
fn session_state(update: &JsonObject<'_>) -> Option<String> {
    let meta = update.get_object("_meta");
    meta.iter().find_map(|(_, own)| own.as_object().get_object("threadStatus").get_non_empty("type"))
}

fn entries(plan: &JsonObject<'_>) -> Plan {
    let entry = |entry: JsonView<'_>| {
        let entry = entry.as_object();
        PlanEntry { step: entry.get_string("content").unwrap_or_default(), status: plan_status(&entry) }
    };
    Plan { entries: plan.get_array("entries").into_iter().map(entry).collect(), ..Plan::default() }
}

/// Returns the status of a step, also in the todo lists of tools.
pub(super) fn plan_status(entry: &JsonObject<'_>) -> PlanStatus {
    match entry.get_str("status").as_deref() {
        Some("in_progress") => PlanStatus::InProgress,
        Some("completed") => PlanStatus::Completed,
        Some("failed" | "cancelled") => PlanStatus::Failed,
        _ => PlanStatus::Pending,
    }
}

/// `compaction_update`: a compaction started or ended.
fn compaction(update: &JsonObject<'_>, place: &Place, recorder: &mut RunRecorder) {
    let status = update.get_string("status").unwrap_or_default();
    let running = status == "in_progress";
    let text = Some(text_of(&contents(update.get_array("summary")))).filter(|text| !text.is_empty());
    let notice = Notice::new(Topic::Compaction).with_status(if running { "started".to_owned() } else { status });
    recorder.write_notice(Notice { text: text.or_else(|| update.get_non_empty("error")), ..notice });
    if matches!(place, Place::Main) {
        let status = match (running, recorder.in_turn()) {
            (true, _) => SessionStatus::Compacting,
            (false, true) => SessionStatus::Running,
            (false, false) => SessionStatus::Idle,
        };
        recorder.update_info(Info { status: Some(status), ..Info::default() });
    }
}

/// `notice`: information for the user outside the conversation.
fn notice(update: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let (topic, level) = match update.get_str("severity").as_deref() {
        Some("error") => (Topic::Warning, Level::Error),
        Some("warning") => (Topic::Warning, Level::Warning),
        _ => (Topic::Status, Level::Info),
    };
    let title = update.get_string("title").unwrap_or_default();
    let text = match update.get_non_empty("description") {
        Some(description) => format!("{title}: {description}"),
        None => title,
    };
    recorder.write_notice(Notice::new(topic).with_level(level).with_name("notice").with_text(text));
}

/// Reports a message from one session to another on the same connection.
fn session_message(update: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let blocks = match update.get("content") {
        Some(block) if block.is_object() => vec![block],
        _ => update.get_array("content"),
    };
    let name = update.get_string("messageId").unwrap_or_default();
    recorder.write_notice(Notice::new(Topic::Task).with_name(name).with_text(text_of(&contents(blocks))));
}
