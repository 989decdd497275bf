//! The tool calls that a client knows and that are not over. A tool call may be known from its request before it begins;
//! whatever becomes of it, it ends once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_event::{Event, Field, Id, Item};

use super::{
    project::Abilities,
    tools,
    wire::{
        Meta, Ours, TerminalExit, TerminalInfo, TerminalOutput, ToolCall, ToolContent, ToolFields, ToolStatus,
        ToolUpdate, Update,
    },
};
use crate::track::Tracked;

/// The tool calls that are not over.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cards {
    open: BTreeMap<Id, Stage>,
}

/// How far a tool call got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// Only a request told of it.
    Asked,
    /// It began.
    Begun,
}

impl Cards {
    /// The client knows it.
    pub fn knows(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// A request tells of it.
    pub fn asked(&mut self, id: &Id) {
        self.open.insert(id.clone(), Stage::Asked);
    }

    /// Only a request told of it.
    pub fn is_asked(&self, id: &str) -> bool {
        self.open.get(id) == Some(&Stage::Asked)
    }

    /// It is over.
    pub fn close(&mut self, id: &str) -> bool {
        self.open.remove(id).is_some()
    }

    /// Takes out those that never began.
    pub fn never_begun(&mut self) -> Vec<Id> {
        let asked: Vec<Id> =
            self.open.iter().filter(|(_, stage)| **stage == Stage::Asked).map(|(id, _)| id.clone()).collect();
        asked.iter().for_each(|id| {
            self.open.remove(id);
        });
        asked
    }

    /// A tool is called.
    pub fn begin<'a>(&mut self, event: &'a Event, id: &'a Id, item: &'a Item, client: Abilities) -> Update<'a> {
        let mut fields = tools::begun(item);
        fields.meta = place(event);
        if let switchboard_event::Details::Command(command) = &item.details {
            if client.output_beside() {
                fields.meta.terminal_info = Some(TerminalInfo { terminal_id: id, cwd: command.cwd.as_deref() });
            }
            if client.terminals {
                fields.content = Some(vec![ToolContent::Terminal { terminal_id: id }]);
            }
        }
        let title = tools::title(item);
        match self.open.insert(id.clone(), Stage::Begun) {
            None => Update::ToolCall(ToolCall { tool_call_id: id, title, fields }),
            Some(_) => Update::ToolChanged(ToolUpdate { tool_call_id: id, title: Some(title), fields }),
        }
    }
}

/// Whose tool call it is, if it is a subagent's.
pub fn place(event: &Event) -> Meta<'_> {
    let (thread, parent_tool_call_id) = (event.thread.as_deref(), event.parent.as_deref());
    if thread.is_none() && parent_tool_call_id.is_none() {
        return Meta::default();
    }
    Meta::ours(Ours { thread, parent_tool_call_id, ..Ours::default() })
}

/// A command printed more.
pub fn printed<'a>(id: &'a str, data: &'a str) -> Update<'a> {
    let terminal_output = Some(TerminalOutput { terminal_id: id, data });
    told(id, Meta { terminal_output, ..Meta::default() })
}

/// Something is told beside the protocol.
pub fn told<'a>(id: &'a str, meta: Meta<'a>) -> Update<'a> {
    let fields = ToolFields { meta, ..ToolFields::default() };
    Update::ToolChanged(ToolUpdate { tool_call_id: id, title: None, fields })
}

/// It got so far, and nothing else changed.
pub fn staged(id: &str, status: ToolStatus) -> Update<'_> {
    let fields = ToolFields { status: Some(status), ..ToolFields::default() };
    Update::ToolChanged(ToolUpdate { tool_call_id: id, title: None, fields })
}

/// What is different about a tool call that goes on.
pub fn changed<'a>(id: &'a str, before: &Item, now: &'a Item) -> Option<Update<'a>> {
    let (old, mut new) = (tools::begun(before), tools::begun(now));
    let old_title = tools::title(before);
    let title = Some(tools::title(now)).filter(|title| *title != old_title);
    let same = |one: &ToolFields<'_>, other: &ToolFields<'_>, of: fn(&ToolFields<'_>) -> String| of(one) == of(other);
    new.status = None;
    if same(&old, &new, |fields| json(&fields.raw_input)) {
        new.raw_input = None;
    }
    if same(&old, &new, |fields| json(&fields.locations)) {
        new.locations = None;
    }
    if same(&old, &new, |fields| json(&fields.content)) {
        new.content = None;
    }
    new.kind = new.kind.filter(|kind| old.kind != Some(*kind));
    new.name = new.name.filter(|name| old.name != Some(name));
    let nothing = title.is_none() && json(&new) == "{}";
    (!nothing).then_some(Update::ToolChanged(ToolUpdate { tool_call_id: id, title, fields: new }))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A tool call is over.
pub fn ended<'a>(event: &'a Event, id: &'a str, item: &'a Item, tracked: &Tracked, client: Abilities) -> Update<'a> {
    let mut fields = tools::ended(item);
    fields.meta = place(event);
    if let switchboard_event::Details::Command(command) = &item.details {
        if client.output_beside() {
            fields.meta.terminal_exit = Some(TerminalExit { terminal_id: id, exit_code: command.exit_code });
        }
        if client.terminals {
            let rest = match tracked.field {
                None | Some(Field::Output) => tracked.rest(&command.output),
                Some(_) => &command.output,
            };
            fields.content = None;
            fields.meta.terminal_output = (!rest.is_empty()).then_some(TerminalOutput { terminal_id: id, data: rest });
        }
    }
    Update::ToolChanged(ToolUpdate { tool_call_id: id, title: None, fields })
}
