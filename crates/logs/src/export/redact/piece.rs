//! A piece out of a longer text, such as a snippet: where it was cut, a part of a secret may stand that nobody would
//! know by its shape. What touches such an end goes.

use super::{Redactor, judge, mark};

/// Says that there is more before or behind.
const MORE: char = '…';

/// A run of so many letters and digits is a line of a key, or data that nobody reads.
const LINE: usize = 60;

impl Redactor {
    /// A piece without its secrets. `…` at an end says that it was cut there.
    #[must_use]
    pub fn piece(&self, text: &str) -> String {
        let cut_begin = text.strip_prefix(MORE);
        let inner = cut_begin.unwrap_or(text);
        let cut_end = inner.strip_suffix(MORE);
        let mut inner = cut_end.unwrap_or(inner);
        let mark_of = |is: bool| if is { "…" } else { "" };
        if cut_begin.is_some() {
            inner = without_head(inner);
        }
        if cut_end.is_some() {
            inner = without_tail(inner);
        }
        let inner = self.lines(&self.text(inner));
        format!("{}{inner}{}", mark_of(cut_begin.is_some()), mark_of(cut_end.is_some()))
    }

    /// Lines out of the middle of a key: neither its beginning nor its end is there to tell.
    fn lines(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(start) = rest.find(is_base64) {
            let (before, from) = rest.split_at(start);
            let (run, after) = from.split_at(from.find(|c| !is_base64(c)).unwrap_or(from.len()));
            let is_line = run.len() >= LINE && judge::is_random(run);
            self.counted(usize::from(is_line));
            out.push_str(before);
            out.push_str(&if is_line { mark("secret") } else { run.to_owned() });
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// Characters that secrets are made of, but for those that stand between a name and its value.
fn is_secrets(c: char) -> bool {
    c.is_ascii_graphic() && !"\"'`\\,;&<>(){}[]|=:".contains(c)
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '+' || c == '/'
}

/// Without what a cut at the beginning left over: of a path, the name that was cut; of a name, its value too.
fn without_head(text: &str) -> &str {
    let is_glued = |c: char| is_secrets(c) || "=:\"'\\".contains(c);
    let end_of = |text: &str| text.find(|c| !is_glued(c)).unwrap_or(text.len());
    let (mut run, mut rest) = text.split_at(end_of(text));
    if let Some(name) = run.find(['/', '.']).filter(|_| judge::is_code(run)) {
        return text.split_at(name).1;
    }
    // `…ization: Bearer KEY`: each of them says that another follows.
    for _ in 0..3 {
        if !judge::may_end_name(run) {
            break;
        }
        let value = rest.trim_start();
        (run, rest) = value.split_at(end_of(value));
    }
    rest
}

/// Without what a cut at the end left over.
fn without_tail(text: &str) -> &str {
    let whole = text.trim_end_matches('=');
    let begin = whole.rfind(|c| !is_secrets(c)).map_or(0, |at| at + whole.get(at..).map_or(1, first_length));
    let (rest, run) = whole.split_at(begin);
    match run.rfind(['/', '.']) {
        Some(name) if judge::is_code(run) && !is_announced(rest) => whole.split_at(begin + name + 1).0,
        _ => rest,
    }
}

fn first_length(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

/// The last words say that a secret follows.
fn is_announced(text: &str) -> bool {
    let words = text.split_whitespace().rev().take(2);
    words.into_iter().any(judge::is_telling)
}
