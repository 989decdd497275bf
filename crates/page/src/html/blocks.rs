//! How far a growing Markdown text is finished: paragraphs, lists and fences that nothing that follows can change. They
//! are rendered once, and only what comes behind them is still text.

use pulldown_cmark::Event;

use super::markdown::parser;

/// Up to where a text that still grows is surely finished: the beginning of the last block that has begun in a whole
/// line. A last line that is not whole may still become part of what is before it.
#[must_use]
pub fn finished(text: &str) -> usize {
    let Some((whole, _)) = text.rfind('\n').map(|end| text.split_at(end + 1)) else { return 0 };
    let (mut depth, mut last) = (0_usize, 0);
    for (event, range) in parser(whole).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    last = range.start;
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => last = range.start,
            _ => {}
        }
    }
    line_start(whole, last)
}

/// The beginning of the line: what stands before a block in its line belongs to it.
fn line_start(text: &str, place: usize) -> usize {
    text.get(..place).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1)
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
            // What is finished is not looked at again.
            done += finished(text.get(done..end).unwrap());
            assert!(done <= end);
        }
        assert_eq!(text.get(done..), Some("more\n"));
    }
}
