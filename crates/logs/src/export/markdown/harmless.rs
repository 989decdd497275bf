//! Markdown of an agent that stays Markdown and is no more than text: no tags, no pictures from elsewhere, no block of
//! code that swallows what follows. Where code ends is not guessed: what may be read in two ways counts as text, which at
//! worst shows `&lt;` in a piece of code.

use super::plain;

/// Within one paragraph, which a blank line ends.
#[derive(Default)]
struct Paragraph {
    /// A run of backticks has no partner on its line, and may find one further down.
    is_open: bool,
}

/// A text of several lines.
pub fn text(given: &str) -> String {
    let given = plain::text(given.trim_matches('\n'));
    let (mut out, mut fence, mut paragraph) = (String::new(), None::<&str>, Paragraph::default());
    for line in given.split('\n') {
        match fence {
            Some(open) => {
                out.push_str(line);
                if closes(line, open) {
                    fence = None;
                }
            }
            None if opens(line).is_some() => {
                (fence, paragraph) = (opens(line), Paragraph::default());
                out.push_str(line);
            }
            None => paragraph.line(line, &mut out),
        }
        out.push('\n');
    }
    if let Some(open) = fence {
        out.push_str(open);
        out.push('\n');
    }
    out.trim_end().to_owned()
}

/// A text of one line, none of which is Markdown.
pub fn line(given: &str) -> String {
    let mut out = String::new();
    for c in plain::line(given).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '[' | ']' | '!' | '|' | '~' | '#' => {
                out.push('\\');
                out.push(c);
            }
            // Between letters it is only a character.
            '_' if !out.ends_with(char::is_alphanumeric) => out.push_str("\\_"),
            c => out.push(c),
        }
    }
    out
}

/// The fence that a line opens. One that is indented may belong to a list, and end with it.
fn opens(line: &str) -> Option<&str> {
    ['`', '~'].into_iter().find_map(|mark| {
        let rest = line.trim_start_matches(mark);
        let fence = line.get(..line.len() - rest.len())?;
        (fence.len() >= 3 && !(mark == '`' && rest.contains('`'))).then_some(fence)
    })
}

fn closes(line: &str, fence: &str) -> bool {
    let inner = line.trim_start_matches(' ');
    let mark = fence.chars().next().unwrap_or('`');
    let indent = line.len() - inner.len();
    let run = inner.trim_end_matches([' ', '\t']);
    indent <= 3 && run.len() >= fence.len() && run.chars().all(|c| c == mark)
}

impl Paragraph {
    fn line(&mut self, line: &str, out: &mut String) {
        if line.trim().is_empty() {
            *self = Self::default();
            return;
        }
        let mut rest = line;
        while !self.is_open {
            let Some(at) = rest.find('`') else { break };
            let (before, from) = rest.split_at(at);
            let run: usize = from.len() - from.trim_start_matches('`').len();
            let Some(end) = partner(from.get(run..).unwrap_or_default(), run) else {
                self.is_open = true;
                break;
            };
            // A backslash makes it no code.
            if before.ends_with('\\') {
                self.is_open = true;
                break;
            }
            escape(before, out);
            let (code, after) = from.split_at(run + end);
            out.push_str(code);
            rest = after;
        }
        escape(rest, out);
    }
}

/// Where the next run of so many backticks ends.
fn partner(text: &str, run: usize) -> Option<usize> {
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

/// No tag, no picture.
fn escape(text: &str, out: &mut String) {
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
    use super::{line, text};

    #[test]
    fn what_is_code_stays() {
        for same in [
            "use `Vec<String>` and ``a`b<c>``",
            "```rust\nlet x: Vec<u8> = a![b];\n```\nafter",
            "~~~\n<b>\n~~~",
            "# Heading\n\n- a *list* with [a link](https://example.org)\n\n| a | b |\n| - | - |",
        ] {
            assert_eq!(text(same), same);
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
            assert_eq!(text(given), shown, "{given:?}");
        }
    }

    #[test]
    fn a_line_has_no_markdown() {
        assert_eq!(line("a_b *c* <d> `e`\n# f"), "a_b \\*c\\* &lt;d> \\`e\\` \\# f");
    }
}
