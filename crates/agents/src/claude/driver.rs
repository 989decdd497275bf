//! The driver of Claude Code: the handshake, prompts, settings, and a response to every request.

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use switchboard_event::{Dir, ErrorCode, Event, EventBody, Fault};

use super::{
    errors, launch,
    offers::ClaudeOptions,
    requests::{self, PendingControlRequests},
    rules,
    turn_tracker::{ClaudeTurnTracker, SETTLE_TIMER},
};
use crate::{
    AgentCommand, AgentDriver, AgentPrompt, DriverEffect, DriverEffects, DriverSignal, JsonObject, JsonView,
    LaunchRequest, PromptImage, Record, RecordBody, RequestAnswer, UnsupportedOperation,
    commands::{self, SlashCommands},
};

/// The id of the handshake request.
pub const INITIALIZE_REQUEST_ID: &str = "initialize";

/// Drives one process of Claude Code.
pub struct ClaudeDriver {
    cwd: String,
    /// The session to resume.
    resumed: Option<String>,
    /// The JSON Schema of all answers. It belongs to the process, not to a prompt.
    schema: Option<Box<RawValue>>,
    ids: PromptIds,
    requests: u64,
    ready: bool,
    commands: SlashCommands,
    offers: ClaudeOptions,
    asked: PendingControlRequests,
    pace: ClaudeTurnTracker,
}

/// A control request sent to Claude Code.
#[derive(Serialize)]
struct ClaudeControlRequest<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    request_id: &'a str,
    request: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeInitialize<'a> {
    subtype: &'a str,
    /// Includes the text of subagents, not only their tool calls.
    forward_subagent_text: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_schema: Option<&'a RawValue>,
}

impl ClaudeDriver {
    /// Creates the driver of a process that is launched by this request.
    pub fn new(order: &LaunchRequest<'_>) -> Self {
        let mut offers = ClaudeOptions::default();
        if let Some(model) = launch::initial_model(order) {
            offers.set_model(&model);
        }
        Self {
            cwd: order.cwd.to_string_lossy().into_owned(),
            resumed: order.resume.map(|resume| resume.session.to_owned()),
            schema: order.prompt.output_schema.clone(),
            ids: PromptIds::new(order.secret),
            requests: 0,
            ready: false,
            commands: SlashCommands::default(),
            offers,
            asked: PendingControlRequests::default(),
            pace: ClaudeTurnTracker::default(),
        }
    }
}

impl AgentDriver for ClaudeDriver {
    fn open(&mut self, effects: &mut DriverEffects) {
        let hello = ClaudeInitialize {
            subtype: INITIALIZE_REQUEST_ID,
            forward_subagent_text: true,
            json_schema: self.schema.as_deref(),
        };
        effects.send_record(&ClaudeControlRequest {
            kind: "control_request",
            request_id: INITIALIZE_REQUEST_ID,
            request: hello,
        });
    }

    fn observe_record(&mut self, record: &Record<'_>, events: &[Event], effects: &mut DriverEffects) {
        let grows = |event: &Event| matches!(event.body, EventBody::ItemDelta(_));
        // Most records only append a few words.
        if record.dir == Dir::Out || !events.is_empty() && events.iter().all(grows) {
            return;
        }
        if let RecordBody::Json(raw) = record.body {
            self.handle_record(&JsonView::from_raw(raw).as_object(), effects);
        }
    }

    fn handle_command(
        &mut self,
        handle_command: AgentCommand,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        match handle_command {
            AgentCommand::Prompt(prompt) => return self.send_prompt(&prompt, effects),
            AgentCommand::Answer(answer) => return self.send_answer(&answer, effects),
            AgentCommand::Interrupt => self.interrupt_turn(effects),
            AgentCommand::SetModel(model) => {
                self.offers.set_model(&model);
                self.send_request(json!({ "subtype": "set_model", "model": model }), effects);
            }
            AgentCommand::SetMode(mode) => {
                rules::check_mode(&mode)?;
                self.send_request(json!({ "subtype": "set_permission_mode", "mode": mode }), effects);
            }
            AgentCommand::SetOption { id, value } => {
                let request = self.offers.setting_request(&id, &value)?;
                self.send_request(request, effects);
            }
            AgentCommand::Slash { name, arguments } => {
                self.commands.check_name(&name)?;
                return self.send_prompt(&commands::command_prompt(&name, &arguments), effects);
            }
            AgentCommand::Close => effects.push(DriverEffect::CloseInput),
        }
        Ok(())
    }

    fn check_slash_command(&self, name: &str) -> Result<(), UnsupportedOperation> {
        self.commands.check_name(name)
    }

    fn handle_signal(&mut self, signal: DriverSignal, effects: &mut DriverEffects) {
        if signal == DriverSignal::Timer(SETTLE_TIMER) {
            self.pace.handle_timeout(effects);
        }
    }
}

impl ClaudeDriver {
    /// Sends a request and returns the id of its response.
    fn send_request(&mut self, request: Value, effects: &mut DriverEffects) -> String {
        self.requests += 1;
        let request_id = format!("switchboard-{}", self.requests);
        effects.send_record(&ClaudeControlRequest { kind: "control_request", request_id: &request_id, request });
        request_id
    }

    fn send_prompt(&mut self, prompt: &AgentPrompt, effects: &mut DriverEffects) -> Result<(), UnsupportedOperation> {
        let schema = prompt.output_schema.as_deref().map(RawValue::get);
        if schema.is_some() && schema != self.schema.as_deref().map(RawValue::get) {
            return Err(UnsupportedOperation::new("Claude Code cannot change the schema of its answers in a session")
                .with_hint("give the schema with the first prompt, or resume the session with it"));
        }
        let id = self.ids.next();
        effects.send_record(&prompt_message(prompt, Some(&id)));
        if self.pace.is_working() {
            // Any cheap request serves as a marker.
            let mark = self.send_request(json!({ "subtype": "get_binary_version" }), effects);
            self.pace.queue_prompt(id, mark);
        }
        self.pace.mark_prompted();
        Ok(())
    }

    /// Stops the turn. Queued prompts would start the next turn immediately, so they are cancelled first.
    fn interrupt_turn(&mut self, effects: &mut DriverEffects) {
        for prompt in self.pace.begin_stop() {
            self.send_request(json!({ "subtype": "cancel_async_message", "message_uuid": prompt }), effects);
        }
        self.send_request(json!({ "subtype": "interrupt" }), effects);
    }

    fn send_answer(&mut self, answer: &RequestAnswer, effects: &mut DriverEffects) -> Result<(), UnsupportedOperation> {
        let asked = self.asked.get(&answer.request);
        let asked = asked.ok_or_else(|| UnsupportedOperation::new("Claude Code no longer waits for this answer"))?;
        let response = requests::decision_response(asked, answer, &self.cwd)?;
        effects.send_record(&requests::success_response(&answer.request, &response));
        self.asked.remove_request(&answer.request);
        Ok(())
    }

    /// Handles a record from Claude Code.
    fn handle_record(&mut self, fields: &JsonObject<'_>, effects: &mut DriverEffects) {
        match fields.get_str("type").as_deref() {
            Some("control_response") => self.handle_response(&fields.get_object("response"), effects),
            Some("control_request") => self.handle_request(fields, effects),
            Some("control_cancel_request") => {
                self.asked.remove_request(&fields.get_str("request_id").unwrap_or_default())
            }
            Some("system") => self.handle_system(fields, effects),
            Some("result") => self.handle_result(fields, effects),
            _ => {}
        }
    }

    /// Handles the response to a request. A failed handshake is no reason to stop: its response only adds details.
    fn handle_response(&mut self, response: &JsonObject<'_>, effects: &mut DriverEffects) {
        let id = response.get_str("request_id").unwrap_or_default();
        if id == INITIALIZE_REQUEST_ID && !self.ready {
            self.ready = true;
            let payload = response.get_object("response");
            self.update_commands(&payload);
            self.offers.apply_initialize(&payload);
            effects.push(DriverEffect::Ready);
        }
        self.pace.acknowledge_mark(&id);
    }

    /// Updates the known commands, by all their names.
    fn update_commands(&mut self, fields: &JsonObject<'_>) {
        let commands = fields.get_array("commands").into_iter().map(JsonView::as_object);
        let names = commands
            .flat_map(|command| command.get_non_empty("name").into_iter().chain(command.get_strings("aliases")));
        self.commands.set_names(names);
    }

    /// Keeps requests for clients and answers all others. No request may stay without a response.
    fn handle_request(&mut self, fields: &JsonObject<'_>, effects: &mut DriverEffects) {
        let id = fields.get_string("request_id").unwrap_or_default();
        let request = fields.get_object("request");
        match request.get_str("subtype").as_deref() {
            Some("can_use_tool" | "elicitation") => {
                self.asked.insert_request(&id, fields.get_raw("request").unwrap_or_default());
            }
            // Switchboard registers no hooks; an empty response lets Claude Code continue.
            Some("hook_callback") => effects.send_record(&requests::success_response(&id, &json!({}))),
            Some("request_user_dialog") => {
                effects.send_record(&requests::success_response(&id, &json!({ "behavior": "cancelled" })))
            }
            _ => effects.send_record(&requests::error_response(&id, "not supported here")),
        }
    }

    fn handle_system(&mut self, fields: &JsonObject<'_>, effects: &mut DriverEffects) {
        match fields.get_str("subtype").as_deref() {
            Some("session_state_changed") => {
                self.pace.apply_state(&fields.get_str("state").unwrap_or_default(), effects)
            }
            Some("init") => {
                self.pace.mark_turn_started(effects);
                if let Some(model) = fields.get_non_empty("model") {
                    self.offers.set_model(&model);
                }
                self.check_schema(fields, effects);
            }
            Some("commands_changed") => self.update_commands(fields),
            Some(task) if task.starts_with("task_") => self.pace.apply_task(task, fields),
            _ => {}
        }
    }

    /// Claude Code 2.1.197 does not report a schema that it rejects. It only lacks the tool for it.
    fn check_schema(&self, init: &JsonObject<'_>, effects: &mut DriverEffects) {
        let tools = init.get_strings("tools");
        if self.schema.is_some() && !tools.is_empty() && !tools.iter().any(|tool| tool == "StructuredOutput") {
            let text = "Claude Code does not take the schema for its answers: is it valid JSON Schema?";
            effects.give_up(Fault::new(ErrorCode::ExecutionError, text));
        }
    }

    fn handle_result(&mut self, fields: &JsonObject<'_>, effects: &mut DriverEffects) {
        let missing = !self.ready && errors::result_fault(fields, None, None).code == ErrorCode::SessionNotFound;
        if missing {
            let (session, cwd) = (self.resumed.as_deref().unwrap_or_default(), &self.cwd);
            let text = format!("Claude Code has no session {session} in {cwd}, and looks for it nowhere else");
            return effects.give_up(Fault::new(ErrorCode::SessionNotFound, text));
        }
        self.pace.mark_turn_ended(effects);
    }
}

/// Builds the message of a prompt. An id allows it to be cancelled while it is queued, and identifies it on disk.
pub fn prompt_message(prompt: &AgentPrompt, id: Option<&str>) -> Value {
    let mut message = json!({
        "type": "user",
        "message": { "role": "user", "content": prompt_content(prompt) },
        "parent_tool_use_id": null,
        "session_id": "",
    });
    if let (Some(id), Some(fields)) = (id, message.as_object_mut()) {
        fields.insert("uuid".to_owned(), id.into());
    }
    message
}

fn prompt_content(prompt: &AgentPrompt) -> Value {
    if prompt.images.is_empty() {
        return prompt.text.clone().into();
    }
    // The API rejects empty text.
    let text = (!prompt.text.is_empty()).then(|| json!({ "type": "text", "text": prompt.text }));
    text.into_iter().chain(prompt.images.iter().map(image_block)).collect()
}

fn image_block(image: &PromptImage) -> Value {
    let source = json!({ "type": "base64", "media_type": image.media_type, "data": image.data });
    json!({ "type": "image", "source": source })
}

/// Ids for prompts: UUIDs, as Claude Code requires. Another process of the same conversation must not generate the same
/// ones, so they are derived from a secret of this one.
struct PromptIds {
    seed: u128,
    given: u128,
}

impl PromptIds {
    /// Derives ids from a secret without revealing it.
    pub fn new(secret: &str) -> Self {
        // FNV-1a with 128 bits.
        let mix = |seed: u128, byte: u8| (seed ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        Self { seed: secret.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, mix), given: 0 }
    }

    /// Returns a new id.
    pub fn next(&mut self) -> String {
        self.given += 1;
        let id =
            (self.seed.wrapping_add(self.given) & !(0xf000 << 64) & !(0xc000 << 48)) | (0x4000 << 64) | (0x8000 << 48);
        let part = |shift: u32, bits: u32| (id >> shift) & ((1 << bits) - 1);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 32),
            part(80, 16),
            part(64, 16),
            part(48, 16),
            part(0, 48)
        )
    }
}

#[cfg(test)]
mod tests {

    use super::PromptIds;

    #[test]
    fn ids_are_uuids_and_never_twice_the_same() {
        let (mut one, mut other) = (PromptIds::new("a secret"), PromptIds::new("another"));
        let ids = [one.next(), one.next(), other.next()];
        for id in &ids {
            let parts: Vec<_> = id.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
            assert!(id.chars().nth(14) == Some('4') && id.chars().nth(19).is_some_and(|c| "89ab".contains(c)), "{id}");
        }
        assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
    }
}
