//! Standard input as lines, standard output as lines: on threads of their own, for both may block as long as the client
//! likes.

use std::{
    io::{self, BufRead, Write as _},
    thread,
};

use switchboard_serve::harness::{LONGEST_LINE, Lines};
use tokio::sync::{mpsc, oneshot};

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line, without its end.
    Line(Vec<u8>),
    /// A line above the size limit.
    TooLong,
}

/// What is written at once if there is more.
const BUFFER: usize = 64 << 10;

/// Reads lines from standard input, as fast as they are taken. The last one may have no end.
pub fn read() -> mpsc::Receiver<Heard> {
    let (heard, lines) = mpsc::channel(1);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        // What cannot be read has ended.
        while let Ok(Some(line)) = next(&mut input) {
            if heard.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn next(input: &mut impl BufRead) -> io::Result<Option<Heard>> {
    let (mut line, mut length, mut any) = (Vec::new(), 0_usize, false);
    loop {
        let bytes = input.fill_buf()?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        let is_over = bytes.is_empty();
        any |= !is_over;
        length = length.saturating_add(piece.len());
        if length <= LONGEST_LINE {
            line.extend_from_slice(piece);
        }
        let used = piece.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() || is_over {
            let heard = if length <= LONGEST_LINE { Heard::Line(line) } else { Heard::TooLong };
            return Ok(any.then_some(heard));
        }
    }
}

/// Writes lines to standard output until there are no more, or the reader has closed the pipe.
pub async fn write(lines: Lines) {
    let (done, is_done) = oneshot::channel::<()>();
    thread::spawn(move || {
        // A closed pipe is not an error.
        drop(write_all(lines));
        drop(done);
    });
    drop(is_done.await);
}

fn write_all(mut lines: Lines) -> io::Result<()> {
    let mut output = io::BufWriter::with_capacity(BUFFER, io::stdout().lock());
    while let Some(line) = lines.next_blocking() {
        let mut next = Some(line);
        while let Some(line) = next {
            output.write_all(&line.json)?;
            output.write_all(b"\n")?;
            drop(line);
            next = lines.ready();
        }
        output.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{Heard, LONGEST_LINE, next};

    fn all(text: &[u8]) -> Vec<Heard> {
        let mut input = BufReader::with_capacity(7, text);
        std::iter::from_fn(|| next(&mut input).unwrap()).collect()
    }

    #[test]
    fn lines_are_read_however_they_come() {
        let line = |text: &str| Heard::Line(text.as_bytes().to_owned());
        assert_eq!(
            all(b"a\nlonger than the buffer\n\nlast"),
            [line("a"), line("longer than the buffer"), line(""), line("last")]
        );
        assert!(all(b"").is_empty());
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let long = [vec![b'x'; LONGEST_LINE + 1], b"\nnext\n".to_vec()].concat();
        assert_eq!(all(&long), [Heard::TooLong, Heard::Line(b"next".to_vec())]);
    }
}
