//! A session for a model to read: as much as says what happened, and little more.

use switchboard_logs::export::story::{
    StepContent, TranscriptDocument, TranscriptStep, TranscriptToolCall, TranscriptTurn,
};

/// Characters kept of the beginning and of the end of a tool's output.
const OUTPUT: (usize, usize) = (1_000, 500);

/// Characters kept of the beginning and of the end of a diff.
const DIFF: (usize, usize) = (2_000, 500);

/// What is shown.
pub struct Look {
    /// What the agent thought.
    pub thinking: bool,
    /// All that tools printed.
    pub full: bool,
}

/// The story from a turn on.
pub fn written(story: &TranscriptDocument, from: u32, look: &Look) -> String {
    let mut text = String::new();
    for turn in story.turns.iter().filter(|turn| turn.number >= from) {
        begin(turn, &mut text);
        turn.steps.iter().for_each(|it| step(it, 0, look, &mut text));
        if let Some(problem) = &turn.problem {
            text.push_str(&format!("\n(the turn ended: {problem})\n"));
        }
    }
    text
}

fn begin(turn: &TranscriptTurn, text: &mut String) {
    let at = turn.at.map(|at| format!(" · {at}")).unwrap_or_default();
    text.push_str(&format!("\n## Turn {}{at}\n", turn.number));
    if let Some(prompt) = &turn.prompt {
        text.push('\n');
        prompt.lines().for_each(|line| text.push_str(&format!("> {line}\n")));
    }
}

fn step(step: &TranscriptStep, depth: usize, look: &Look, text: &mut String) {
    let margin = "  ".repeat(depth);
    match &step.what {
        StepContent::Said(said) => paragraph(said, &margin, text),
        StepContent::Thought(thought) if look.thinking => paragraph(&format!("(thinks) {thought}"), &margin, text),
        StepContent::Thought(_) => {}
        StepContent::Did(did) => done(did, &margin, look, text),
        StepContent::Note(note) => paragraph(&format!("({note})"), &margin, text),
    }
    step.inner.iter().for_each(|inner| self::step(inner, depth + 1, look, text));
}

fn paragraph(said: &str, margin: &str, text: &mut String) {
    text.push('\n');
    said.trim().lines().for_each(|line| text.push_str(&format!("{margin}{line}\n")));
}

fn done(did: &TranscriptToolCall, margin: &str, look: &Look, text: &mut String) {
    let about = did.command.as_deref().unwrap_or(&did.about);
    let about = if about.trim().is_empty() { did.input.as_deref().unwrap_or_default() } else { about };
    text.push_str(&format!("\n{margin}- **{}** {}", did.name, folded(about.trim(), OUTPUT, look.full)));
    let code = did.exit_code.map(|code| format!("exit {code}"));
    let ended: Vec<String> = [code, did.problem.clone()].into_iter().flatten().collect();
    if !ended.is_empty() {
        text.push_str(&format!(" → {}", ended.join(", ")));
    }
    text.push('\n');
    for change in &did.changes {
        text.push_str(&format!("{margin}  {}\n", change.path));
        block(&folded(&change.diff, DIFF, look.full), margin, text);
    }
    block(&folded(&did.output, OUTPUT, look.full), margin, text);
}

fn block(said: &str, margin: &str, text: &mut String) {
    if said.trim().is_empty() {
        return;
    }
    said.trim_end().lines().for_each(|line| text.push_str(&format!("{margin}  | {line}\n")));
}

/// The beginning and the end of a text, and how much is left out.
fn folded(text: &str, (head, tail): (usize, usize), full: bool) -> String {
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
