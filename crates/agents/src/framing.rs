//! Splits bytes into lines, without interpreting them.
//!
//! [`LineSplitter`] is for stored data, whose lines are wanted whole; [`BoundedLineSplitter`] is for the output of a process, which
//! may never end its line.

/// Splits a stream of bytes into lines, in any chunking. Memory is bounded by the longest line.
#[derive(Default)]
pub struct LineSplitter {
    partial: Vec<u8>,
}

/// The capacity that a buffer retains after a long line, so that one huge line does not occupy memory forever.
const RETAINED_BUFFER_BYTES: usize = 1 << 20;

impl LineSplitter {
    /// Passes on every line that `arbitrary_bytes` completes, without its line feed. A preceding carriage return belongs to the
    /// line: it is whitespace in JSON, and text is kept verbatim.
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
                self.partial.shrink_to(RETAINED_BUFFER_BYTES);
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        self.partial.extend_from_slice(rest);
    }

    /// Passes on the last line if it has no line end.
    pub fn finish(&mut self, mut line: impl FnMut(&[u8])) {
        let last = std::mem::take(&mut self.partial);
        if !last.is_empty() {
            line(&last);
        }
    }
}

/// The longest line that is passed on whole: more than any agent has reason to write (their limits for tool results and
/// prompts are far lower), and an amount of memory that one session may use briefly.
pub const MAX_LINE_BYTES: usize = 128 << 20;

/// The size of the pieces of a longer line.
const LINE_PIECE_BYTES: usize = 1 << 20;

/// A unit of a live stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFrame<'a> {
    /// A line, without its line feed.
    Line(&'a [u8]),
    /// A piece of a line that is too long to be buffered. Joined, the pieces are the line. A UTF-8 character is never
    /// split.
    Piece {
        /// The next bytes of the line.
        bytes: &'a [u8],
        /// The line ends with this piece.
        is_last: bool,
    },
}

/// Splits a stream of bytes into lines, with a bound on the memory that a line can take. The same bytes give the same
/// frames in any chunking.
pub struct BoundedLineSplitter {
    longest: usize,
    piece: usize,
    held: Vec<u8>,
    /// The beginning of the line was already passed on.
    in_pieces: bool,
}

impl Default for BoundedLineSplitter {
    fn default() -> Self {
        Self::with_max_line(MAX_LINE_BYTES)
    }
}

impl BoundedLineSplitter {
    /// Passes on lines of up to `longest` bytes whole. The default is [`MAX_LINE_BYTES`].
    fn with_max_line(longest: usize) -> Self {
        Self::with_limits(longest, LINE_PIECE_BYTES.min(longest))
    }

    /// A piece has at least the four bytes of a character.
    fn with_limits(longest: usize, piece: usize) -> Self {
        Self { longest, piece: piece.max(4), held: Vec::new(), in_pieces: false }
    }

    /// Passes on the frames that `arbitrary_bytes` complete. As in [`LineSplitter::push`], a carriage return belongs to the line.
    pub fn push(&mut self, bytes: &[u8], mut frame: impl FnMut(LineFrame)) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (head, tail) = rest.split_at(end);
            if self.held.is_empty() && head.len() <= self.longest {
                // `in_pieces` is not set: otherwise a part of the line would be held.
                frame(LineFrame::Line(head));
            } else {
                self.hold_bytes(head, &mut frame);
                self.end_line(&mut frame);
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        self.hold_bytes(rest, &mut frame);
    }

    /// Passes on the last line if it has no line end.
    pub fn finish(&mut self, mut frame: impl FnMut(LineFrame)) {
        if !self.held.is_empty() {
            self.end_line(&mut frame);
        }
    }

    /// Buffers bytes of a line, and passes on pieces once the line is known to be too long.
    fn hold_bytes(&mut self, mut bytes: &[u8], frame: &mut impl FnMut(LineFrame)) {
        while !bytes.is_empty() {
            // One byte more than a piece: it tells whether a character ends with the piece.
            let limit = if self.in_pieces { self.piece + 1 } else { self.longest };
            let room = limit.saturating_sub(self.held.len());
            if room == 0 {
                self.emit_pieces(frame);
            }
            let (head, tail) = bytes.split_at(room.min(bytes.len()));
            self.reserve_up_to(head.len(), limit);
            self.held.extend_from_slice(head);
            bytes = tail;
        }
    }

    /// Doubles the capacity, but never beyond the limit.
    fn reserve_up_to(&mut self, more: usize, limit: usize) {
        let (held, room) = (self.held.len(), self.held.capacity());
        if held + more > room {
            self.held.reserve_exact((2 * room).min(limit).max(held + more) - held);
        }
    }

    /// Passes on all whole pieces in the buffer, except for the last bytes of the line.
    fn emit_pieces(&mut self, frame: &mut impl FnMut(LineFrame)) {
        let mut rest = self.held.as_slice();
        while rest.len() > self.piece {
            let (bytes, tail) = rest.split_at(cut_position(rest, self.piece));
            frame(LineFrame::Piece { bytes, is_last: false });
            rest = tail;
        }
        let given = self.held.len() - rest.len();
        self.held.drain(..given);
        self.held.shrink_to(self.piece);
        self.in_pieces = true;
    }

    fn end_line(&mut self, frame: &mut impl FnMut(LineFrame)) {
        if self.in_pieces {
            self.emit_pieces(frame);
        }
        let in_pieces = std::mem::take(&mut self.in_pieces);
        frame(if in_pieces {
            LineFrame::Piece { bytes: &self.held, is_last: true }
        } else {
            LineFrame::Line(&self.held)
        });
        self.held.clear();
        self.held.shrink_to(RETAINED_BUFFER_BYTES);
    }
}

/// Returns where to cut a piece of at most `size` bytes without splitting a character.
fn cut_position(bytes: &[u8], size: usize) -> usize {
    let is_inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    // Bytes without the start of a character within four bytes are not UTF-8, and can be cut anywhere.
    (size.saturating_sub(3).max(1)..=size).rev().find(|at| !is_inside(at)).unwrap_or(size)
}

#[cfg(test)]
mod tests {

    use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};

    use super::{BoundedLineSplitter, LineFrame, LineSplitter, MAX_LINE_BYTES};

    /// An owned frame: a line, or a piece and whether it is the last.
    type OwnedFrame = (Vec<u8>, Option<bool>);

    fn collect_frames(mut lines: BoundedLineSplitter, chunks: &[&[u8]]) -> Vec<OwnedFrame> {
        let mut out = Vec::new();
        let mut keep = |frame: LineFrame| match frame {
            LineFrame::Line(bytes) => out.push((bytes.to_vec(), None)),
            LineFrame::Piece { bytes, is_last } => out.push((bytes.to_vec(), Some(is_last))),
        };
        chunks.iter().for_each(|chunk| lines.push(chunk, &mut keep));
        lines.finish(&mut keep);
        out
    }

    fn small_splitter() -> BoundedLineSplitter {
        BoundedLineSplitter::with_limits(8, 4)
    }

    fn line_frame(text: &str) -> OwnedFrame {
        (text.as_bytes().to_vec(), None)
    }

    fn piece_frame(text: &str, is_last: bool) -> OwnedFrame {
        (text.as_bytes().to_vec(), Some(is_last))
    }

    #[test]
    fn a_line_that_is_too_long_comes_in_pieces_and_the_next_is_whole() {
        let seen = collect_frames(small_splitter(), &[b"12345678\n123456789\nnext\n\n1234567890123"]);
        let long = [piece_frame("1234", false), piece_frame("5678", false), piece_frame("9", true)];
        let last = [
            piece_frame("1234", false),
            piece_frame("5678", false),
            piece_frame("9012", false),
            piece_frame("3", true),
        ];
        let lines =
            [line_frame("12345678")].into_iter().chain(long).chain([line_frame("next"), line_frame("")]).chain(last);
        assert_eq!(seen, lines.collect::<Vec<_>>());
    }

    #[test]
    fn no_character_is_cut() {
        let seen = collect_frames(small_splitter(), &["aöüabcäß€x".as_bytes()]);
        let pieces =
            [piece_frame("aö", false), piece_frame("üab", false), piece_frame("cä", false), piece_frame("ß", false)];
        assert_eq!(seen, pieces.into_iter().chain([piece_frame("€x", true)]).collect::<Vec<_>>());
    }

    #[test]
    fn a_line_of_a_hundred_megabytes_is_whole() {
        let (chunk, mut lines, mut seen) = (vec![b'x'; 1 << 16], BoundedLineSplitter::default(), Vec::new());
        let chunks = 100_000_000 / chunk.len() + 1;
        let mut keep =
            |frame: LineFrame| seen.push(matches!(frame, LineFrame::Line(line) if line.len() >= 100_000_000));
        (0..chunks).for_each(|_| lines.push(&chunk, &mut keep));
        lines.push(b"\n", &mut keep);
        assert_eq!(seen, [true]);
    }

    #[test]
    fn memory_is_bounded() {
        let (chunk, mut lines, mut seen) = (vec![b'x'; 1 << 20], BoundedLineSplitter::default(), 0);
        lines.push(b"odd", |_| ());
        for _ in 0..200 {
            lines.push(&chunk, |frame| seen += usize::from(matches!(frame, LineFrame::Piece { is_last: false, .. })));
            assert!(lines.held.capacity() <= MAX_LINE_BYTES);
        }
        assert_eq!(seen, 200);
        assert!(lines.held.capacity() <= 4 << 20);
    }

    /// A small alphabet, so that line ends and split characters are frequent.
    fn arbitrary_bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = any::<u8>().prop_map(|n| [b'\n', b'a', 0xc3, 0xa4, 0xe2, 0x82, 0xac][usize::from(n) % 7]);
        proptest::collection::vec(byte, 0..60)
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames(bytes in arbitrary_bytes(), size in 1_usize..20) {
            let whole = collect_frames(small_splitter(), &[&bytes]);
            prop_assert_eq!(&collect_frames(small_splitter(), &bytes.chunks(size).collect::<Vec<_>>()), &whole);
            // Joined, they equal the output of `LineSplitter`.
            let mut lines: Vec<Vec<u8>> = Vec::new();
            let mut is_open = false;
            for (part, is_last) in whole {
                match lines.last_mut() {
                    Some(line) if is_open => line.extend(part),
                    _ => lines.push(part),
                }
                is_open = is_last == Some(false);
            }
            prop_assert_eq!(lines, split_lines(&[&bytes]));
        }
    }

    fn split_lines(chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut lines, mut out) = (LineSplitter::default(), Vec::new());
        for chunk in chunks {
            lines.push(chunk, |line| out.push(line.to_vec()));
        }
        lines.finish(|line| out.push(line.to_vec()));
        out
    }

    #[test]
    fn any_split_gives_the_same_lines() {
        let text = b"one\r\n\ntwo\nthree";
        let whole = split_lines(&[text]);
        assert_eq!(whole, [b"one\r".to_vec(), b"".to_vec(), b"two".to_vec(), b"three".to_vec()]);
        for at in 0..=text.len() {
            let (a, b) = text.split_at(at);
            assert_eq!(split_lines(&[a, b]), whole);
        }
    }
}
