//! Work beside the conversation: subagents and commands in the background.

use std::collections::VecDeque;

use switchboard_event::{Details, Id, Level, Notice, Topic};

use super::live::{Live, heartbeat};
use crate::{Object, Scribe};

/// How many tasks are remembered. A process that started more has long been done with the oldest.
const REMEMBERED: usize = 256;

/// Which task belongs to which tool call, and which ones run.
#[derive(Default)]
pub struct Tasks {
    calls: VecDeque<(Id, Id)>,
    running: VecDeque<Id>,
}

impl Tasks {
    fn learn(&mut self, task: &str, call: &str) {
        if self.calls.len() == REMEMBERED {
            self.calls.pop_front();
        }
        self.calls.push_back((Id::from(task), Id::from(call)));
    }

    fn started(&mut self, task: &str) {
        self.ended(task);
        if self.running.len() == REMEMBERED {
            self.running.pop_front();
        }
        self.running.push_back(Id::from(task));
    }

    fn ended(&mut self, task: &str) {
        self.running.retain(|known| **known != *task);
    }

    /// Something runs in the background.
    pub fn is_any_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// The task of a tool call.
    pub fn of_call(&self, call: &str) -> Option<Id> {
        self.calls.iter().rev().find(|(_, c)| *c == *call).map(|(task, _)| task.clone())
    }

    /// The tool call of a task.
    pub fn call_of(&self, task: &str) -> Option<Id> {
        self.calls.iter().rev().find(|(t, _)| *t == *task).map(|(_, call)| call.clone())
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
                self.tasks.started(&task);
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
                if matches!(status.as_str(), "completed" | "failed" | "killed" | "stopped") {
                    self.tasks.ended(&task);
                }
                scribe.notice_about(call, notice.with_status(status));
            }
            _ => {
                self.tasks.ended(&task);
                self.task_ended(call, notice, fields, scribe);
            }
        }
    }

    /// `background_tasks_changed`: all that run now.
    pub(super) fn background_tasks(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let running: Vec<_> =
            fields.array("tasks").into_iter().filter_map(|task| task.object().filled("task_id")).collect();
        self.tasks.running.clear();
        running.iter().for_each(|task| self.tasks.started(task));
        scribe.notice(heartbeat("background_tasks_changed"));
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
