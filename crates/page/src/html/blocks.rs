//! Finds the finished blocks of a growing Markdown text: paragraphs, lists and fences that later text cannot change.
//! They are rendered once; only the text after them stays raw.

use pulldown_cmark::Event;

use super::markdown::parser;

/// Returns the length of the finished part of a growing text: up to the start of the last block that begins in a
/// complete line. An incomplete last line may still become part of the block before it.
#[must_use]
pub fn finished(text: &str) -> usize {
    let Some((whole, _)) = text.rfind('\n').map(|end| text.split_at(end + 1)) else { return 0 };
    let (mut depth, mut last, mut end) = (0_usize, 0, 0);
    for (event, range) in parser(whole).into_offset_iter() {
        let is_outermost = depth == 0;
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if is_outermost {
            (last, end) = (begin(whole, end, range.start), range.end);
        }
    }
    line_start(whole, last)
}

/// Returns the start of a block that follows another. Link definitions produce no block and belong to the next one.
fn begin(text: &str, end: usize, start: usize) -> usize {
    let between = text.get(end..start).unwrap_or_default();
    if between.trim().is_empty() { start } else { end + between.len() - between.trim_start().len() }
}

/// Returns the start of the line: text before a block in its line belongs to it. In Markdown a carriage return also
/// ends a line.
fn line_start(text: &str, place: usize) -> usize {
    text.get(..place).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::finished;

    #[track_caller]
    fn check(text: &str, done: &str) {
        assert_eq!(text.get(..finished(text)), Some(done), "{text:?}");
    }

    #[test]
    fn the_last_block_is_never_finished() {
        check("", "");
        check("one", "");
        check("one\n", "");
        check("one\n\ntwo", "");
        check("one\n\ntwo\n", "one\n\n");
        check("# one\ntwo\n", "# one\n");
        check("one\n\n---\n", "one\n\n");
    }

    #[test]
    fn definitions_belong_to_what_follows() {
        check("a\n\n[x]: y\n\tb\nc\n", "a\n\n");
        check("[x]: y\n\nb\n\nc\n", "[x]: y\n\nb\n\n");
    }

    #[test]
    fn a_carriage_return_ends_a_line() {
        check("a\nb\r# c\n", "a\nb\r");
    }

    #[test]
    fn what_is_open_is_one_block() {
        check("a\n\n```\nx\n\ny\n\n# z\n", "a\n\n");
        check("a\n\n```\nx\n\n```\n\nb\n", "a\n\n```\nx\n\n```\n\n");
        check("- a\n\n- b\n\n  c\n", "");
        check("1. a\n\n2", "");
        check("> a\n>\n> b\n", "");
        check("| a |\n|---|\n| b |\n", "");
        check("<!--\n\na\n\n", "");
    }

    #[test]
    fn it_only_grows() {
        let text = "para\n\n- a\n- b\n\n```rust\nfn x() {}\n\n```\n\nend\n\nmore\n";
        let mut done = 0;
        for end in 0..=text.len() {
            // Finished text is not parsed again.
            done += finished(text.get(done..end).unwrap());
            assert!(done <= end);
        }
        assert_eq!(text.get(done..), Some("more\n"));
    }
}
