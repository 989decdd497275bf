//! `show_session`: what was said and done in a session, a piece at a time.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use switchboard_logs::{
    LogSession, Transcript,
    export::{Redactor, TranscriptDocument, kept},
};

use super::{Looking, Reply, bad, given, schema, short};
use crate::{
    failure::Failure,
    mcp::{archive::Archive, story},
};

/// The tool.
pub const TOOL: Looking = Looking {
    name: "show_session",
    title: "Read a past session",
    description: "Read what was asked, said and done in one session, as Markdown: turns, answers, tool calls with their output \
                  in short, changes of files, subagents. Long sessions come in pieces: the end says with which `offset` to go \
                  on. `turn` begins at that turn, as search_sessions gives it. Secrets are masked.",
    schema: schema::<Show>,
    call: show,
};

/// What to show.
#[derive(Debug, Deserialize, JsonSchema)]
struct Show {
    /// The session: its id, the beginning of it, or `last`, which is usually the one that you are in.
    session: String,
    /// Begin with this turn, from 1.
    turn: Option<u32>,
    /// How many characters to leave out: as the end of the piece before said. Give the same `turn` with it.
    #[schemars(range(min = 0), extend("default" = 0))]
    offset: Option<u32>,
    /// So many characters at most.
    #[schemars(range(min = 1_000, max = 60_000), extend("default" = 20_000))]
    max_chars: Option<u32>,
    /// Also what the agent thought.
    #[schemars(extend("default" = false))]
    thinking: Option<bool>,
    /// All that tools printed, not only the beginning and the end.
    #[schemars(extend("default" = false))]
    full_output: Option<bool>,
}

fn show(archive: &Archive, value: Value) -> Result<Reply, Failure> {
    let show: Show = given(value)?;
    let (session, mut story, is_kept) = archive.ask(|library| {
        let session = library.find_session(&show.session)?;
        let (events, is_kept) = match library.read_transcript(&session)? {
            Transcript::Events(events) => (events, false),
            Transcript::Kept(passages) => (kept::rebuild_events(&session, &passages), true),
        };
        Ok((session, TranscriptDocument::from_events(&events), is_kept))
    })?;
    let redactor = Redactor::new()?;
    story.redact(&redactor);
    let last = story.turns.iter().map(|turn| turn.number).max().unwrap_or(0);
    if let Some(turn) = show.turn.filter(|turn| *turn > last) {
        return Err(bad("turn", format!("there is no turn {turn}: this session has {last}")));
    }
    let look = story::Look { thinking: show.thinking == Some(true), full: show.full_output == Some(true) };
    let text =
        format!("{}{}", head(&session, is_kept, &redactor), story::written(&story, show.turn.unwrap_or(0), &look));
    let offset = usize::try_from(show.offset.unwrap_or(0)).unwrap_or(0);
    let most = usize::try_from(show.max_chars.unwrap_or(20_000).clamp(1_000, 60_000)).unwrap_or(1_000);
    Ok(Reply::Text(piece(&text, offset, most)))
}

fn head(session: &LogSession, is_kept: bool, redactor: &Redactor) -> String {
    let facts = &session.facts;
    let title = facts.title.as_deref().or(facts.prompt.as_deref()).unwrap_or("a session");
    let mut head = format!("# {}\n\n", short(&redactor.redact_text(title), 200).replace('\n', " "));
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

/// Returns a page of the text that ends with a line if possible, and how to get the next one.
fn piece(text: &str, offset: usize, most: usize) -> String {
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

#[cfg(test)]
mod tests {
    use switchboard_agents::SessionFacts;
    use switchboard_logs::{LogSession, export::Redactor};

    use super::{head, piece};

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
        let head = head(&session, false, &Redactor::new().unwrap());
        assert!(head.starts_with("# push with [redacted:github-token] please\n"), "{head}");
    }

    #[test]
    fn pieces_are_the_whole() {
        let text = "one\ntwö\nthree\n\nfour and no end".repeat(3);
        let (mut joined, mut offset) = (String::new(), 0);
        loop {
            let shown = piece(&text, offset, 9);
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
        assert!(piece(&text, 10_000, 9).starts_with("[nothing is left"));
    }
}
