//! Open tool calls known to the client. A request may announce a tool call before it starts; every announced call is
//! ended exactly once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_event::{Event, Field, Id, Item};

use super::{
    project::AcpClientCapabilities,
    tools,
    wire::{
        Meta, Ours, TerminalExit, TerminalInfo, TerminalOutput, ToolCall, ToolContent, ToolFields, ToolStatus,
        ToolUpdate, Update,
    },
};
use crate::track::TrackedItem;

/// Tool calls that have not ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OpenToolCalls {
    open: BTreeMap<Id, ToolCallStage>,
}

/// Progress of an open tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ToolCallStage {
    /// Announced by a request only.
    Asked,
    /// The call has started.
    Begun,
}

impl OpenToolCalls {
    /// Returns whether the client knows the tool call.
    pub fn contains(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// Records a tool call that a request announced.
    pub fn insert_requested(&mut self, id: &Id) {
        self.open.insert(id.clone(), ToolCallStage::Asked);
    }

    /// Returns whether the call was announced by a request and has not started.
    pub fn is_only_requested(&self, id: &str) -> bool {
        self.open.get(id) == Some(&ToolCallStage::Asked)
    }

    /// Removes an ended call; returns whether it was open.
    pub fn close(&mut self, id: &str) -> bool {
        self.open.remove(id).is_some()
    }

    /// Removes and returns the calls that never started.
    pub fn take_unstarted(&mut self) -> Vec<Id> {
        let asked: Vec<Id> =
            self.open.iter().filter(|(_, stage)| **stage == ToolCallStage::Asked).map(|(id, _)| id.clone()).collect();
        asked.iter().for_each(|id| {
            self.open.remove(id);
        });
        asked
    }

    /// Records the start of a tool call and builds its update.
    pub fn start_call<'a>(
        &mut self,
        event: &'a Event,
        id: &'a Id,
        item: &'a Item,
        client: AcpClientCapabilities,
    ) -> Update<'a> {
        let mut fields = tools::started_fields(item);
        fields.meta = subagent_meta(event);
        if let switchboard_event::Details::Command(command) = &item.details {
            if client.streams_output() {
                fields.meta.terminal_info = Some(TerminalInfo { terminal_id: id, cwd: command.cwd.as_deref() });
            }
            if client.terminals {
                fields.content = Some(vec![ToolContent::Terminal { terminal_id: id }]);
            }
        }
        let title = tools::tool_title(item);
        match self.open.insert(id.clone(), ToolCallStage::Begun) {
            None => Update::ToolCall(ToolCall { tool_call_id: id, title, fields }),
            Some(_) => Update::ToolChanged(ToolUpdate { tool_call_id: id, title: Some(title), fields }),
        }
    }
}

/// Returns the metadata that attributes a subagent's tool call; empty for the main agent.
pub fn subagent_meta(event: &Event) -> Meta<'_> {
    let (thread, parent_tool_call_id) = (event.thread.as_deref(), event.parent.as_deref());
    if thread.is_none() && parent_tool_call_id.is_none() {
        return Meta::default();
    }
    Meta::with_switchboard(Ours { thread, parent_tool_call_id, ..Ours::default() })
}

/// Builds the update for additional command output.
pub fn output_update<'a>(id: &'a str, data: &'a str) -> Update<'a> {
    let terminal_output = Some(TerminalOutput { terminal_id: id, data });
    meta_update(id, Meta { terminal_output, ..Meta::default() })
}

/// Builds an update that only carries `_meta`.
pub fn meta_update<'a>(id: &'a str, meta: Meta<'a>) -> Update<'a> {
    let fields = ToolFields { meta, ..ToolFields::default() };
    Update::ToolChanged(ToolUpdate { tool_call_id: id, title: None, fields })
}

/// Builds an update that only changes the status.
pub fn status_update(id: &str, status: ToolStatus) -> Update<'_> {
    let fields = ToolFields { status: Some(status), ..ToolFields::default() };
    Update::ToolChanged(ToolUpdate { tool_call_id: id, title: None, fields })
}

/// Builds the update for an open call whose item was replaced; none if nothing visible changed.
pub fn change_update<'a>(id: &'a str, before: &Item, now: &'a Item) -> Option<Update<'a>> {
    let (old, mut new) = (tools::started_fields(before), tools::started_fields(now));
    let old_title = tools::tool_title(before);
    let title = Some(tools::tool_title(now)).filter(|title| *title != old_title);
    let same = |one: &ToolFields<'_>, other: &ToolFields<'_>, of: fn(&ToolFields<'_>) -> String| of(one) == of(other);
    new.status = None;
    if same(&old, &new, |fields| to_json(&fields.raw_input)) {
        new.raw_input = None;
    }
    if same(&old, &new, |fields| to_json(&fields.locations)) {
        new.locations = None;
    }
    if same(&old, &new, |fields| to_json(&fields.content)) {
        new.content = None;
    }
    new.kind = new.kind.filter(|kind| old.kind != Some(*kind));
    new.name = new.name.filter(|name| old.name != Some(name));
    let nothing = title.is_none() && to_json(&new) == "{}";
    (!nothing).then_some(Update::ToolChanged(ToolUpdate { tool_call_id: id, title, fields: new }))
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Builds the final update of a tool call.
pub fn end_update<'a>(
    event: &'a Event,
    id: &'a str,
    item: &'a Item,
    tracked: &TrackedItem,
    client: AcpClientCapabilities,
) -> Update<'a> {
    let mut fields = tools::ended_fields(item);
    fields.meta = subagent_meta(event);
    if let switchboard_event::Details::Command(command) = &item.details {
        if client.streams_output() {
            fields.meta.terminal_exit = Some(TerminalExit { terminal_id: id, exit_code: command.exit_code });
        }
        if client.terminals {
            let rest = match tracked.field {
                None | Some(Field::Output) => tracked.unsent_text(&command.output),
                Some(_) => &command.output,
            };
            fields.content = None;
            fields.meta.terminal_output = (!rest.is_empty()).then_some(TerminalOutput { terminal_id: id, data: rest });
        }
    }
    Update::ToolChanged(ToolUpdate { tool_call_id: id, title: None, fields })
}
