//! Background work: subagents and background commands.

use std::collections::VecDeque;

use switchboard_event::{Details, Id, Level, Notice, Topic};

use super::live::{ClaudeStreamReader, heartbeat_notice};
use crate::{JsonObject, RunRecorder, bounded::push_bounded};

/// The maximum number of remembered tasks. A process that started more has long finished the oldest.
const MAX_REMEMBERED_TASKS: usize = 256;

/// The tool call of each task, and the running tasks.
#[derive(Default)]
pub struct BackgroundTasks {
    calls: VecDeque<(Id, Id)>,
    running: VecDeque<Id>,
}

impl BackgroundTasks {
    fn remember_call(&mut self, task: &str, call: &str) {
        push_bounded(&mut self.calls, (Id::from(task), Id::from(call)), MAX_REMEMBERED_TASKS);
    }

    fn mark_started(&mut self, task: &str) {
        self.mark_ended(task);
        push_bounded(&mut self.running, Id::from(task), MAX_REMEMBERED_TASKS);
    }

    fn mark_ended(&mut self, task: &str) {
        self.running.retain(|known| **known != *task);
    }

    pub fn is_any_running(&self) -> bool {
        !self.running.is_empty()
    }

    pub fn task_of_call(&self, call: &str) -> Option<Id> {
        self.calls.iter().rev().find(|(_, c)| *c == *call).map(|(task, _)| task.clone())
    }

    pub fn call_of_task(&self, task: &str) -> Option<Id> {
        self.calls.iter().rev().find(|(t, _)| *t == *task).map(|(_, call)| call.clone())
    }
}

impl ClaudeStreamReader {
    /// Reads a `system/task_*` record.
    pub(super) fn read_task(&mut self, subtype: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let task = fields.get_string("task_id").unwrap_or_default();
        let call = fields.get_str("tool_use_id").map(Id::from).or_else(|| self.tasks.call_of_task(&task));
        let notice = Notice::new(Topic::Task).with_name(task.clone());
        match subtype {
            "task_started" => {
                self.tasks.mark_started(&task);
                self.link_started_task(&task, call.as_ref(), fields, recorder);
                let text = fields.get_string("description").unwrap_or_default();
                recorder.write_notice_about(call, notice.with_status("started").with_text(text));
            }
            "task_progress" => {
                let elapsed = fields.get_object("usage").get_u64("duration_ms");
                let text = fields.get_non_empty("description");
                let known = call.as_ref().is_some_and(|call| recorder.item_progress(call, elapsed, None, text.clone()));
                if !known {
                    recorder.write_notice_about(call, Notice { text, ..notice.with_status("running") });
                }
            }
            "task_updated" => {
                let status = fields.get_object("patch").get_string("status").unwrap_or_else(|| "running".to_owned());
                if matches!(status.as_str(), "completed" | "failed" | "killed" | "stopped") {
                    self.tasks.mark_ended(&task);
                }
                recorder.write_notice_about(call, notice.with_status(status));
            }
            _ => {
                self.tasks.mark_ended(&task);
                self.read_task_end(call, notice, fields, recorder);
            }
        }
    }

    /// Reads `background_tasks_changed`: the tasks that run now.
    pub(super) fn read_background_tasks(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let running: Vec<_> = fields
            .get_array("tasks")
            .into_iter()
            .filter_map(|task| task.as_object().get_non_empty("task_id"))
            .collect();
        self.tasks.running.clear();
        running.iter().for_each(|task| self.tasks.mark_started(task));
        recorder.write_notice(heartbeat_notice("background_tasks_changed"));
    }

    fn link_started_task(
        &mut self,
        task: &str,
        call: Option<&Id>,
        fields: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let Some(call) = call else { return };
        self.tasks.remember_call(task, call);
        if let Some(Details::Subagent(subagent)) = recorder.item_mut(call).map(|item| &mut item.details) {
            subagent.thread = Some(Id::from(task));
            if subagent.prompt.is_none() {
                subagent.prompt = fields.get_non_empty("prompt");
            }
        }
    }

    /// Reads `task_notification`. After the turn, the next turn is about it.
    fn read_task_end(&mut self, call: Option<Id>, notice: Notice, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.woken |= !recorder.in_turn();
        let status = fields.get_string("status").unwrap_or_else(|| "completed".to_owned());
        let level = if status == "failed" { Level::Warning } else { Level::Info };
        let notice = notice.with_status(status).with_level(level);
        recorder.write_notice_about(call, Notice { text: fields.get_non_empty("summary"), ..notice });
    }
}
