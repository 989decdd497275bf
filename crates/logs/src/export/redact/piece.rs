//! Redacts an excerpt of a longer text, such as a snippet. A truncated secret at either end no longer has its shape, so
//! the text next to a cut is dropped.

use super::{Redactor, judge, redaction_mark};

/// Marks a cut.
const ELLIPSIS: char = '…';

/// A run of at least this many letters and digits is a line of a key, or unreadable data.
const MIN_KEY_LINE_CHARS: usize = 60;

impl Redactor {
    /// Redacts an excerpt. A `…` at an end marks a cut.
    #[must_use]
    pub fn redact_excerpt(&self, text: &str) -> String {
        let cut_begin = text.strip_prefix(ELLIPSIS);
        let inner = cut_begin.unwrap_or(text);
        let cut_end = inner.strip_suffix(ELLIPSIS);
        let mut inner = cut_end.unwrap_or(inner);
        let mark_of = |is: bool| if is { "…" } else { "" };
        if cut_begin.is_some() {
            inner = strip_cut_head(inner);
        }
        if cut_end.is_some() {
            inner = strip_cut_tail(inner);
        }
        let inner = self.redact_key_lines(&self.redact_text(inner));
        format!("{}{inner}{}", mark_of(cut_begin.is_some()), mark_of(cut_end.is_some()))
    }

    /// Redacts lines from the middle of a key, without its BEGIN or END line.
    fn redact_key_lines(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(start) = rest.find(is_base64_char) {
            let (before, from) = rest.split_at(start);
            let (run, after) = from.split_at(from.find(|c| !is_base64_char(c)).unwrap_or(from.len()));
            let is_line = run.len() >= MIN_KEY_LINE_CHARS && judge::is_random(run);
            self.add_to_count(usize::from(is_line));
            out.push_str(before);
            out.push_str(&if is_line { redaction_mark("secret") } else { run.to_owned() });
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// Returns whether secrets can contain the character. Separators between names and values are excluded.
fn is_secret_char(c: char) -> bool {
    c.is_ascii_graphic() && !"\"'`\\,;&<>(){}[]|=:".contains(c)
}

fn is_base64_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '+' || c == '/'
}

/// Drops the remains at a cut at the beginning: of a path, the truncated component; of a name, its value too.
fn strip_cut_head(text: &str) -> &str {
    let is_glued = |c: char| is_secret_char(c) || "=:\"'\\".contains(c);
    let end_of = |text: &str| text.find(|c| !is_glued(c)).unwrap_or(text.len());
    let (mut run, mut rest) = text.split_at(end_of(text));
    if let Some(name) = run.find(['/', '.']).filter(|_| judge::is_code(run)) {
        return text.split_at(name).1;
    }
    // `…ization: Bearer KEY`: each word announces the next one.
    for _ in 0..3 {
        if !judge::may_end_name(run) {
            break;
        }
        let value = rest.trim_start();
        (run, rest) = value.split_at(end_of(value));
    }
    rest
}

/// Drops the remains at a cut at the end.
fn strip_cut_tail(text: &str) -> &str {
    let whole = text.trim_end_matches('=');
    let begin = whole.rfind(|c| !is_secret_char(c)).map_or(0, |at| at + whole.get(at..).map_or(1, first_char_len));
    let (rest, run) = whole.split_at(begin);
    match run.rfind(['/', '.']) {
        Some(name) if judge::is_code(run) && !announces_secret(rest) => whole.split_at(begin + name + 1).0,
        _ => rest,
    }
}

fn first_char_len(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

/// Returns whether the last words announce a secret.
fn announces_secret(text: &str) -> bool {
    let words = text.split_whitespace().rev().take(2);
    words.into_iter().any(judge::is_secret_name)
}
