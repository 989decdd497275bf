//! The output of commands. OpenCode surrounds it with remarks for the model, and shows only the end of a long output
//! while a command runs.

use crate::JsonObject;

/// Maximum number of positions tried when the shown end of an output is aligned with the known output.
const TRIES: usize = 64;

/// The final output of a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The output without remarks.
    pub output: String,
    /// Part of the output is missing.
    pub truncated: bool,
    /// OpenCode's remark, such as why the command was stopped.
    pub remark: Option<String>,
}

/// Separates an output from OpenCode's remarks.
pub fn printed(output: &str, meta: &JsonObject<'_>) -> Printed {
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
    // Newer sessions put the remark on a line of its own.
    let (before, last) = output.rsplit_once('\n').unwrap_or(("", output));
    match last {
        "Command timed out before completion." => (before, Some(last)),
        _ if last.starts_with("Command exited with code ") => (before, None),
        _ => (output, None),
    }
}

/// Returns the part of `shown` that is not in `known`. OpenCode shows only the end of an output that is longer than
/// 30,000 characters.
pub fn news<'a>(known: &str, shown: &'a str) -> &'a str {
    if let Some(rest) = shown.strip_prefix(known) {
        return rest;
    }
    let Some(end) = shown.strip_prefix("...\n\n") else { return "" };
    let sign = first(end, 16);
    let mut rest = last(known, end.len());
    for _ in 0..TRIES {
        // More was printed at once than is shown, so there is no overlap with the known output.
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
    use crate::JsonView;

    fn check(output: &str, expected: &str, truncated: bool, remark: Option<&str>) {
        let meta = JsonView::parse("{}").unwrap().as_object();
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
