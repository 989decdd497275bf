//! Sanitizes Markdown from an agent: no HTML tags, no remote images, no code block that swallows the rest of the page.
//! It does not guess where code ends: ambiguous input counts as text, which at worst shows `&lt;` inside code.

use super::plain;

/// State within one paragraph, which ends at a blank line.
#[derive(Default)]
struct ParagraphEscaper {
    /// A run of backticks is unmatched on its line and may be closed on a later one.
    is_open: bool,
}

/// Sanitizes a text of several lines.
pub fn escape_text(given: &str) -> String {
    let given = plain::visible_text(given.trim_matches('\n'));
    let (mut out, mut fence, mut paragraph) = (String::new(), None::<&str>, ParagraphEscaper::default());
    for line in given.split('\n') {
        match fence {
            Some(open) => {
                out.push_str(line);
                if closes_fence(line, open) {
                    fence = None;
                }
            }
            None if opening_fence(line).is_some() => {
                (fence, paragraph) = (opening_fence(line), ParagraphEscaper::default());
                out.push_str(line);
            }
            None => paragraph.escape_line(line, &mut out),
        }
        out.push('\n');
    }
    if let Some(open) = fence {
        out.push_str(open);
        out.push('\n');
    }
    out.trim_end().to_owned()
}

/// Escapes a text as a single line without any Markdown.
pub fn escape_single_line(given: &str) -> String {
    let mut out = String::new();
    for c in plain::visible_line(given).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '[' | ']' | '!' | '|' | '~' | '#' => {
                out.push('\\');
                out.push(c);
            }
            // Between letters an underscore has no meaning.
            '_' if !out.ends_with(char::is_alphanumeric) => out.push_str("\\_"),
            c => out.push(c),
        }
    }
    out
}

/// Returns the fence that a line opens. An indented fence is ignored: it may belong to a list and end with it.
fn opening_fence(line: &str) -> Option<&str> {
    ['`', '~'].into_iter().find_map(|mark| {
        let rest = line.trim_start_matches(mark);
        let fence = line.get(..line.len() - rest.len())?;
        (fence.len() >= 3 && !(mark == '`' && rest.contains('`'))).then_some(fence)
    })
}

fn closes_fence(line: &str, fence: &str) -> bool {
    let inner = line.trim_start_matches(' ');
    let mark = fence.chars().next().unwrap_or('`');
    let indent = line.len() - inner.len();
    let run = inner.trim_end_matches([' ', '\t']);
    indent <= 3 && run.len() >= fence.len() && run.chars().all(|c| c == mark)
}

impl ParagraphEscaper {
    fn escape_line(&mut self, line: &str, out: &mut String) {
        if line.trim().is_empty() {
            *self = Self::default();
            return;
        }
        let mut rest = line;
        while !self.is_open {
            let Some(at) = rest.find('`') else { break };
            let (before, from) = rest.split_at(at);
            let run: usize = from.len() - from.trim_start_matches('`').len();
            let Some(end) = closing_backticks(from.get(run..).unwrap_or_default(), run) else {
                self.is_open = true;
                break;
            };
            // An escaped backtick does not start code.
            if before.ends_with('\\') {
                self.is_open = true;
                break;
            }
            escape_inline(before, out);
            let (code, after) = from.split_at(run + end);
            out.push_str(code);
            rest = after;
        }
        escape_inline(rest, out);
    }
}

/// Returns the end of the next run of exactly `run` backticks.
fn closing_backticks(text: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find('`')?;
        let rest = text.get(at..)?;
        let length = rest.len() - rest.trim_start_matches('`').len();
        at += length;
        if length == run {
            return Some(at);
        }
    }
}

/// Escapes tags and images.
fn escape_inline(text: &str, out: &mut String) {
    let mut before = '\0';
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '[' if before == '!' => out.push_str("\\["),
            c => out.push(c),
        }
        before = c;
    }
}

#[cfg(test)]
mod tests {
    use super::{escape_single_line, escape_text};

    #[test]
    fn what_is_code_stays() {
        for same in [
            "use `Vec<String>` and ``a`b<c>``",
            "```rust\nlet x: Vec<u8> = a![b];\n```\nafter",
            "~~~\n<b>\n~~~",
            "# Heading\n\n- a *list* with [a link](https://example.org)\n\n| a | b |\n| - | - |",
        ] {
            assert_eq!(escape_text(same), same);
        }
    }

    #[test]
    fn what_is_more_than_text_is_made_text() {
        for (given, shown) in [
            ("<script>x</script>", "&lt;script>x&lt;/script>"),
            ("a ![x](https://e.org/p.png)", "a !\\[x](https://e.org/p.png)"),
            ("`\n`<img src=x>`", "`\n`&lt;img src=x>`"),
            ("\\`<img>`", "\\`&lt;img>`"),
            ("- ```\n<img src=x>", "- ```\n&lt;img src=x>"),
            ("- a\n\n  ```\n<img src=x>", "- a\n\n  ```\n&lt;img src=x>"),
            ("```a`b\n<img>", "```a`b\n&lt;img>"),
            ("```\nnever closed", "```\nnever closed\n```"),
            ("````\n```\n<b>", "````\n```\n<b>\n````"),
            ("a\u{202e}b\x1b[31mred\x07", "a[U+202E]bred␇"),
        ] {
            assert_eq!(escape_text(given), shown, "{given:?}");
        }
    }

    #[test]
    fn a_line_has_no_markdown() {
        assert_eq!(escape_single_line("a_b *c* <d> `e`\n# f"), "a_b \\*c\\* &lt;d> \\`e\\` \\# f");
    }
}
