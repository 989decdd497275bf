//! Bytes to lines. Knows nothing about what a line says.
//!
//! [`Lines`] is for what somebody has kept and wants back whole; [`BoundedLines`] is for what a process says, which may
//! never end its line.

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

/// The longest line that is handed out whole: more than any agent has reason to write (they limit what tools return
/// and what a prompt may carry to far less), and an amount of memory that one session can have for a moment.
pub const LONGEST_LINE: usize = 128 << 20;

/// The size of the pieces of a line that is longer.
const PIECE: usize = 1 << 20;

/// What a live stream is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A line, without its line feed.
    Line(&'a [u8]),
    /// A piece of a line that is too long to be held. Joined, the pieces are the line. A character of UTF-8 is in one
    /// piece.
    Piece {
        /// The next bytes of the line.
        bytes: &'a [u8],
        /// The line ends here.
        is_last: bool,
    },
}

/// Splits a stream of bytes into lines, however the bytes arrive, with a bound on the memory that a line can take. The
/// same bytes give the same frames, however they are split.
pub struct BoundedLines {
    longest: usize,
    piece: usize,
    held: Vec<u8>,
    /// The beginning of the line was handed out.
    in_pieces: bool,
}

impl Default for BoundedLines {
    fn default() -> Self {
        Self::up_to(LONGEST_LINE)
    }
}

impl BoundedLines {
    /// Lines of up to so many bytes are whole. The default is [`LONGEST_LINE`].
    pub fn up_to(longest: usize) -> Self {
        Self::of(longest, PIECE.min(longest))
    }

    /// A piece has at least the four bytes of a character.
    fn of(longest: usize, piece: usize) -> Self {
        Self { longest, piece: piece.max(4), held: Vec::new(), in_pieces: false }
    }

    /// Gives what `bytes` complete. As in [`Lines::push`], a carriage return belongs to the line.
    pub fn push(&mut self, bytes: &[u8], mut frame: impl FnMut(Frame)) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (head, tail) = rest.split_at(end);
            if self.held.is_empty() && head.len() <= self.longest {
                // `in_pieces` is not set: some of the line would be held.
                frame(Frame::Line(head));
            } else {
                self.hold(head, &mut frame);
                self.end_line(&mut frame);
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        self.hold(rest, &mut frame);
    }

    /// Gives the last line if it has no line end.
    pub fn finish(&mut self, mut frame: impl FnMut(Frame)) {
        if !self.held.is_empty() {
            self.end_line(&mut frame);
        }
    }

    /// Holds bytes of a line, and hands out pieces once it is known to be too long.
    fn hold(&mut self, mut bytes: &[u8], frame: &mut impl FnMut(Frame)) {
        while !bytes.is_empty() {
            // One byte more than a piece: it says whether a character ends with the piece.
            let limit = if self.in_pieces { self.piece + 1 } else { self.longest };
            let room = limit.saturating_sub(self.held.len());
            if room == 0 {
                self.hand_out(frame);
            }
            let (head, tail) = bytes.split_at(room.min(bytes.len()));
            self.reserve(head.len(), limit);
            self.held.extend_from_slice(head);
            bytes = tail;
        }
    }

    /// Makes room by doubling it, but never beyond the limit.
    fn reserve(&mut self, more: usize, limit: usize) {
        let (held, room) = (self.held.len(), self.held.capacity());
        if held + more > room {
            self.held.reserve_exact((2 * room).min(limit).max(held + more) - held);
        }
    }

    /// Gives all whole pieces that are held, but for the last bytes of the line.
    fn hand_out(&mut self, frame: &mut impl FnMut(Frame)) {
        let mut rest = self.held.as_slice();
        while rest.len() > self.piece {
            let (bytes, tail) = rest.split_at(cut(rest, self.piece));
            frame(Frame::Piece { bytes, is_last: false });
            rest = tail;
        }
        let given = self.held.len() - rest.len();
        self.held.drain(..given);
        self.held.shrink_to(self.piece);
        self.in_pieces = true;
    }

    fn end_line(&mut self, frame: &mut impl FnMut(Frame)) {
        if self.in_pieces {
            self.hand_out(frame);
        }
        let in_pieces = std::mem::take(&mut self.in_pieces);
        frame(if in_pieces { Frame::Piece { bytes: &self.held, is_last: true } } else { Frame::Line(&self.held) });
        self.held.clear();
        self.held.shrink_to(KEEP);
    }
}

/// Where to cut off a piece of at most `size` bytes, so that no character is cut.
fn cut(bytes: &[u8], size: usize) -> usize {
    let is_inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    // What has no beginning of a character within four bytes is not UTF-8, and can be cut anywhere.
    (size.saturating_sub(3).max(1)..=size).rev().find(|at| !is_inside(at)).unwrap_or(size)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};

    use super::{BoundedLines, Frame, LONGEST_LINE, Lines};

    /// A frame that owns what it has: a line, or a piece and whether it is the last.
    type Owned = (Vec<u8>, Option<bool>);

    fn frames(mut lines: BoundedLines, chunks: &[&[u8]]) -> Vec<Owned> {
        let mut out = Vec::new();
        let mut keep = |frame: Frame| match frame {
            Frame::Line(bytes) => out.push((bytes.to_vec(), None)),
            Frame::Piece { bytes, is_last } => out.push((bytes.to_vec(), Some(is_last))),
        };
        chunks.iter().for_each(|chunk| lines.push(chunk, &mut keep));
        lines.finish(&mut keep);
        out
    }

    fn small() -> BoundedLines {
        BoundedLines::of(8, 4)
    }

    fn line(text: &str) -> Owned {
        (text.as_bytes().to_vec(), None)
    }

    fn piece(text: &str, is_last: bool) -> Owned {
        (text.as_bytes().to_vec(), Some(is_last))
    }

    #[test]
    fn a_line_that_is_too_long_comes_in_pieces_and_the_next_is_whole() {
        let seen = frames(small(), &[b"12345678\n123456789\nnext\n\n1234567890123"]);
        let long = [piece("1234", false), piece("5678", false), piece("9", true)];
        let last = [piece("1234", false), piece("5678", false), piece("9012", false), piece("3", true)];
        let lines = [line("12345678")].into_iter().chain(long).chain([line("next"), line("")]).chain(last);
        assert_eq!(seen, lines.collect::<Vec<_>>());
    }

    #[test]
    fn no_character_is_cut() {
        let seen = frames(small(), &["aöüabcäß€x".as_bytes()]);
        let pieces = [piece("aö", false), piece("üab", false), piece("cä", false), piece("ß", false)];
        assert_eq!(seen, pieces.into_iter().chain([piece("€x", true)]).collect::<Vec<_>>());
    }

    #[test]
    fn a_line_of_a_hundred_megabytes_is_whole() {
        let (chunk, mut lines, mut seen) = (vec![b'x'; 1 << 16], BoundedLines::default(), Vec::new());
        let chunks = 100_000_000 / chunk.len() + 1;
        let mut keep = |frame: Frame| seen.push(matches!(frame, Frame::Line(line) if line.len() >= 100_000_000));
        (0..chunks).for_each(|_| lines.push(&chunk, &mut keep));
        lines.push(b"\n", &mut keep);
        assert_eq!(seen, [true]);
    }

    #[test]
    fn memory_is_bounded() {
        let (chunk, mut lines, mut seen) = (vec![b'x'; 1 << 20], BoundedLines::default(), 0);
        lines.push(b"odd", |_| ());
        for _ in 0..200 {
            lines.push(&chunk, |frame| seen += usize::from(matches!(frame, Frame::Piece { is_last: false, .. })));
            assert!(lines.held.capacity() <= LONGEST_LINE);
        }
        assert_eq!(seen, 200);
        assert!(lines.held.capacity() <= 4 << 20);
    }

    /// Few bytes, so that lines end and characters are cut often.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = any::<u8>().prop_map(|n| [b'\n', b'a', 0xc3, 0xa4, 0xe2, 0x82, 0xac][usize::from(n) % 7]);
        proptest::collection::vec(byte, 0..60)
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames(bytes in bytes(), size in 1_usize..20) {
            let whole = frames(small(), &[&bytes]);
            prop_assert_eq!(&frames(small(), &bytes.chunks(size).collect::<Vec<_>>()), &whole);
            // Joined, they are what `Lines` gives.
            let mut lines: Vec<Vec<u8>> = Vec::new();
            let mut is_open = false;
            for (part, is_last) in whole {
                match lines.last_mut() {
                    Some(line) if is_open => line.extend(part),
                    _ => lines.push(part),
                }
                is_open = is_last == Some(false);
            }
            prop_assert_eq!(lines, split(&[&bytes]));
        }
    }

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
