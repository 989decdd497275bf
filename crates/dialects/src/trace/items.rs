//! Messages and reasoning when complete; tools when called and when they return.

use std::borrow::Cow;

use switchboard_event::{CallKind, ChangeKind, Details, Event, FileOp, Id, Item, Status};

use super::{
    project::{TraceProjection, is_from_subagent},
    session::{PendingTokens, ReplyModel},
    wire::{TraceChannel, TraceEventType, TraceTool, TraceToolStatus},
};
use crate::{MessageBuffer, tools, track::item_text};

impl TraceProjection {
    pub(super) fn item_started(&mut self, item: &Item, event: &Event, out: &mut MessageBuffer) {
        if let Some(id) = event.item.as_ref().filter(|_| tools::is_work(item)) {
            self.push_tool_call(id, item, event, out);
        }
    }

    pub(super) fn item_completed(&mut self, item: &Item, event: &Event, out: &mut MessageBuffer) {
        let Some(id) = &event.item else { return };
        match &item.details {
            // A retracted message is not part of the conversation.
            Details::AgentMessage(message) if item.status == Status::Superseded => {
                self.event_sink(event, out).send_meta(&message.text);
            }
            Details::AgentMessage(message) => {
                self.said |= !is_from_subagent(event) && !message.text.is_empty();
                self.push_message(TraceEventType::AssistantMessage, Some(&message.text), item, event, out);
            }
            Details::Reasoning(_) => {
                let text = Some(item_text(item, None)).filter(|text| !text.is_empty());
                self.push_message(TraceEventType::Reasoning, text, item, event, out);
            }
            Details::UserMessage(message) => self.user_message(message, event, out),
            _ if tools::is_work(item) || self.calls.contains(id) => self.push_tool_result(id, item, event, out),
            Details::Plan(plan) => self.event_sink(event, out).send_meta(&tools::plan_text(plan)),
            Details::Unknown(unknown) => self.event_sink(event, out).send_meta(&unknown.name),
            _ => {}
        }
        // The item may have ended as another type than it started; drop its state either way.
        self.calls.remove(id);
    }

    fn push_message(
        &mut self,
        kind: TraceEventType,
        text: Option<&str>,
        item: &Item,
        event: &Event,
        out: &mut MessageBuffer,
    ) {
        let held = self.take_tokens(item, event);
        let model = self.model_of(item, event);
        self.event_sink(event, out).send(kind, TraceChannel::Chat, |line| {
            line.what.text = text;
            model.apply_to(&mut line.model);
            if let Some(held) = &held {
                line.set_usage(&held.usage);
            }
        });
    }

    fn model_of(&self, item: &Item, event: &Event) -> ReplyModel {
        match &item.model {
            Some(model) => ReplyModel::Known(model.clone()),
            None => self.models.model_of(item.reply.as_ref(), is_from_subagent(event)),
        }
    }

    fn take_tokens(&mut self, item: &Item, event: &Event) -> Option<Box<PendingTokens>> {
        self.held.take_if(|held| held.belongs_to(item, event))
    }

    fn push_tool_call(&mut self, id: &Id, item: &Item, event: &Event, out: &mut MessageBuffer) {
        if !self.calls.insert(id.clone()) {
            return;
        }
        let held = self.take_tokens(item, event);
        let model = self.model_of(item, event);
        let text = input_text(item);
        let mut sink = self.event_sink(event, out);
        sink.set_id(id, "");
        sink.send(TraceEventType::ToolCall, tool_channel(item), |line| {
            model.apply_to(&mut line.model);
            line.what.text = Some(&*text).filter(|text| !text.is_empty());
            line.tool = Some(TraceTool { status: Some(TraceToolStatus::InProgress), ..tool_fields(id, item) });
            if let Some(held) = &held {
                line.set_usage(&held.usage);
            }
        });
    }

    /// Writes a tool result, and first the call if its start was not seen.
    fn push_tool_result(&mut self, id: &Id, item: &Item, event: &Event, out: &mut MessageBuffer) {
        self.push_tool_call(id, item, event, out);
        self.calls.remove(id);
        let display = item.call.as_ref().and_then(|call| call.display.as_deref());
        let text = display.map_or_else(|| tools::output_or_error(item), Cow::Borrowed);
        let model = self.model_of(item, event);
        let mut sink = self.event_sink(event, out);
        sink.set_id(id, ":result");
        sink.send(TraceEventType::ToolResult, tool_channel(item), |line| {
            model.apply_to(&mut line.model);
            line.what.text = Some(&text);
            line.tool = Some(TraceTool {
                status: Some(tool_status(item)),
                latency_ms: item.duration_ms,
                exit_code: exit_code(item),
                ..tool_fields(id, item)
            });
        });
    }
}

/// Returns the tool fields shared by call and result.
fn tool_fields<'a>(id: &'a Id, item: &'a Item) -> TraceTool<'a> {
    let file_path = tool_file(item);
    TraceTool {
        name: Some(tools::tool_name(item)),
        call_id: Some(id),
        file_path,
        file_language: file_path.and_then(file_language),
        file_op: file_operation(item),
        ..TraceTool::default()
    }
}

fn exit_code(item: &Item) -> Option<i32> {
    let commands = match &item.details {
        Details::Command(command) => command.exit_code,
        _ => None,
    };
    commands.or_else(|| item.call.as_ref()?.exit_code)
}

/// Returns the input of a tool as text.
fn input_text(item: &Item) -> Cow<'_, str> {
    match (item.call.as_ref().and_then(|call| call.input.as_deref()), &item.details) {
        (Some(input), _) if input.get().starts_with('"') => tools::readable_json(input),
        (Some(input), _) => Cow::Borrowed(input.get()),
        (None, Details::FileChange(change)) => Cow::Owned(tools::changes_text(&change.changes)),
        (None, _) => Cow::Owned(tools::tool_arguments(item).get().to_owned()),
    }
}

/// Returns the first file that a tool refers to.
fn tool_file(item: &Item) -> Option<&str> {
    let changed = match &item.details {
        Details::FileChange(change) => change.changes.first().map(|change| change.path.as_str()),
        _ => None,
    };
    changed.or_else(|| item.call.as_ref()?.locations.first().map(|location| location.path.as_str()))
}

fn file_operation(item: &Item) -> Option<FileOp> {
    let called = item.call.as_ref().and_then(|call| call.op);
    called.or_else(|| match &item.details {
        Details::FileChange(change) => change.changes.first().map(|change| match change.kind {
            ChangeKind::Add => FileOp::Create,
            ChangeKind::Modify => FileOp::Modify,
            ChangeKind::Delete => FileOp::Delete,
            ChangeKind::Move => FileOp::Move,
        }),
        _ => None,
    })
}

fn tool_channel(item: &Item) -> TraceChannel {
    let kind = item.call.as_ref().map_or(CallKind::Other, |call| call.kind);
    match (&item.details, kind) {
        (Details::Command(_), _) => TraceChannel::Terminal,
        (Details::FileChange(_), _) => TraceChannel::Editor,
        (Details::Mcp(_) | Details::WebSearch(_) | Details::Subagent(_) | Details::Plan(_), _) => TraceChannel::Other,
        (_, CallKind::Execute) => TraceChannel::Terminal,
        (_, CallKind::Edit | CallKind::Delete | CallKind::Move) => TraceChannel::Editor,
        (_, CallKind::Read | CallKind::Search) => TraceChannel::Filesystem,
        _ => TraceChannel::Other,
    }
}

fn tool_status(item: &Item) -> TraceToolStatus {
    match item.status {
        Status::Running | Status::Superseded => TraceToolStatus::Unknown,
        // Nothing was reported about its end.
        Status::Interrupted if tools::reported_error(item).is_none() => TraceToolStatus::Unknown,
        _ if tools::has_succeeded(item) => TraceToolStatus::Success,
        _ => TraceToolStatus::Error,
    }
}

/// Returns the language of a file, if its name is known.
pub fn file_language(path: &str) -> Option<&'static str> {
    let name = path.rsplit(['/', '\\']).next()?;
    find_language(LANGUAGES_BY_NAME, name)
        .or_else(|| find_language(LANGUAGES_BY_EXTENSION, &name.rsplit_once('.')?.1.to_ascii_lowercase()))
}

type LanguageTable = &'static [(&'static str, &'static [&'static str])];

/// Languages by complete file name.
const LANGUAGES_BY_NAME: LanguageTable = &[
    ("makefile", &["Makefile", "makefile", "GNUmakefile"]),
    ("dockerfile", &["Dockerfile", "Containerfile"]),
    ("cmake", &["CMakeLists.txt"]),
    ("ruby", &["Gemfile", "Rakefile"]),
    ("groovy", &["Jenkinsfile"]),
    ("just", &["justfile", "Justfile"]),
    ("shell", &[".bashrc", ".profile", ".zshrc"]),
];

/// Languages by file extension.
const LANGUAGES_BY_EXTENSION: LanguageTable = &[
    ("rust", &["rs"]),
    ("typescript", &["ts", "tsx", "mts", "cts"]),
    ("javascript", &["js", "jsx", "mjs", "cjs"]),
    ("python", &["py", "pyi"]),
    ("go", &["go"]),
    ("java", &["java"]),
    ("kotlin", &["kt", "kts"]),
    ("swift", &["swift"]),
    ("c", &["c", "h"]),
    ("cpp", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"]),
    ("csharp", &["cs"]),
    ("fsharp", &["fs", "fsx"]),
    ("objective-c", &["m", "mm"]),
    ("ruby", &["rb"]),
    ("php", &["php"]),
    ("perl", &["pl", "pm"]),
    ("lua", &["lua"]),
    ("r", &["r"]),
    ("julia", &["jl"]),
    ("scala", &["scala", "sc"]),
    ("clojure", &["clj", "cljs", "cljc"]),
    ("elixir", &["ex", "exs"]),
    ("erlang", &["erl", "hrl"]),
    ("haskell", &["hs"]),
    ("ocaml", &["ml", "mli"]),
    ("dart", &["dart"]),
    ("zig", &["zig"]),
    ("nim", &["nim"]),
    ("groovy", &["groovy", "gradle"]),
    ("shell", &["sh", "bash", "zsh", "fish"]),
    ("powershell", &["ps1", "psm1"]),
    ("batch", &["bat", "cmd"]),
    ("sql", &["sql"]),
    ("html", &["html", "htm"]),
    ("css", &["css"]),
    ("scss", &["scss", "sass"]),
    ("less", &["less"]),
    ("vue", &["vue"]),
    ("svelte", &["svelte"]),
    ("json", &["json", "jsonl", "json5", "jsonc"]),
    ("yaml", &["yaml", "yml"]),
    ("toml", &["toml"]),
    ("xml", &["xml", "xsd", "xsl", "svg"]),
    ("ini", &["ini", "cfg", "conf"]),
    ("markdown", &["md", "markdown", "mdx"]),
    ("restructuredtext", &["rst"]),
    ("latex", &["tex"]),
    ("protobuf", &["proto"]),
    ("graphql", &["graphql", "gql"]),
    ("hcl", &["tf", "tfvars", "hcl"]),
    ("nix", &["nix"]),
    ("cmake", &["cmake"]),
    ("makefile", &["mk"]),
    ("dockerfile", &["dockerfile"]),
    ("jupyter", &["ipynb"]),
    ("text", &["txt", "log"]),
    ("csv", &["csv"]),
    ("diff", &["diff", "patch"]),
];

fn find_language(table: LanguageTable, word: &str) -> Option<&'static str> {
    table.iter().find(|(_, words)| words.contains(&word)).map(|(language, _)| *language)
}

#[cfg(test)]
mod tests {
    use super::file_language;

    #[test]
    fn names_tell_the_language() {
        for (path, language) in [
            ("/w/src/main.rs", Some("rust")),
            ("App.TSX", Some("typescript")),
            ("C:\\w\\a.py", Some("python")),
            ("/w.d/Makefile", Some("makefile")),
            ("CMakeLists.txt", Some("cmake")),
            ("/w/noext", None),
            ("/w/odd.xyz", None),
            ("", None),
        ] {
            assert_eq!(file_language(path), language, "{path}");
        }
    }
}
