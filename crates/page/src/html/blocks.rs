//! How far a growing Markdown text is finished: paragraphs, lists and fences that nothing that follows can change. They
//! are rendered once, and only what comes behind them is still text.

use pulldown_cmark::Event;

use super::markdown::{is_tame, parser};

/// A tail that is longer is looked at only when it grew by a part of itself, so that all looks together cost no more than
/// a few of the whole.
const SHORT: usize = 4 << 10;
/// A tail that is longer is not looked at any more: it is shown when it is whole.
const LONG: usize = 1 << 20;

/// Remembers how far a growing text is finished.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    finished: usize,
    /// How long the text was when it was last looked at.
    looked: usize,
}

impl Blocks {
    /// Nothing is finished.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Up to where the text, all of it so far, is surely finished. Between two calls a text only grows, and so does
    /// this.
    pub fn finished(&mut self, text: &str) -> usize {
        let Some(tail) = text.get(self.finished..) else { return self.finished };
        let grown = text.len().saturating_sub(self.looked);
        let is_news = text.get(self.looked..).is_some_and(|news| news.contains('\n'));
        if is_news && tail.len() < LONG && (tail.len() < SHORT || grown > tail.len() / 8) {
            self.looked = text.len();
            self.finished += finished(tail);
        }
        self.finished
    }
}

/// Up to where a text that still grows is surely finished: the beginning of the last block that has begun in a whole
/// line. A last line that is not whole may still become part of what is before it.
#[must_use]
pub fn finished(text: &str) -> usize {
    let Some((whole, _)) = text.rfind('\n').map(|end| text.split_at(end + 1)) else { return 0 };
    if !is_tame(whole) {
        return 0;
    }
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
    use super::{Blocks, finished};

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
    fn it_remembers() {
        let text = "para\n\n- a\n- b\n\n```rust\nfn x() {}\n\n```\n\nend\n\nmore\n";
        let (mut blocks, mut last) = (Blocks::new(), 0);
        for end in 0..=text.len() {
            let done = blocks.finished(text.get(..end).unwrap());
            assert!(done >= last && done <= end);
            last = done;
        }
        assert_eq!(text.get(last..), Some("more\n"));
    }
}
