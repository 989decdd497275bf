//! Work beside the conversation: subagents and commands in the background.

use std::collections::VecDeque;

use switchboard_event::{Details, Id, Level, Notice, Topic};

use super::live::Live;
use crate::{Object, Scribe};

/// How many tasks are remembered. A process that started more has long been done with the oldest.
const REMEMBERED: usize = 256;

/// Which task belongs to which tool call.
#[derive(Default)]
pub struct Tasks(VecDeque<(Id, Id)>);

impl Tasks {
    fn learn(&mut self, task: &str, call: &str) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((Id::from(task), Id::from(call)));
    }

    /// The task of a tool call.
    pub fn of_call(&self, call: &str) -> Option<Id> {
        self.0.iter().rev().find(|(_, c)| *c == *call).map(|(task, _)| task.clone())
    }

    /// The tool call of a task.
    pub fn call_of(&self, task: &str) -> Option<Id> {
        self.0.iter().rev().find(|(t, _)| *t == *task).map(|(_, call)| call.clone())
    }
}

impl Live {
    /// `system/task_*`.
    pub(super) fn task(&mut self, subtype: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        let task = fields.string("task_id").unwrap_or_default();
        let call = fields.str("tool_use_id").map(Id::from).or_else(|| self.tasks.call_of(&task));
        let notice = Notice::new(Topic::Task).with_name(task.clone());
        match subtype {
            "task_started" => {
                self.task_started(&task, call.as_ref(), fields, scribe);
                let text = fields.string("description").unwrap_or_default();
                scribe.notice_about(call, notice.with_status("started").with_text(text));
            }
            "task_progress" => {
                let elapsed = fields.object("usage").u64("duration_ms");
                let text = fields.filled("description");
                let known = call.as_ref().is_some_and(|call| scribe.item_progress(call, elapsed, None, text.clone()));
                if !known {
                    scribe.notice_about(call, Notice { text, ..notice.with_status("running") });
                }
            }
            "task_updated" => {
                let status = fields.object("patch").string("status").unwrap_or_else(|| "running".to_owned());
                scribe.notice_about(call, notice.with_status(status));
            }
            _ => self.task_ended(call, notice, fields, scribe),
        }
    }

    fn task_started(&mut self, task: &str, call: Option<&Id>, fields: &Object<'_>, scribe: &mut Scribe) {
        let Some(call) = call else { return };
        self.tasks.learn(task, call);
        if let Some(Details::Subagent(subagent)) = scribe.item_mut(call).map(|item| &mut item.details) {
            subagent.thread = Some(Id::from(task));
            if subagent.prompt.is_none() {
                subagent.prompt = fields.filled("prompt");
            }
        }
    }

    /// `task_notification`. After the turn, it is what the next turn is about.
    fn task_ended(&mut self, call: Option<Id>, notice: Notice, fields: &Object<'_>, scribe: &mut Scribe) {
        self.woken |= !scribe.in_turn();
        let status = fields.string("status").unwrap_or_else(|| "completed".to_owned());
        let level = if status == "failed" { Level::Warning } else { Level::Info };
        let notice = notice.with_status(status).with_level(level);
        scribe.notice_about(call, Notice { text: fields.filled("summary"), ..notice });
    }
}
