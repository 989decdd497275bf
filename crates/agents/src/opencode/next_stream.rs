//! Streamed content in `session.next.*`: text and tool calls.

use switchboard_event::{Call, Id, Item, Level, Notice, Tool, Topic};

use super::{
    bus::Bus,
    calls::{Pending, call_key},
    errors,
    speech::{self, Voice},
    state::{Phase, State},
};
use crate::{JsonObject, RunRecorder};

impl Bus {
    /// Reads text or reasoning.
    pub(super) fn next_speech(
        &mut self,
        voice: Voice,
        key: &str,
        stage: &str,
        fields: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let reply = Id::from(fields.get_str("assistantMessageID").unwrap_or_default());
        let id = call_key(&reply, &fields.get_str(&format!("{key}ID")).unwrap_or_default());
        if self.ended.has(&id) {
            return self.late(&id, &format!("{key}.{stage}"), recorder);
        }
        if self.main {
            self.turn.ensure(recorder);
        }
        if !recorder.item_is_open(&id) {
            speech::begin(&id, voice, Some(&reply), recorder);
        }
        match stage {
            "delta" => {
                speech::grow(&id, &fields.get_str("delta").unwrap_or_default(), recorder);
            }
            "ended" => {
                let text = fields.get_str("text").unwrap_or_default();
                speech::whole(&id, voice, &text, Some(&reply), recorder);
                speech::end(&id, voice, &text, Some(&reply), None, recorder);
                self.ended.insert(id, ());
            }
            _ => {}
        }
    }

    pub(super) fn next_tool(&mut self, stage: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let reply = Id::from(fields.get_str("assistantMessageID").unwrap_or_default());
        let id = call_key(&reply, &fields.get_str("callID").unwrap_or_default());
        if self.ended.has(&id) {
            return self.late(&id, &format!("tool.{stage}"), recorder);
        }
        if self.main {
            self.turn.ensure(recorder);
        }
        match stage {
            "called" => self.next_called(&id, &reply, fields, recorder),
            "progress" => self.next_news(&id, &reply, Phase::Running, fields, recorder),
            "success" => self.next_news(&id, &reply, Phase::Completed, fields, recorder),
            "failed" => self.next_news(&id, &reply, Phase::Failed, fields, recorder),
            "input.started" => {
                let tool = fields.get_string("name").unwrap_or_default();
                let notice = Notice::new(Topic::Control).with_level(Level::Debug).with_name(tool.clone());
                self.calls.insert(id.clone(), Pending { part: id.clone(), tool, diff: None });
                recorder.write_notice_about(Some(id), notice.with_status("pending"));
            }
            _ => {}
        }
    }

    fn next_called(&mut self, id: &Id, reply: &Id, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let state = State {
            tool: fields.get_str("tool").unwrap_or_default(),
            phase: Phase::Running,
            input: fields.get("input"),
            title: None,
            output: "".into(),
            error: None,
            meta: JsonObject::default(),
            files: Vec::new(),
            took: None,
        };
        if !self.calls.has(id) {
            self.calls.insert(id.clone(), Pending { part: id.clone(), tool: state.tool.to_string(), diff: None });
        }
        self.tool_running(id, id, reply, &state, recorder);
    }

    fn next_news(&mut self, id: &Id, reply: &Id, phase: Phase, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let named = || self.calls.get(id).map(|pending| pending.tool.clone()).unwrap_or_default();
        let known = recorder.open_item(id).cloned().unwrap_or_else(|| announced(named()));
        let mut state = State::of_news(&known, phase, fields);
        state.error = fields.get("error").map(|error| errors::fault(error).message);
        match phase {
            Phase::Running => self.tool_running(id, id, reply, &state, recorder),
            _ => self.tool_ended(id, id, reply, &state, recorder),
        }
    }
}

/// Returns the item of a call that failed before its input was complete.
fn announced(tool: String) -> Item {
    let call = Call { name: tool, ..Call::default() };
    Item::new(Tool::default()).with_call(call)
}
