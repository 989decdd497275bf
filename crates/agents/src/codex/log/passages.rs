//! Searchable text of a rollout, without duplicates.

use std::borrow::Cow;

use super::{
    messages::{self, MessageForm, MessageSpeaker},
    record::RolloutRecord,
    scanner::RolloutScanner,
    tool_calls::{self, RolloutToolOutput},
};
use crate::{
    JsonObject, JsonView, PassageKind, ScanOutput,
    codex::{first_field, first_str, first_string},
};

/// Adds the text of a record.
pub fn add_record(line: &RolloutRecord<'_>, repeated: bool, rollout: &mut RolloutScanner, found: &mut ScanOutput) {
    match line.kind.as_ref() {
        "response_item" => add_item(line, repeated, rollout, found),
        "event_msg" => add_event(line, repeated, rollout, found),
        "compacted" => found.add_passage(
            PassageKind::SessionSummary,
            line.at,
            None,
            &line.fields.get_str("message").unwrap_or_default(),
        ),
        "inter_agent_communication" => {
            let text = first_str(&line.fields, &["content", "message"]).unwrap_or_default();
            found.add_passage(PassageKind::Meta, line.at, None, &text);
        }
        _ => {}
    }
}

fn add_item(line: &RolloutRecord<'_>, repeated: bool, rollout: &mut RolloutScanner, found: &mut ScanOutput) {
    let (fields, what, at) = (&line.fields, line.payload_type(), line.at);
    match &*what {
        "message" if repeated => {}
        "message" if fields.str_equals("role", "assistant") => {
            let text = messages::message_text(fields);
            add_once(PassageKind::AssistantMessage, MessageForm::Item, &text, line, rollout, found);
        }
        "message" => {
            let kind = if messages::find_prompt(line).is_some() { PassageKind::UserMessage } else { PassageKind::Meta };
            found.add_passage(kind, at, None, &messages::message_text(fields));
        }
        "reasoning" => {
            for text in ["summary", "content"].into_iter().flat_map(|key| messages::part_texts(&fields.get_array(key)))
            {
                add_once(PassageKind::Reasoning, MessageForm::Item, &text, line, rollout, found);
            }
        }
        "agent_message" => found.add_passage(PassageKind::Meta, at, None, &messages::message_text(fields)),
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
            let call = fields.get_str("call_id").unwrap_or_default();
            found.add_passage(
                PassageKind::ToolResult,
                at,
                rollout.tool_name(&call),
                &RolloutToolOutput::parse(fields).text,
            );
        }
        _ => {
            if let Some((_, name)) = parse_call_name(&what, fields) {
                found.add_passage(PassageKind::ToolCall, at, Some(&name), &call_input(fields));
            }
        }
    }
}

fn add_event(line: &RolloutRecord<'_>, repeated: bool, rollout: &mut RolloutScanner, found: &mut ScanOutput) {
    let fields = &line.fields;
    let text = || first_str(fields, &["message", "text"]).unwrap_or_default();
    match line.payload_type().as_ref() {
        "user_message" if !repeated && messages::find_prompt(line).is_some() => {
            found.add_passage(PassageKind::UserMessage, line.at, None, &text());
        }
        "agent_message" => add_once(PassageKind::AssistantMessage, MessageForm::Event, &text(), line, rollout, found),
        "agent_reasoning" | "agent_reasoning_raw_content" => {
            add_once(PassageKind::Reasoning, MessageForm::Event, &text(), line, rollout, found);
        }
        "task_complete" => {
            found.add_passage(
                PassageKind::SystemMessage,
                line.at,
                None,
                &fields.get_object("error").get_str("message").unwrap_or_default(),
            );
        }
        "error" | "stream_error" | "warning" => found.add_passage(PassageKind::SystemMessage, line.at, None, &text()),
        "item_completed" => add_completed_item(line, repeated, rollout, found),
        _ => {}
    }
}

fn add_completed_item(line: &RolloutRecord<'_>, repeated: bool, rollout: &mut RolloutScanner, found: &mut ScanOutput) {
    let Some(native) = line.fields.get("item") else { return };
    let fields = native.as_object();
    match fields.get_str("type").as_deref() {
        Some("UserMessage") if repeated => {}
        Some("UserMessage") => {
            found.add_passage(PassageKind::UserMessage, line.at, None, &messages::message_text(&fields))
        }
        Some("AgentMessage") => {
            add_once(
                PassageKind::AssistantMessage,
                MessageForm::Event,
                &messages::message_text(&fields),
                line,
                rollout,
                found,
            );
        }
        Some("Reasoning") => {
            for first_str in fields.get_strings("summary_text").into_iter().chain(fields.get_strings("raw_content")) {
                add_once(PassageKind::Reasoning, MessageForm::Event, &first_str, line, rollout, found);
            }
        }
        Some("Plan") => {
            found.add_passage(PassageKind::AssistantMessage, line.at, None, &fields.get_str("text").unwrap_or_default())
        }
        // The provider's tools are covered by their items; calls, by the call and its result.
        Some("WebSearch" | "ImageGeneration") => {}
        _ => {
            if let Some(end) =
                tool_calls::parse_completed_item(native).filter(|end| rollout.tool_name(&end.id).is_none())
            {
                add_script_call(&end, line, found);
            }
        }
    }
}

/// Adds a tool call of a model's script, which has no other record.
fn add_script_call(end: &tool_calls::RolloutToolEnd<'_>, line: &RolloutRecord<'_>, found: &mut ScanOutput) {
    let fields = end.native.as_object();
    let words = fields.get("command").map(crate::codex::items::join_argv);
    let asked: Cow<'_, str> = match (words, first_field(&fields, &["changes", "arguments", "prompt"])) {
        (Some(words), _) => words.into(),
        (None, Some(other)) => other.display_text(),
        (None, None) => Cow::default(),
    };
    found.add_passage(PassageKind::ToolCall, line.at, Some(&end.kind), &asked);
    let gave = first_field(&fields, &["aggregated_output", "stdout", "result"])
        .map(JsonView::display_text)
        .unwrap_or_default();
    found.add_passage(PassageKind::ToolResult, line.at, Some(&end.kind), &gave);
}

fn add_once(
    kind: PassageKind,
    way: MessageForm,
    text: &str,
    line: &RolloutRecord<'_>,
    rollout: &mut RolloutScanner,
    found: &mut ScanOutput,
) {
    let voice = if kind == PassageKind::Reasoning { MessageSpeaker::Thought } else { MessageSpeaker::Agent };
    if !text.is_empty() && !rollout.said.is_repeat(voice, way, text, line.at) {
        found.add_passage(kind, line.at, None, text);
    }
}

/// Returns the id and the tool name of a call.
pub fn parse_call_name(what: &str, item: &JsonObject<'_>) -> Option<(String, String)> {
    let name = match what {
        "function_call" | "custom_tool_call" => item.get_non_empty("name")?,
        "local_shell_call" => "local_shell".to_owned(),
        "tool_search_call" => "tool_search".to_owned(),
        "web_search_call" => "web_search".to_owned(),
        "image_generation_call" => "image_generation".to_owned(),
        _ => return None,
    };
    Some((first_string(item, &["call_id", "id"]).unwrap_or_default(), name))
}

fn call_input<'a>(item: &JsonObject<'a>) -> Cow<'a, str> {
    first_field(item, &["arguments", "input", "action", "revised_prompt"])
        .map(JsonView::display_text)
        .unwrap_or_default()
}
