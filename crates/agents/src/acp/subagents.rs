//! Subagents: separate sessions on the same connection, announced by `subagent_update` (not yet stable in the
//! protocol). An idle subagent has finished its task and may get another.

use switchboard_event::{Call, Details, ErrorCode, Id, Item, Status, Subagent};

use super::{errors, live::Live};
use crate::{JsonObject, RunRecorder};

/// Maximum number of remembered subagents.
const REMEMBERED: usize = 256;

/// The subagents and their items.
#[derive(Default)]
pub struct Subagents {
    known: Vec<Known>,
}

struct Known {
    session: Id,
    item: Id,
    label: String,
}

impl Subagents {
    /// Returns the item of a subagent's session.
    pub fn item_of(&self, session: &str) -> Option<Id> {
        self.get(session).map(|known| known.item.clone())
    }

    fn get(&self, session: &str) -> Option<&Known> {
        self.known.iter().find(|known| known.session == *session)
    }

    fn remember(&mut self, new: Known) {
        self.known.retain(|known| known.session != new.session);
        if self.known.len() == REMEMBERED {
            self.known.remove(0);
        }
        self.known.push(new);
    }
}

impl Live {
    pub(super) fn subagent_update(&mut self, update: &JsonObject<'_>, recorder: &mut RunRecorder) {
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
                self.subagents.remember(Known { session, item, label });
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
