//! Bytes to lines. Knows nothing about what a line says.

/// Splits a stream of bytes into lines, however the bytes arrive. Memory is bounded by the longest line.
#[derive(Default)]
pub struct Lines {
    partial: Vec<u8>,
}

/// What a buffer keeps after a long line, so that one huge line does not cost its size for ever.
const KEEP: usize = 1 << 20;

impl Lines {
    /// Gives every line that `bytes` completes, without its line feed. A carriage return before it belongs to the line:
    /// to JSON it is white space, and a text is kept as it was.
    pub fn push(&mut self, bytes: &[u8], mut line: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (head, tail) = rest.split_at(end);
            if self.partial.is_empty() {
                line(head);
            } else {
                self.partial.extend_from_slice(head);
                line(&self.partial);
                self.partial.clear();
                self.partial.shrink_to(KEEP);
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        self.partial.extend_from_slice(rest);
    }

    /// Gives the last line if it has no line end.
    pub fn finish(&mut self, mut line: impl FnMut(&[u8])) {
        let last = std::mem::take(&mut self.partial);
        if !last.is_empty() {
            line(&last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    fn split(chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut lines, mut out) = (Lines::default(), Vec::new());
        for chunk in chunks {
            lines.push(chunk, |line| out.push(line.to_vec()));
        }
        lines.finish(|line| out.push(line.to_vec()));
        out
    }

    #[test]
    fn any_split_gives_the_same_lines() {
        let text = b"one\r\n\ntwo\nthree";
        let whole = split(&[text]);
        assert_eq!(whole, [b"one\r".to_vec(), b"".to_vec(), b"two".to_vec(), b"three".to_vec()]);
        for at in 0..=text.len() {
            let (a, b) = text.split_at(at);
            assert_eq!(split(&[a, b]), whole);
        }
    }
}
