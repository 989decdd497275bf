//! What is not read as Markdown: texts that are made to be slow, or deep, or wide. They are shown as they are.

/// So many quotes and lists in each other may begin a line.
const DEPTH: usize = 40;
/// So many cells may stand in a line of a table.
const CELLS: usize = 200;
/// So many bytes may follow each other without an empty line, except as code.
const BLOCK: usize = 64 << 10;
/// So many brackets, stars or the like may follow each other.
const RUN: usize = 200;

/// The text is one that a person or a model would write.
pub(crate) fn is_tame(text: &str) -> bool {
    let mut block = 0;
    let mut fence = None;
    for line in text.split_inclusive('\n') {
        let content = line.trim_ascii_start();
        fence = match fence {
            Some(open) if closes(content, open) => None,
            Some(open) => Some(open),
            None => opens(content),
        };
        if fence.is_some() {
            block = 0;
            continue;
        }
        block = if content.is_empty() { 0 } else { block + line.len() };
        if block > BLOCK || !is_tame_line(line) {
            return false;
        }
    }
    true
}

/// The mark and the length of a fence that begins here.
fn opens(content: &str) -> Option<(u8, usize)> {
    let mark = *content.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = content.bytes().take_while(|byte| *byte == mark).count();
    (length >= 3).then_some((mark, length))
}

fn closes(content: &str, (mark, length): (u8, usize)) -> bool {
    opens(content).is_some_and(|(same, found)| same == mark && found >= length)
        && content.bytes().all(|byte| byte == mark || byte.is_ascii_whitespace())
}

fn is_tame_line(line: &str) -> bool {
    let markers = line.bytes().take_while(|byte| matches!(byte, b'>' | b'-' | b'*' | b'+' | b' ' | b'\t'));
    let depth = markers.filter(|byte| !byte.is_ascii_whitespace()).count();
    // A line of dashes or stars is a rule, not a nest.
    let is_rule = line.len() < 2_000 && line.trim_end().bytes().all(|byte| matches!(byte, b'-' | b'*' | b'=' | b' '));
    let cells = memchr::memchr_iter(b'|', line.as_bytes()).count();
    (depth <= DEPTH || is_rule) && cells <= CELLS && (line.len() <= RUN || longest_run(line.as_bytes()) <= RUN)
}

/// The longest run of marks that nest.
fn longest_run(line: &[u8]) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in line {
        run = if matches!(byte, b'[' | b']' | b'(' | b'*' | b'_' | b'`' | b'!' | b'<' | b'~' | b'>') {
            run + 1
        } else {
            0
        };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::is_tame;

    #[test]
    fn what_people_write_is_tame() {
        for text in ["", "a\n", "> a\n> > b\n", "---\n", &"- ".repeat(20), &"-".repeat(500), "| a | b |\n|---|---|\n"] {
            assert!(is_tame(text), "{text:?}");
        }
        assert!(is_tame(&format!("```\n{}\n```\n", ">".repeat(100_000))));
    }

    #[test]
    fn bombs_are_not() {
        for bomb in [">", "[", "*", "- ", "> ", "|", "![", "a ", "`"] {
            assert!(!is_tame(&bomb.repeat(100_000)), "{bomb:?}");
        }
        assert!(!is_tame(&format!("```\nx\n```\n{}", ">".repeat(100_000))));
    }
}
