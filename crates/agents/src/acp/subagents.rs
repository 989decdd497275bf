//! Subagents: sessions of their own on the same connection, announced by `subagent_update` (not yet stable in the
//! protocol). One that becomes idle is done with its task; it may get another.

use switchboard_event::{Call, Details, ErrorCode, Id, Item, Status, Subagent};

use super::{errors, live::Live};
use crate::{Object, Scribe};

/// How many subagents are remembered.
const REMEMBERED: usize = 256;

/// The subagents and the items that stand for their work.
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
    /// The item under which a session works.
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
    pub(super) fn subagent_update(&mut self, update: &Object<'_>, scribe: &mut Scribe) {
        let Some(session) = update.filled("sessionId").map(Id::from) else { return };
        let state = update.object("state");
        let idle = state.is("state", "idle");
        let open = self.subagents.item_of(&session).filter(|item| scribe.item_is_open(item));
        match open {
            Some(item) if idle => self.subagent_idle(&session, &item, &state, scribe),
            Some(item) => describe(&item, update, scribe),
            None if idle => {}
            None => {
                let item = self.next_id("subagent", scribe);
                let named = update.filled("title").or_else(|| update.filled("description"));
                let label = named.or_else(|| Some(self.subagents.get(&session)?.label.clone())).unwrap_or_default();
                scribe.item_started(&item, subagent(&session, label.clone(), update));
                self.subagents.remember(Known { session, item, label });
            }
        }
    }

    fn subagent_idle(&mut self, session: &Id, item: &Id, state: &Object<'_>, scribe: &mut Scribe) {
        self.end_thread(session, scribe);
        let status = match state.str("stopReason").as_deref() {
            Some("error") => Status::Failed,
            Some("cancelled") => Status::Interrupted,
            _ => Status::Completed,
        };
        let fault = state.get("error").map(|error| errors::fault(&error.object()));
        let aborted = fault.as_ref().is_some_and(|fault| fault.code == ErrorCode::Aborted);
        if let (Some(fault), Some(item)) = (fault, scribe.item_mut(item)) {
            let call = item.call.get_or_insert_default();
            call.error = Some(fault.message);
        }
        scribe.item_closed(item, if aborted { Status::Interrupted } else { status });
    }
}

fn subagent(session: &Id, label: String, update: &Object<'_>) -> Item {
    Item::new(Subagent { thread: Some(session.clone()), label, ..Subagent::default() }).with_call(Call {
        name: "subagent".to_owned(),
        title: update.filled("description"),
        ..Call::default()
    })
}

/// Another title for a subagent that is at work.
fn describe(item: &Id, update: &Object<'_>, scribe: &mut Scribe) {
    let Some(mut whole) = scribe.item(item).cloned() else { return };
    let Some(title) = update.filled("title") else { return };
    if let Details::Subagent(subagent) = &mut whole.details
        && subagent.label != title
    {
        subagent.label = title;
        scribe.item_set(item, whole);
    }
}
