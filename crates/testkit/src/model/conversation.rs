//! The part of a conversation that the model follows: the user's latest text, and the tool results since then.

use serde_json::{Map, Value, json};

use super::answer::ModelAnswer;

/// An entry of the conversation, independent of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationEntry {
    /// By the user, or on the user's behalf.
    User(String),
    /// Text, reasoning or a call of the model.
    Model,
    Tool(String),
}

/// The current state of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationTurn {
    /// The user's latest text.
    pub prompt: String,
    /// Number of tool rounds since then.
    pub step: usize,
    /// The last tool results, shortened.
    pub results: Vec<String>,
}

/// Elements that agents insert into user messages.
const INJECTED_ELEMENTS: &[&str] = &["system-reminder", "environment_context", "session_context", "user_instructions"];

/// Beginnings of messages that agents send on the user's behalf.
const INJECTED_PREFIXES: &[&str] = &[
    "[Request interrupted by user",
    "System: Please continue",
    "# AGENTS.md instructions",
    "Caveat: The messages below",
    "Output token limit hit",
    "[Your previous response had no visible output",
    "[System: ",
];

const MAX_RESULT_CHARS: usize = 80;

impl ConversationEntry {
    /// Joins the texts of a user message.
    pub fn from_user_texts(texts: &[&str]) -> Self {
        let words: Vec<_> = texts.iter().map(|text| user_words(text)).filter(|words| !words.is_empty()).collect();
        Self::User(words.join("\n"))
    }
}

pub fn current_turn(entries: &[ConversationEntry]) -> ConversationTurn {
    let words = |entries: &ConversationEntry| match entries {
        ConversationEntry::User(text) => Some(user_words(text)).filter(|words| !words.is_empty()),
        ConversationEntry::Model | ConversationEntry::Tool(_) => None,
    };
    let newest = entries.iter().enumerate().rev().find_map(|(at, entries)| Some((at, words(entries)?)));
    let (prompt, since) = match newest {
        Some((at, prompt)) => (prompt, entries.get(at..).unwrap_or_default()),
        None => (String::new(), entries),
    };
    let rounds: Vec<Vec<String>> = tool_rounds(since);
    ConversationTurn { prompt, step: rounds.len(), results: rounds.last().cloned().unwrap_or_default() }
}

/// Groups tool results by request: the model speaks in between.
fn tool_rounds(entries: &[ConversationEntry]) -> Vec<Vec<String>> {
    let by_the_model = entries.split(|entries| *entries == ConversationEntry::Model);
    let results = by_the_model.map(|entries| entries.iter().filter_map(tool_result).collect::<Vec<_>>());
    results.filter(|results| !results.is_empty()).collect()
}

fn tool_result(entries: &ConversationEntry) -> Option<String> {
    match entries {
        ConversationEntry::Tool(text) => Some(first_line(text)),
        ConversationEntry::User(_) | ConversationEntry::Model => None,
    }
}

/// Returns the first non-empty line, shortened.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing");
    line.chars().take(MAX_RESULT_CHARS).collect()
}

/// Returns the user's text without the agent's insertions.
fn user_words(text: &str) -> String {
    let text = INJECTED_ELEMENTS.iter().fold(text.to_owned(), |text, name| remove_element(&text, name));
    let text = text.trim();
    let injected = is_single_element(text) || INJECTED_PREFIXES.iter().any(|beginning| text.starts_with(beginning));
    if injected { String::new() } else { text.to_owned() }
}

fn remove_element(text: &str, name: &str) -> String {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut remaining = text.to_owned();
    while let Some((before, rest)) = remaining.split_once(&open) {
        let after = rest.split_once(&close).map_or("", |(_, after)| after);
        remaining = format!("{before}{after}");
    }
    remaining
}

/// Returns whether the whole text is one element, which users do not type.
fn is_single_element(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('<') else { return false };
    let name: String = inner.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
    !name.is_empty() && text.ends_with(&format!("</{name}>"))
}

/// The purpose of a request outside of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum SideRequest {
    Title,
    Summary,
    /// JSON of this schema.
    Json(Value),
    /// A token count.
    Count,
}

impl SideRequest {
    /// Classifies a request by its instructions. Conversations always have tools, so only requests without tools
    /// qualify.
    pub fn classify(instructions: &str, has_tools: bool) -> Option<Self> {
        if has_tools {
            return None;
        }
        let instructions: String = instructions.chars().take(1_000).collect::<String>().to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| instructions.contains(word));
        match () {
            () if says(&["title"]) => Some(Self::Title),
            () if says(&["summar", "compact"]) => Some(Self::Summary),
            () => None,
        }
    }

    pub fn scripted_answer(&self) -> ModelAnswer {
        match self {
            Self::Title => ModelAnswer::from_text("A scripted title"),
            Self::Summary | Self::Count => ModelAnswer::from_text("<summary>What was said before.</summary>"),
            Self::Json(schema) => ModelAnswer::from_text(&minimal_value(schema).to_string()),
        }
    }
}

/// Returns the smallest value that a schema allows, as far as agents' schemas go.
fn minimal_value(schema: &Value) -> Value {
    if let Some(first) = schema.pointer("/enum/0") {
        return first.clone();
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("object").to_lowercase();
    match kind.as_str() {
        "string" => json!("scripted"),
        "number" | "integer" => json!(0),
        "boolean" => json!(false),
        "array" => json!([]),
        _ => Value::Object(minimal_fields(schema)),
    }
}

fn minimal_fields(schema: &Value) -> Map<String, Value> {
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.into_iter().flatten().map(|(name, schema)| (name.clone(), minimal_value(schema))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_entry(text: &str) -> ConversationEntry {
        ConversationEntry::User(text.to_owned())
    }

    fn tool_entry(text: &str) -> ConversationEntry {
        ConversationEntry::Tool(text.to_owned())
    }

    #[test]
    fn only_the_newest_words_count() {
        let entries = [user_entry("[[text one]]"), ConversationEntry::Model, user_entry("[[text two]]")];
        assert_eq!(
            current_turn(&entries),
            ConversationTurn { prompt: "[[text two]]".to_owned(), ..ConversationTurn::default() }
        );
    }

    #[test]
    fn what_no_user_said_is_not_a_prompt() {
        let entries = [
            user_entry("<session_context>\nthe date\n</session_context>"),
            user_entry("<system-reminder>be brief</system-reminder>\n go <system-reminder>again</system-reminder>"),
            ConversationEntry::Model,
            tool_entry("x"),
            user_entry("<turn_aborted>\nby the user\n</turn_aborted>"),
            user_entry("[Request interrupted by user]"),
        ];
        assert_eq!(
            current_turn(&entries),
            ConversationTurn { prompt: "go".to_owned(), step: 1, results: vec!["x".to_owned()] }
        );
    }

    #[test]
    fn tools_that_run_together_are_one_step() {
        let entries = [
            user_entry("go"),
            ConversationEntry::Model,
            ConversationEntry::Model,
            tool_entry("\n a \nb"),
            tool_entry("c"),
            ConversationEntry::Model,
            tool_entry(""),
        ];
        let turn = current_turn(&entries);
        assert_eq!((turn.step, turn.results), (2, vec!["nothing".to_owned()]));
    }

    #[test]
    fn a_request_with_tools_is_the_conversation() {
        assert_eq!(SideRequest::classify("You write titles.", false), Some(SideRequest::Title));
        assert_eq!(SideRequest::classify("You write titles.", true), None);
        assert_eq!(SideRequest::classify("You are an agent.", false), None);
    }

    #[test]
    fn a_schema_is_kept() {
        let schema = json!({ "type": "OBJECT", "properties": { "why": { "type": "string" },
            "choice": { "type": "string", "enum": ["small", "large"] }, "sure": { "type": "number" } } });
        let want = json!({ "why": "scripted", "choice": "small", "sure": 0 });
        assert_eq!(SideRequest::Json(schema).scripted_answer().joined_text(), want.to_string());
    }
}
