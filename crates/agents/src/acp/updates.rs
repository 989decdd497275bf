//! Dispatches `session/update`, and handles the smaller updates and those of subagents.

use switchboard_event::{
    Call, Details, ErrorCode, Id, Info, Item, Level, Notice, Plan, PlanEntry, PlanStatus, SessionStatus, Status,
    Subagent, Topic,
};

use super::{
    AcpReader, control, errors,
    messages::{MessageKind, contents, text_of},
    options,
    session::SessionScope,
};
use crate::{JsonObject, JsonView, RunRecorder};

/// The updates that a replayed history consists of.
const HISTORY: [&str; 6] =
    ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

/// Maximum number of remembered subagents.
const MAX_SUBAGENTS: usize = 256;

impl AcpReader {
    pub(super) fn update(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let scope = self.enter_scope(params, recorder);
        let update = params.get_object("update");
        let kind = update.get_string("sessionUpdate").unwrap_or_default();
        // The event was reported when it happened.
        if matches!(scope, SessionScope::Replay(_)) && HISTORY.contains(&kind.as_str()) {
            return recorder.write_notice(Notice::new(Topic::Echo).with_level(Level::Debug).with_name(kind));
        }
        match kind.as_str() {
            "user_message_chunk" => self.chunk(MessageKind::User, &update, &scope, recorder),
            "agent_message_chunk" => self.chunk(MessageKind::Agent, &update, &scope, recorder),
            "agent_thought_chunk" => self.chunk(MessageKind::Thought, &update, &scope, recorder),
            "tool_call" | "tool_call_update" => self.tool_call(kind == "tool_call", &update, &scope, recorder),
            "plan" => self.plan(None, entries(&update), &scope, recorder),
            "plan_update" => self.plan_update(&update.get_object("plan"), &scope, recorder),
            "plan_removed" => self.plan_removed(&update, recorder),
            "compaction_update" => compaction(&update, &scope, recorder),
            "compaction_summary_chunk" => {
                let text = update.get("content").map(|block| text_of(&contents(vec![block]))).unwrap_or_default();
                recorder.write_notice(Notice::new(Topic::Compaction).with_status("summary").with_text(text));
            }
            "notice" => notice(&update, recorder),
            "subagent_update" => self.subagent_update(&update, recorder),
            "session_message" | "session_message_chunk" => session_message(&update, recorder),
            _ => self.session_news(&kind, &update, &scope, recorder),
        }
        recorder.write_notice_if_no_event(control(&kind));
    }

    /// Reads updates about the session itself. Those of other sessions on the connection do not concern this one.
    fn session_news(&mut self, kind: &str, update: &JsonObject<'_>, scope: &SessionScope, recorder: &mut RunRecorder) {
        let mine = !matches!(scope, SessionScope::Other(_));
        recorder.set_scope(None, None);
        match kind {
            "available_commands_update" if mine => {
                recorder.update_info(Info { commands: options::commands(update), ..Info::default() });
            }
            "current_mode_update" if mine => {
                recorder.update_info(Info { mode: update.get_non_empty("currentModeId"), ..Info::default() });
            }
            "config_option_update" if mine => self.apply_settings(update, recorder),
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
    fn plan(&mut self, id: Option<Id>, plan: Plan, scope: &SessionScope, recorder: &mut RunRecorder) {
        if matches!(scope, SessionScope::Main) {
            self.active(recorder);
        }
        let thread = scope.thread().map_or("", |thread| thread.as_str());
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

    fn plan_update(&mut self, plan: &JsonObject<'_>, scope: &SessionScope, recorder: &mut RunRecorder) {
        let id = plan.get_str("planId").map(|id| Id::from(format!("plan:{id}")));
        let content = match plan.get_str("type").as_deref() {
            Some("markdown") => Plan { text: plan.get_string("content"), ..Plan::default() },
            Some("file") => Plan { text: plan.get_string("uri"), ..Plan::default() },
            _ => entries(plan),
        };
        self.plan(id, content, scope, recorder);
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
fn compaction(update: &JsonObject<'_>, scope: &SessionScope, recorder: &mut RunRecorder) {
    let status = update.get_string("status").unwrap_or_default();
    let running = status == "in_progress";
    let text = Some(text_of(&contents(update.get_array("summary")))).filter(|text| !text.is_empty());
    let notice = Notice::new(Topic::Compaction).with_status(if running { "started".to_owned() } else { status });
    recorder.write_notice(Notice { text: text.or_else(|| update.get_non_empty("error")), ..notice });
    if matches!(scope, SessionScope::Main) {
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

/// The subagents and their items.
#[derive(Default)]
pub struct AcpSubagents {
    known: Vec<AcpSubagent>,
}

struct AcpSubagent {
    session: Id,
    item: Id,
    label: String,
}

impl AcpSubagents {
    /// Returns the item of a subagent's session.
    pub fn item_of(&self, session: &str) -> Option<Id> {
        self.get(session).map(|known| known.item.clone())
    }

    fn get(&self, session: &str) -> Option<&AcpSubagent> {
        self.known.iter().find(|known| known.session == *session)
    }

    fn remember(&mut self, new: AcpSubagent) {
        self.known.retain(|known| known.session != new.session);
        if self.known.len() == MAX_SUBAGENTS {
            self.known.remove(0);
        }
        self.known.push(new);
    }
}

impl AcpReader {
    fn subagent_update(&mut self, update: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(session) = update.get_non_empty("sessionId").map(Id::from) else { return };
        let state = update.get_object("state");
        let idle = state.str_equals("state", "idle");
        let open = self.subagents.item_of(&session).filter(|item| recorder.item_is_open(item));
        match open {
            Some(item) if idle => self.subagent_idle(&session, &item, &state, recorder),
            Some(item) => describe(&item, update, recorder),
            None if idle => {}
            None => {
                let item = self.next_id("subagent", recorder);
                let named = update.get_non_empty("title").or_else(|| update.get_non_empty("description"));
                let label = named.or_else(|| Some(self.subagents.get(&session)?.label.clone())).unwrap_or_default();
                recorder.item_started(&item, subagent(&session, label.clone(), update));
                self.subagents.remember(AcpSubagent { session, item, label });
            }
        }
    }

    fn subagent_idle(&mut self, session: &Id, item: &Id, state: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.end_thread(session, recorder);
        let status = match state.get_str("stopReason").as_deref() {
            Some("error") => Status::Failed,
            Some("cancelled") => Status::Interrupted,
            _ => Status::Completed,
        };
        let fault = state.get("error").map(|error| errors::fault(&error.as_object()));
        let aborted = fault.as_ref().is_some_and(|fault| fault.code == ErrorCode::Aborted);
        if let (Some(fault), Some(item)) = (fault, recorder.item_mut(item)) {
            let call = item.call.get_or_insert_default();
            call.error = Some(fault.message);
        }
        recorder.item_closed(item, if aborted { Status::Interrupted } else { status });
    }
}

fn subagent(session: &Id, label: String, update: &JsonObject<'_>) -> Item {
    Item::new(Subagent { thread: Some(session.clone()), label, ..Subagent::default() }).with_call(Call {
        name: "subagent".to_owned(),
        title: update.get_non_empty("description"),
        ..Call::default()
    })
}

/// Updates the title of a running subagent.
fn describe(item: &Id, update: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let Some(mut whole) = recorder.open_item(item).cloned() else { return };
    let Some(title) = update.get_non_empty("title") else { return };
    if let Details::Subagent(subagent) = &mut whole.details
        && subagent.label != title
    {
        subagent.label = title;
        recorder.item_set(item, whole);
    }
}
