//! Lines of a stream with their offsets. Memory is bounded by the longest line, whose length is limited.

use std::{
    cell::RefCell,
    io::{self, Read},
    path::Path,
};

use switchboard_agents::{MAX_LINE_BYTES, ends_with_record};

use super::file;

/// The number of bytes read at once.
const CHUNK_BYTES: usize = 256 << 10;

/// How much is returned of a line that is too long: enough to identify it, and not valid JSON.
const MAX_TRUNCATED_LINE_BYTES: usize = 4 << 10;

/// Some editors write it at the beginning of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads the lines of a stream, which is at offset `from`, and returns where they end.
///
/// # Errors
/// If the stream cannot be read. Earlier lines were passed to `each`.
pub fn read_lines(stream: &mut dyn Read, from: u64, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
    let mut bytes = SPARE_BUFFER.take();
    bytes.resize(CHUNK_BYTES, 0);
    let mut lines = LineBuffer { bytes, held: 0, at: from, skips: false, longest: MAX_LINE_BYTES };
    let end = lines.read_lines(stream, each);
    if lines.bytes.len() == CHUNK_BYTES {
        SPARE_BUFFER.set(lines.bytes);
    }
    end
}

thread_local! {
    /// The buffer of the last stream: there are many streams, and allocating a new buffer costs more than filling it.
    static SPARE_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A buffer that begins with an incomplete line.
struct LineBuffer {
    bytes: Vec<u8>,
    held: usize,
    /// Offset of the buffer in the stream.
    at: u64,
    /// The current line is too long, and its beginning was emitted.
    skips: bool,
    longest: usize,
}

impl LineBuffer {
    fn read_lines(&mut self, stream: &mut dyn Read, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
        loop {
            let room = self.bytes.get_mut(self.held..).unwrap_or_default();
            match stream.read(room) {
                Ok(0) => return Ok(self.emit_last_line(each)),
                Ok(more) => self.split_lines(more, each),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Emits the lines that end in the new bytes.
    fn split_lines(&mut self, more: usize, each: &mut dyn FnMut(u64, &[u8])) {
        let end = self.held + more;
        let (mut begin, mut search) = (0, self.held);
        while let Some(length) = memchr::memchr(b'\n', self.bytes.get(search..end).unwrap_or_default()) {
            let stop = search + length;
            if !std::mem::take(&mut self.skips) {
                emit_line(self.at + begin as u64, self.bytes.get(begin..stop).unwrap_or_default(), each);
            }
            (begin, search) = (stop + 1, stop + 1);
        }
        self.bytes.copy_within(begin..end, 0);
        self.at += begin as u64;
        self.held = end - begin;
        self.reserve_space(each);
    }

    fn reserve_space(&mut self, each: &mut dyn FnMut(u64, &[u8])) {
        if self.skips || self.held >= self.longest {
            if !std::mem::replace(&mut self.skips, true) {
                emit_line(self.at, self.bytes.get(..MAX_TRUNCATED_LINE_BYTES.min(self.held)).unwrap_or_default(), each);
            }
            self.at += self.held as u64;
            self.held = 0;
        }
        let wanted = if self.held == 0 { CHUNK_BYTES } else { (self.held * 2).max(CHUNK_BYTES) };
        if self.held == self.bytes.len() || wanted == CHUNK_BYTES {
            self.bytes.resize(wanted, 0);
            self.bytes.shrink_to(wanted);
        }
    }

    /// Emits the last line if it is complete: nothing can follow the closing bracket of an object.
    fn emit_last_line(&self, each: &mut dyn FnMut(u64, &[u8])) -> u64 {
        let last = self.bytes.get(..self.held).unwrap_or_default();
        if ends_with_record(trim_line(last)) && !self.skips {
            emit_line(self.at, last, each);
            return self.at + self.held as u64;
        }
        self.at
    }
}

/// Emits a line without padding and byte order mark.
fn emit_line(at: u64, line: &[u8], each: &mut dyn FnMut(u64, &[u8])) {
    let line = if at == 0 { line.strip_prefix(BYTE_ORDER_MARK).map_or((0, line), |rest| (3, rest)) } else { (0, line) };
    let record = trim_line(line.1);
    if record.is_empty() && line.1.contains(&0) {
        // Only zeros: data was lost here, which is reported.
        each(at, line.1.get(..1).unwrap_or_default());
    } else if record.iter().any(|byte| !byte.is_ascii_whitespace()) {
        let before = line.1.len() - trim_leading_zeros(line.1).len();
        each(at + line.0 + before as u64, record);
    }
}

/// Strips the zeros that a system crash leaves around a line, and the line ending.
fn trim_line(line: &[u8]) -> &[u8] {
    let line = trim_leading_zeros(line);
    let end = line.iter().rposition(|byte| !matches!(byte, 0 | b'\r')).map_or(0, |last| last + 1);
    line.get(..end).unwrap_or_default()
}

fn trim_leading_zeros(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|byte| *byte != 0).unwrap_or(line.len());
    line.get(start..).unwrap_or_default()
}

/// Reads lines from an offset in the uncompressed data.
///
/// # Errors
/// If the file cannot be read, or is not valid zstd to its end. Earlier lines were passed to `each`.
pub fn read_compressed_lines(path: &Path, from: u64, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
    let mut stream = zstd::Decoder::new(file::open_log_file(path)?)?;
    io::copy(&mut stream.by_ref().take(from), &mut io::sink())?;
    read_lines(&mut stream, from, each)
}

/// Checks that the whole file is valid zstd.
///
/// # Errors
/// If it is invalid or cannot be read.
pub fn check_compressed(path: &Path) -> io::Result<()> {
    io::copy(&mut zstd::Decoder::new(file::open_log_file(path)?)?, &mut io::sink()).map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::{LineBuffer, read_lines};

    fn lines_from(text: &[u8], from: u64) -> (Vec<(u64, String)>, u64) {
        let mut given = Vec::new();
        let mut each = |at, line: &[u8]| given.push((at, String::from_utf8_lossy(line).into_owned()));
        let rest = usize::try_from(from).unwrap();
        let end = read_lines(&mut Cursor::new(&text[rest..]), from, &mut each).unwrap();
        (given, end)
    }

    fn owned_lines(lines: &[(u64, &str)]) -> Vec<(u64, String)> {
        lines.iter().map(|(at, line)| (*at, (*line).to_owned())).collect()
    }

    #[test]
    fn each_line_has_its_place() {
        assert_eq!(
            lines_from(b"one\n\n  \ntwo\r\nthree\n", 0),
            (owned_lines(&[(0, "one"), (8, "two"), (13, "three")]), 19)
        );
        assert_eq!(lines_from(b"one\ntwo\n", 4), (owned_lines(&[(4, "two")]), 8));
    }

    #[test]
    fn the_last_line_is_given_when_it_is_whole() {
        assert_eq!(lines_from(b"{}\n{\"a\":1}", 0), (owned_lines(&[(0, "{}"), (3, "{\"a\":1}")]), 10));
        assert_eq!(lines_from(b"{}\n{\"a\":", 0), (owned_lines(&[(0, "{}")]), 3));
        // Another digit could follow.
        assert_eq!(lines_from(b"{}\n12", 0), (owned_lines(&[(0, "{}")]), 3));
        assert_eq!(lines_from(b"{}\n{\"a\":1}\n", 10), (Vec::new(), 11));
        assert_eq!(lines_from(b"{\"a\":1}{\"a\":2}", 0), (owned_lines(&[(0, "{\"a\":1}{\"a\":2}")]), 14));
        assert_eq!(lines_from(b"{\"a\":1}{\"a\":", 0), (Vec::new(), 0));
    }

    #[test]
    fn zeros_around_a_line_are_no_part_of_it_and_nothing_else_is_told_of() {
        assert_eq!(lines_from(b"\0\0{}\0\n\0\0\n{}\n", 0), (owned_lines(&[(2, "{}"), (6, "\0"), (9, "{}")]), 12));
        assert_eq!(lines_from(b"{}\n\0\0\0\0", 0), (owned_lines(&[(0, "{}")]), 3));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(lines_from(b"\xef\xbb\xbf{}\n{}\n", 0), (owned_lines(&[(3, "{}"), (6, "{}")]), 9));
    }

    #[test]
    fn a_line_of_a_hundred_megabytes_is_whole() {
        let text = [b"a\n".as_slice(), &vec![b'x'; 100_000_000], b"\nb\n"].concat();
        let mut given = Vec::new();
        let end = read_lines(&mut text.as_slice(), 0, &mut |at, line| given.push((at, line.len()))).unwrap();
        assert_eq!((given, end), (vec![(0, 1), (2, 100_000_000), (100_000_003, 1)], 100_000_005));
    }

    #[test]
    fn of_a_line_that_is_too_long_the_beginning_is_given() {
        let text = [b"a\n".as_slice(), &vec![b'x'; 3_000_000], b"\nb\n"].concat();
        let mut given = Vec::new();
        let mut lines = LineBuffer { bytes: vec![0; 1000], held: 0, at: 0, skips: false, longest: 1_000_000 };
        let end = lines.read_lines(&mut text.as_slice(), &mut |at, line| given.push((at, line.len()))).unwrap();
        assert_eq!((given, end), (vec![(0, 1), (2, 4096), (3_000_003, 1)], 3_000_005));
    }
}
