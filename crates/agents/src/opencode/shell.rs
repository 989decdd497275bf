//! What commands print. OpenCode writes remarks for the model around it, and shows only the end of a long output
//! while a command runs.

use crate::Object;

/// How many places are tried where the shown end of an output may continue what is known.
const TRIES: usize = 64;

/// What a command printed in the end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The output itself.
    pub output: String,
    /// There was more of it.
    pub truncated: bool,
    /// What OpenCode remarks about it: why the command was stopped.
    pub remark: Option<String>,
}

/// Takes the remarks off an output.
pub fn printed(output: &str, meta: &Object<'_>) -> Printed {
    let (output, remark) = remark(output);
    let cut = output.strip_prefix("...output truncated...\n\n");
    let body = cut.map_or(output, |rest| rest.split_once("\n\n").map_or(rest, |(_, body)| body));
    let body = if body == "(no output)" { "" } else { body };
    Printed {
        output: body.to_owned(),
        truncated: cut.is_some() || meta.is_true("truncated"),
        remark: remark.map(str::to_owned),
    }
}

fn remark(output: &str) -> (&str, Option<&str>) {
    for (open, close) in
        [("\n\n<shell_metadata>\n", "\n</shell_metadata>"), ("\n\n<bash_metadata>\n", "\n</bash_metadata>")]
    {
        if let Some((before, rest)) = output.rsplit_once(open) {
            return (before, Some(rest.strip_suffix(close).unwrap_or(rest)));
        }
    }
    // Newer sessions say it in a line of its own.
    let (before, last) = output.rsplit_once('\n').unwrap_or(("", output));
    match last {
        "Command timed out before completion." => (before, Some(last)),
        _ if last.starts_with("Command exited with code ") => (before, None),
        _ => (output, None),
    }
}

/// What `shown` adds to what is known. Of an output that is longer than 30,000 characters only the end is shown.
pub fn news<'a>(known: &str, shown: &'a str) -> &'a str {
    if let Some(rest) = shown.strip_prefix(known) {
        return rest;
    }
    let Some(end) = shown.strip_prefix("...\n\n") else { return "" };
    let sign = first(end, 16);
    let mut rest = last(known, end.len());
    for _ in 0..TRIES {
        // So much was printed at once that nothing known is left of it.
        let Some(overlap) = rest.find(sign).and_then(|at| rest.get(at..)) else { return end };
        if let Some(news) = end.strip_prefix(overlap) {
            return news;
        }
        let mut chars = overlap.chars();
        chars.next();
        rest = chars.as_str();
    }
    ""
}

fn first(text: &str, bytes: usize) -> &str {
    (0..=bytes.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

fn last(text: &str, bytes: usize) -> &str {
    (text.len().saturating_sub(bytes)..=text.len()).find_map(|start| text.get(start..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Printed, news, printed};
    use crate::Json;

    fn check(output: &str, expected: &str, truncated: bool, remark: Option<&str>) {
        let meta = Json::parse("{}").unwrap().object();
        let expected = Printed { output: expected.to_owned(), truncated, remark: remark.map(str::to_owned) };
        assert_eq!(printed(output, &meta), expected);
    }

    #[test]
    fn remarks_are_not_output() {
        check("hi\n", "hi\n", false, None);
        check("(no output)", "", false, None);
        let aborted = "(no output)\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>";
        check(aborted, "", false, Some("User aborted the command"));
        check("...output truncated...\n\nFull output saved to: /f\n\nend\n", "end\n", true, None);
        check("hi\n\nCommand exited with code 0.", "hi\n", false, None);
    }

    #[test]
    fn only_what_is_new_is_added() {
        assert_eq!(news("", "one\n"), "one\n");
        assert_eq!(news("one\n", "one\ntwo\n"), "two\n");
        assert_eq!(news("one\ntwo\n", "other\n"), "");
        assert_eq!(news("one\ntwo\nthree and some more\n", "...\n\ntwo\nthree and some more\nfour\n"), "four\n");
        assert_eq!(news("one\n", "...\n\nlater\n"), "later\n");
        assert_eq!(news("ä\nöööööööööö\n", "...\n\nöööööööö\nü\n"), "ü\n");
        assert_eq!(news("", "...\n\nx"), "...\n\nx");
    }
}
