//! `show_session`: a session as Markdown, a page at a time.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use switchboard_logs::{
    LogSession, Transcript,
    export::{
        Redactor, TranscriptDocument, rebuild,
        story::{StepContent, TranscriptStep, TranscriptToolCall, TranscriptTurn},
    },
};

use super::{LogTool, ToolReply, arguments_schema, parse_arguments, truncate_chars};
use crate::{failure::Failure, mcp::RefreshedLibrary};

pub const TOOL: LogTool = LogTool {
    name: "show_session",
    title: "Read a past session",
    description: "Read one session as Markdown: prompts, answers, tool calls with their output \
                  in brief, file changes, subagents. Long sessions are paged: the end of a page gives the `offset` of the next \
                  one. `turn` starts at that turn, as search_sessions reports it. Secrets are masked.",
    schema: arguments_schema::<ShowArguments>,
    call: show_session,
};

/// Characters kept at the beginning and at the end of a tool's output.
const OUTPUT_CHARS: (usize, usize) = (1_000, 500);

/// Characters kept at the beginning and at the end of a diff.
const DIFF_CHARS: (usize, usize) = (2_000, 500);

/// What to show.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Show")]
struct ShowArguments {
    /// The session: its ID, the beginning of it, or `last`, which is usually the current one.
    session: String,
    /// First turn to show, from 1.
    turn: Option<u32>,
    /// Number of characters to skip: given at the end of the previous page. Repeat the same `turn` with it.
    #[schemars(range(min = 0), extend("default" = 0))]
    offset: Option<u32>,
    /// Maximum number of characters.
    #[schemars(range(min = 1_000, max = 60_000), extend("default" = 20_000))]
    max_chars: Option<u32>,
    /// Include the agent's reasoning.
    #[schemars(extend("default" = false))]
    thinking: Option<bool>,
    /// Include all tool output, not only the beginning and the end.
    #[schemars(extend("default" = false))]
    full_output: Option<bool>,
}

fn show_session(archive: &RefreshedLibrary, value: Value) -> Result<ToolReply, Failure> {
    let show: ShowArguments = parse_arguments(value)?;
    let (session, mut story, is_kept) = archive.ask(|library| {
        let session = library.find_session(&show.session)?;
        let (events, is_kept) = match library.read_transcript(&session)? {
            Transcript::Events(events) => (events, false),
            Transcript::Kept(passages) => (rebuild::rebuild_events(&session, &passages), true),
        };
        Ok((session, TranscriptDocument::from_events(&events), is_kept))
    })?;
    let redactor = Redactor::new()?;
    story.redact(&redactor);
    let last = story.turns.iter().map(|turn| turn.number).max().unwrap_or(0);
    if let Some(turn) = show.turn.filter(|turn| *turn > last) {
        return Err(Failure::bad_value("turn", format!("there is no turn {turn}: this session has {last}")));
    }
    let look = StoryOptions { thinking: show.thinking == Some(true), full: show.full_output == Some(true) };
    let text = format!(
        "{}{}",
        session_heading(&session, is_kept, &redactor),
        render_story(&story, show.turn.unwrap_or(0), &look)
    );
    let offset = usize::try_from(show.offset.unwrap_or(0)).unwrap_or(0);
    let most = usize::try_from(show.max_chars.unwrap_or(20_000).clamp(1_000, 60_000)).unwrap_or(1_000);
    Ok(ToolReply::Text(page_of(&text, offset, most)))
}

fn session_heading(session: &LogSession, is_kept: bool, redactor: &Redactor) -> String {
    let facts = &session.facts;
    let title = facts.title.as_deref().or(facts.prompt.as_deref()).unwrap_or("a session");
    let mut head = format!("# {}\n\n", truncate_chars(&redactor.redact_text(title), 200).replace('\n', " "));
    let times = [("began", facts.began), ("updated", facts.updated)];
    let times = times.into_iter().filter_map(|(name, at)| Some((name, at?.to_string())));
    let said = [("project", &facts.cwd), ("branch", &facts.branch), ("model", &facts.model)];
    let said = said.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    let own = [("session", session.id.clone()), ("agent", session.agent.clone())];
    for (name, value) in own.into_iter().chain(said).chain(times) {
        head.push_str(&format!("- {name}: {value}\n"));
    }
    if is_kept {
        head.push_str("- the agent has deleted its log: this is what was kept of its text\n");
    }
    head
}

/// Returns a page of the text, which ends with a line if possible, and how to get the next one.
fn page_of(text: &str, offset: usize, most: usize) -> String {
    let place = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(place, _)| place);
    let (from, mut to) = (place(offset), place(offset.saturating_add(most)));
    if to < text.len()
        && let Some(line) = text.get(from..to).and_then(|piece| piece.rfind('\n')).filter(|line| *line > 0)
    {
        to = from + line + 1;
    }
    let shown = text.get(from..to).unwrap_or_default();
    let (next, all) = (offset + shown.chars().count(), text.chars().count());
    match (shown.is_empty(), to < text.len()) {
        (true, _) => format!("[nothing is left: there are {all} characters]"),
        (false, true) => format!("{shown}\n[{} characters are left: go on with offset {next}]", all - next),
        (false, false) => shown.to_owned(),
    }
}

struct StoryOptions {
    thinking: bool,
    pub full: bool,
}

fn render_story(story: &TranscriptDocument, from: u32, look: &StoryOptions) -> String {
    let mut text = String::new();
    for turn in story.turns.iter().filter(|turn| turn.number >= from) {
        push_turn_heading(turn, &mut text);
        turn.steps.iter().for_each(|it| push_step(it, 0, look, &mut text));
        if let Some(problem) = &turn.problem {
            text.push_str(&format!("\n(the turn ended: {problem})\n"));
        }
    }
    text
}

fn push_turn_heading(turn: &TranscriptTurn, text: &mut String) {
    let at = turn.at.map(|at| format!(" · {at}")).unwrap_or_default();
    text.push_str(&format!("\n## Turn {}{at}\n", turn.number));
    if let Some(prompt) = &turn.prompt {
        text.push('\n');
        prompt.lines().for_each(|line| text.push_str(&format!("> {line}\n")));
    }
}

fn push_step(step: &TranscriptStep, depth: usize, look: &StoryOptions, text: &mut String) {
    let margin = "  ".repeat(depth);
    match &step.what {
        StepContent::Said(said) => push_paragraph(said, &margin, text),
        StepContent::Thought(thought) if look.thinking => push_paragraph(&format!("(thinks) {thought}"), &margin, text),
        StepContent::Thought(_) => {}
        StepContent::Did(did) => push_tool_call(did, &margin, look, text),
        StepContent::Note(note) => push_paragraph(&format!("({note})"), &margin, text),
    }
    step.inner.iter().for_each(|inner| push_step(inner, depth + 1, look, text));
}

fn push_paragraph(said: &str, margin: &str, text: &mut String) {
    text.push('\n');
    said.trim().lines().for_each(|line| text.push_str(&format!("{margin}{line}\n")));
}

fn push_tool_call(did: &TranscriptToolCall, margin: &str, look: &StoryOptions, text: &mut String) {
    let about = did.command.as_deref().unwrap_or(&did.about);
    let about = if about.trim().is_empty() { did.input.as_deref().unwrap_or_default() } else { about };
    text.push_str(&format!("\n{margin}- **{}** {}", did.name, fold_middle(about.trim(), OUTPUT_CHARS, look.full)));
    let code = did.exit_code.map(|code| format!("exit {code}"));
    let ended: Vec<String> = [code, did.problem.clone()].into_iter().flatten().collect();
    if !ended.is_empty() {
        text.push_str(&format!(" → {}", ended.join(", ")));
    }
    text.push('\n');
    for change in &did.changes {
        text.push_str(&format!("{margin}  {}\n", change.path));
        push_block(&fold_middle(&change.diff, DIFF_CHARS, look.full), margin, text);
    }
    push_block(&fold_middle(&did.output, OUTPUT_CHARS, look.full), margin, text);
}

fn push_block(said: &str, margin: &str, text: &mut String) {
    if said.trim().is_empty() {
        return;
    }
    said.trim_end().lines().for_each(|line| text.push_str(&format!("{margin}  | {line}\n")));
}

/// Keeps the beginning and the end of a text, and reports how much is left out.
fn fold_middle(text: &str, (head, tail): (usize, usize), full: bool) -> String {
    let count = text.chars().count();
    if full || count <= head + tail {
        return text.to_owned();
    }
    let place = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(place, _)| place);
    let (head, tail) =
        (text.get(..place(head)).unwrap_or_default(), text.get(place(count - tail)..).unwrap_or_default());
    let left = count - head.chars().count() - tail.chars().count();
    format!("{head}\n… ({left} characters left out)\n{tail}")
}

#[cfg(test)]
mod tests {

    use switchboard_agents::SessionFacts;
    use switchboard_logs::{LogSession, export::Redactor};

    use super::{page_of, session_heading};

    #[test]
    fn secrets_in_the_title_are_masked() {
        let secret = ["ghp", "_a8Fk2LmQ9xZr7TbW4vYc1NdH6sJp3GeU5iKo"].concat();
        let session = LogSession {
            id: "1".to_owned(),
            agent: "x".to_owned(),
            machine: None,
            facts: SessionFacts { title: Some(format!("push with {secret} please")), ..SessionFacts::default() },
            files: Vec::new(),
            gone: false,
            archived: false,
            bytes: None,
            own: None,
            subagents: Vec::new(),
        };
        let head = session_heading(&session, false, &Redactor::new().unwrap());
        assert!(head.starts_with("# push with [redacted:github-token] please\n"), "{head}");
    }

    #[test]
    fn pieces_are_the_whole() {
        let text = "one\ntwö\nthree\n\nfour and no end".repeat(3);
        let (mut joined, mut offset) = (String::new(), 0);
        loop {
            let shown = page_of(&text, offset, 9);
            match shown.rsplit_once("\n[") {
                Some((shown, rest)) => {
                    joined.push_str(shown);
                    offset = rest.rsplit_once("offset ").unwrap().1.trim_end_matches(']').parse().unwrap();
                }
                None => {
                    joined.push_str(&shown);
                    break;
                }
            }
        }
        assert_eq!(joined, text);
        assert!(page_of(&text, 10_000, 9).starts_with("[nothing is left"));
    }
}
