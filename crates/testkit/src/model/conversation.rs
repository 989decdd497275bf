//! A conversation as far as the model follows it: the user's newest words, and what tools gave since then.

/// What was said, in order, whatever the API calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// By the user, or in the user's name.
    User(String),
    /// By the model: a text, a thought or a call.
    Model,
    /// By a tool.
    Tool(String),
}

/// Where a conversation stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The user's newest words.
    pub prompt: String,
    /// How often tools have run since then.
    pub step: usize,
    /// What they gave the last time, in short.
    pub results: Vec<String>,
}

/// Elements that agents put into the user's messages, around things that no user said.
const INJECTED: &[&str] = &["system-reminder", "environment_context", "session_context", "user_instructions"];

/// Beginnings of messages that agents send in the user's name.
const IN_THE_USERS_NAME: &[&str] = &[
    "[Request interrupted by user",
    "System: Please continue",
    "# AGENTS.md instructions",
    "Caveat: The messages below",
    "Output token limit hit",
    "[Your previous response had no visible output",
    "[System: ",
];

/// The longest result that is repeated.
const SHORT: usize = 80;

impl Said {
    /// A message of the user that has several texts.
    pub fn by_user(texts: &[&str]) -> Self {
        let words: Vec<_> = texts.iter().map(|text| own_words(text)).filter(|words| !words.is_empty()).collect();
        Self::User(words.join("\n"))
    }
}

/// Where a conversation stands.
pub fn turn(said: &[Said]) -> Turn {
    let words = |said: &Said| match said {
        Said::User(text) => Some(own_words(text)).filter(|words| !words.is_empty()),
        Said::Model | Said::Tool(_) => None,
    };
    let newest = said.iter().enumerate().rev().find_map(|(at, said)| Some((at, words(said)?)));
    let (prompt, since) = match newest {
        Some((at, prompt)) => (prompt, said.get(at..).unwrap_or_default()),
        None => (String::new(), said),
    };
    let rounds: Vec<Vec<String>> = rounds(since);
    Turn { prompt, step: rounds.len(), results: rounds.last().cloned().unwrap_or_default() }
}

/// The results of tools, by the request that they came with: the model speaks in between.
fn rounds(said: &[Said]) -> Vec<Vec<String>> {
    let by_the_model = said.split(|said| *said == Said::Model);
    let results = by_the_model.map(|said| said.iter().filter_map(result).collect::<Vec<_>>());
    results.filter(|results| !results.is_empty()).collect()
}

fn result(said: &Said) -> Option<String> {
    match said {
        Said::Tool(text) => Some(short(text)),
        Said::User(_) | Said::Model => None,
    }
}

/// The first line that says something, and not all of it if it is long.
fn short(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing");
    line.chars().take(SHORT).collect()
}

/// What the user said, without what the agent put around it.
fn own_words(text: &str) -> String {
    let text = INJECTED.iter().fold(text.to_owned(), |text, name| without_element(&text, name));
    let text = text.trim();
    let injected = is_an_element(text) || IN_THE_USERS_NAME.iter().any(|beginning| text.starts_with(beginning));
    if injected { String::new() } else { text.to_owned() }
}

fn without_element(text: &str, name: &str) -> String {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut kept = text.to_owned();
    while let Some((before, rest)) = kept.split_once(&open) {
        let after = rest.split_once(&close).map_or("", |(_, after)| after);
        kept = format!("{before}{after}");
    }
    kept
}

/// The whole text is one element: nobody types that.
fn is_an_element(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('<') else { return false };
    let name: String = inner.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
    !name.is_empty() && text.ends_with(&format!("</{name}>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Said {
        Said::User(text.to_owned())
    }

    fn tool(text: &str) -> Said {
        Said::Tool(text.to_owned())
    }

    #[test]
    fn only_the_newest_words_count() {
        let said = [user("[[text one]]"), Said::Model, user("[[text two]]")];
        assert_eq!(turn(&said), Turn { prompt: "[[text two]]".to_owned(), ..Turn::default() });
    }

    #[test]
    fn what_no_user_said_is_not_a_prompt() {
        let said = [
            user("<session_context>\nthe date\n</session_context>"),
            user("<system-reminder>be brief</system-reminder>\n go <system-reminder>again</system-reminder>"),
            Said::Model,
            tool("x"),
            user("<turn_aborted>\nby the user\n</turn_aborted>"),
            user("[Request interrupted by user]"),
        ];
        assert_eq!(turn(&said), Turn { prompt: "go".to_owned(), step: 1, results: vec!["x".to_owned()] });
    }

    #[test]
    fn tools_that_run_together_are_one_step() {
        let said = [user("go"), Said::Model, Said::Model, tool("\n a \nb"), tool("c"), Said::Model, tool("")];
        let turn = turn(&said);
        assert_eq!((turn.step, turn.results), (2, vec!["nothing".to_owned()]));
    }
}
