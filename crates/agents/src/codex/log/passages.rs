//! What can be searched for in a rollout, each text once.

use std::borrow::Cow;

use super::{
    super::names,
    ends,
    line::Line,
    output::Output,
    said::{self, Voice, Way},
    skim::Rollout,
};
use crate::{Finds, Json, Kind, Object};

/// Adds what a record says.
pub fn of(line: &Line<'_>, repeated: bool, rollout: &mut Rollout, found: &mut Finds) {
    match line.kind.as_ref() {
        "response_item" => item(line, repeated, rollout, found),
        "event_msg" => event(line, repeated, rollout, found),
        "compacted" => found.say(Kind::SessionSummary, line.at, None, &line.fields.str("message").unwrap_or_default()),
        "inter_agent_communication" => {
            let text = names::text(&line.fields, &["content", "message"]).unwrap_or_default();
            found.say(Kind::Meta, line.at, None, &text);
        }
        _ => {}
    }
}

fn item(line: &Line<'_>, repeated: bool, rollout: &mut Rollout, found: &mut Finds) {
    let (fields, what, at) = (&line.fields, line.what(), line.at);
    match &*what {
        "message" if repeated => {}
        "message" if fields.is("role", "assistant") => {
            let text = said::text(fields);
            speak(Kind::AssistantMessage, Way::Item, &text, line, rollout, found);
        }
        "message" => {
            let kind = if said::prompt(line).is_some() { Kind::UserMessage } else { Kind::Meta };
            found.say(kind, at, None, &said::text(fields));
        }
        "reasoning" => {
            for text in ["summary", "content"].into_iter().flat_map(|key| said::texts(&fields.array(key))) {
                speak(Kind::Reasoning, Way::Item, &text, line, rollout, found);
            }
        }
        "agent_message" => found.say(Kind::Meta, at, None, &said::text(fields)),
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
            let call = fields.str("call_id").unwrap_or_default();
            found.say(Kind::ToolResult, at, rollout.called(&call), &Output::of(fields).text);
        }
        _ => {
            if let Some((_, name)) = call(&what, fields) {
                found.say(Kind::ToolCall, at, Some(&name), &input(fields));
            }
        }
    }
}

fn event(line: &Line<'_>, repeated: bool, rollout: &mut Rollout, found: &mut Finds) {
    let fields = &line.fields;
    let text = || names::text(fields, &["message", "text"]).unwrap_or_default();
    match line.what().as_ref() {
        "user_message" if !repeated && said::prompt(line).is_some() => {
            found.say(Kind::UserMessage, line.at, None, &text());
        }
        "agent_message" => speak(Kind::AssistantMessage, Way::Event, &text(), line, rollout, found),
        "agent_reasoning" | "agent_reasoning_raw_content" => {
            speak(Kind::Reasoning, Way::Event, &text(), line, rollout, found);
        }
        "task_complete" => {
            found.say(Kind::SystemMessage, line.at, None, &fields.object("error").str("message").unwrap_or_default());
        }
        "error" | "stream_error" | "warning" => found.say(Kind::SystemMessage, line.at, None, &text()),
        "item_completed" => completed(line, repeated, rollout, found),
        _ => {}
    }
}

fn completed(line: &Line<'_>, repeated: bool, rollout: &mut Rollout, found: &mut Finds) {
    let Some(native) = line.fields.get("item") else { return };
    let fields = native.object();
    match fields.str("type").as_deref() {
        Some("UserMessage") if repeated => {}
        Some("UserMessage") => found.say(Kind::UserMessage, line.at, None, &said::text(&fields)),
        Some("AgentMessage") => {
            speak(Kind::AssistantMessage, Way::Event, &said::text(&fields), line, rollout, found);
        }
        Some("Reasoning") => {
            for text in fields.strings("summary_text").into_iter().chain(fields.strings("raw_content")) {
                speak(Kind::Reasoning, Way::Event, &text, line, rollout, found);
            }
        }
        Some("Plan") => found.say(Kind::AssistantMessage, line.at, None, &fields.str("text").unwrap_or_default()),
        // What the provider does is said by its item; what was called, by the call and its answer.
        Some("WebSearch" | "ImageGeneration") => {}
        _ => {
            if let Some(end) = ends::completed(native).filter(|end| rollout.called(&end.id).is_none()) {
                script(&end, line, found);
            }
        }
    }
}

/// A tool that was called by a script of the model, of which nothing else is told.
fn script(end: &ends::End<'_>, line: &Line<'_>, found: &mut Finds) {
    let fields = end.native.object();
    let words = fields.get("command").map(super::super::items::argv);
    let asked: Cow<'_, str> = match (words, names::get(&fields, &["changes", "arguments", "prompt"])) {
        (Some(words), _) => words.into(),
        (None, Some(other)) => other.display(),
        (None, None) => Cow::default(),
    };
    found.say(Kind::ToolCall, line.at, Some(&end.kind), &asked);
    let gave = names::get(&fields, &["aggregated_output", "stdout", "result"]).map(Json::display).unwrap_or_default();
    found.say(Kind::ToolResult, line.at, Some(&end.kind), &gave);
}

fn speak(kind: Kind, way: Way, text: &str, line: &Line<'_>, rollout: &mut Rollout, found: &mut Finds) {
    let voice = if kind == Kind::Reasoning { Voice::Thought } else { Voice::Agent };
    if !text.is_empty() && !rollout.said.again(voice, way, text, line.at) {
        found.say(kind, line.at, None, text);
    }
}

/// The call that an item of the model is: its id and the tool's name.
pub fn call(what: &str, item: &Object<'_>) -> Option<(String, String)> {
    let name = match what {
        "function_call" | "custom_tool_call" => item.filled("name")?,
        "local_shell_call" => "local_shell".to_owned(),
        "tool_search_call" => "tool_search".to_owned(),
        "web_search_call" => "web_search".to_owned(),
        "image_generation_call" => "image_generation".to_owned(),
        _ => return None,
    };
    Some((names::string(item, &["call_id", "id"]).unwrap_or_default(), name))
}

fn input<'a>(item: &Object<'a>) -> Cow<'a, str> {
    names::get(item, &["arguments", "input", "action", "revised_prompt"]).map(Json::display).unwrap_or_default()
}
