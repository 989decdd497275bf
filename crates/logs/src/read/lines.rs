//! Lines of a stream, with the place of each. Memory is bounded by the longest line, and that has a bound too.

use std::{
    cell::RefCell,
    io::{self, Read},
};

use switchboard_agents::{LONGEST_LINE, ends_with_record};

/// How much is read at once.
const CHUNK: usize = 256 << 10;

/// How much is given of a line that is too long to be held: enough to see what it is, and no JSON.
const BEGINNING: usize = 4 << 10;

/// What some editors put before the first line of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Gives the lines from here on, and says where they end. `from` is where the stream is.
///
/// # Errors
/// If the stream cannot be read. The lines before were given.
pub fn read(stream: &mut dyn Read, from: u64, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
    let mut bytes = SPARE.take();
    bytes.resize(CHUNK, 0);
    let mut lines = Lines { bytes, held: 0, at: from, skips: false, longest: LONGEST_LINE };
    let end = lines.read(stream, each);
    if lines.bytes.len() == CHUNK {
        SPARE.set(lines.bytes);
    }
    end
}

thread_local! {
    /// The buffer of the last stream: there are many streams, and memory that is new costs more than reading into it.
    static SPARE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A buffer that begins with what is held of a line that has not ended.
struct Lines {
    bytes: Vec<u8>,
    held: usize,
    /// Where in the stream the buffer begins.
    at: u64,
    /// The line is too long, and its beginning was given.
    skips: bool,
    longest: usize,
}

impl Lines {
    fn read(&mut self, stream: &mut dyn Read, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
        loop {
            let room = self.bytes.get_mut(self.held..).unwrap_or_default();
            match stream.read(room) {
                Ok(0) => return Ok(self.finish(each)),
                Ok(more) => self.grown(more, each),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the lines that end in what was read.
    fn grown(&mut self, more: usize, each: &mut dyn FnMut(u64, &[u8])) {
        let end = self.held + more;
        let (mut begin, mut search) = (0, self.held);
        while let Some(length) = memchr::memchr(b'\n', self.bytes.get(search..end).unwrap_or_default()) {
            let stop = search + length;
            if !std::mem::take(&mut self.skips) {
                give(self.at + begin as u64, self.bytes.get(begin..stop).unwrap_or_default(), each);
            }
            (begin, search) = (stop + 1, stop + 1);
        }
        self.bytes.copy_within(begin..end, 0);
        self.at += begin as u64;
        self.held = end - begin;
        self.make_room(each);
    }

    fn make_room(&mut self, each: &mut dyn FnMut(u64, &[u8])) {
        if self.skips || self.held >= self.longest {
            if !std::mem::replace(&mut self.skips, true) {
                give(self.at, self.bytes.get(..BEGINNING.min(self.held)).unwrap_or_default(), each);
            }
            self.at += self.held as u64;
            self.held = 0;
        }
        let wanted = if self.held == 0 { CHUNK } else { (self.held * 2).max(CHUNK) };
        if self.held == self.bytes.len() || wanted == CHUNK {
            self.bytes.resize(wanted, 0);
            self.bytes.shrink_to(wanted);
        }
    }

    /// The last line, if it is whole: an object cannot go on behind its last bracket.
    fn finish(&self, each: &mut dyn FnMut(u64, &[u8])) -> u64 {
        let last = self.bytes.get(..self.held).unwrap_or_default();
        if ends_with_record(trimmed(last)) && !self.skips {
            give(self.at, last, each);
            return self.at + self.held as u64;
        }
        self.at
    }
}

/// Gives a line, but for what is no part of it.
fn give(at: u64, line: &[u8], each: &mut dyn FnMut(u64, &[u8])) {
    let line = if at == 0 { line.strip_prefix(BYTE_ORDER_MARK).map_or((0, line), |rest| (3, rest)) } else { (0, line) };
    let record = trimmed(line.1);
    if record.is_empty() && line.1.contains(&0) {
        // Nothing but zeros: something was lost here, and that is told of.
        each(at, line.1.get(..1).unwrap_or_default());
    } else if record.iter().any(|byte| !byte.is_ascii_whitespace()) {
        let before = line.1.len() - trimmed_start(line.1).len();
        each(at + line.0 + before as u64, record);
    }
}

/// The line without the zeros that a crash of the machine leaves around what was written, and without its line end.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = trimmed_start(line);
    let end = line.iter().rposition(|byte| !matches!(byte, 0 | b'\r')).map_or(0, |last| last + 1);
    line.get(..end).unwrap_or_default()
}

fn trimmed_start(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|byte| *byte != 0).unwrap_or(line.len());
    line.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::{Lines, read};

    fn of(text: &[u8], from: u64) -> (Vec<(u64, String)>, u64) {
        let mut given = Vec::new();
        let mut each = |at, line: &[u8]| given.push((at, String::from_utf8_lossy(line).into_owned()));
        let rest = usize::try_from(from).unwrap();
        let end = read(&mut Cursor::new(&text[rest..]), from, &mut each).unwrap();
        (given, end)
    }

    fn lines(lines: &[(u64, &str)]) -> Vec<(u64, String)> {
        lines.iter().map(|(at, line)| (*at, (*line).to_owned())).collect()
    }

    #[test]
    fn each_line_has_its_place() {
        assert_eq!(of(b"one\n\n  \ntwo\r\nthree\n", 0), (lines(&[(0, "one"), (8, "two"), (13, "three")]), 19));
        assert_eq!(of(b"one\ntwo\n", 4), (lines(&[(4, "two")]), 8));
    }

    #[test]
    fn the_last_line_is_given_when_it_is_whole() {
        assert_eq!(of(b"{}\n{\"a\":1}", 0), (lines(&[(0, "{}"), (3, "{\"a\":1}")]), 10));
        assert_eq!(of(b"{}\n{\"a\":", 0), (lines(&[(0, "{}")]), 3));
        // A number could still get another digit.
        assert_eq!(of(b"{}\n12", 0), (lines(&[(0, "{}")]), 3));
        assert_eq!(of(b"{}\n{\"a\":1}\n", 10), (Vec::new(), 11));
        assert_eq!(of(b"{\"a\":1}{\"a\":2}", 0), (lines(&[(0, "{\"a\":1}{\"a\":2}")]), 14));
        assert_eq!(of(b"{\"a\":1}{\"a\":", 0), (Vec::new(), 0));
    }

    #[test]
    fn zeros_around_a_line_are_no_part_of_it_and_nothing_else_is_told_of() {
        assert_eq!(of(b"\0\0{}\0\n\0\0\n{}\n", 0), (lines(&[(2, "{}"), (6, "\0"), (9, "{}")]), 12));
        assert_eq!(of(b"{}\n\0\0\0\0", 0), (lines(&[(0, "{}")]), 3));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(of(b"\xef\xbb\xbf{}\n{}\n", 0), (lines(&[(3, "{}"), (6, "{}")]), 9));
    }

    #[test]
    fn a_line_of_a_hundred_megabytes_is_whole() {
        let text = [b"a\n".as_slice(), &vec![b'x'; 100_000_000], b"\nb\n"].concat();
        let mut given = Vec::new();
        let end = read(&mut text.as_slice(), 0, &mut |at, line| given.push((at, line.len()))).unwrap();
        assert_eq!((given, end), (vec![(0, 1), (2, 100_000_000), (100_000_003, 1)], 100_000_005));
    }

    #[test]
    fn of_a_line_that_is_too_long_the_beginning_is_given() {
        let text = [b"a\n".as_slice(), &vec![b'x'; 3_000_000], b"\nb\n"].concat();
        let mut given = Vec::new();
        let mut lines = Lines { bytes: vec![0; 1000], held: 0, at: 0, skips: false, longest: 1_000_000 };
        let end = lines.read(&mut text.as_slice(), &mut |at, line| given.push((at, line.len()))).unwrap();
        assert_eq!((given, end), (vec![(0, 1), (2, 4096), (3_000_003, 1)], 3_000_005));
    }
}
