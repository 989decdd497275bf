//! Prints many pieces of text as fast as a pipe takes them. Output is prepared once and only numbers are filled in, so
//! that benchmarks measure the reader and not the fake.

use super::{FakeProtocol, perform::unix_nanos, write_bytes};

/// Placeholder for the text of a piece, and in the ending of a reply for its whole text.
pub const PIECE_PLACEHOLDER: &str = "<piece>";

/// Placeholder for the number of a reply.
pub const REPLY_PLACEHOLDER: &str = "<reply>";

/// Placeholder for the twelve-digit number of a piece.
pub const NUMBER_PLACEHOLDER: &str = "<number>";

/// The lines of a reply in a protocol.
pub struct ReplyTemplate {
    pub before: Vec<String>,
    /// One of its pieces; the text comes before the number, if it has one.
    pub piece: String,
    /// It may repeat the whole text.
    pub after: Vec<String>,
}

/// As many as a long reply of a real model has.
const PIECES_PER_REPLY: usize = 2_000;

/// The capacity of a pipe.
const WRITE_CHUNK_BYTES: usize = 64 << 10;

/// Makes a line about 300 bytes long.
const PIECE_FILLER: &str = " words that a model could say";

pub fn print_burst(wire: &mut dyn FakeProtocol, count: u64) {
    let mould = wire.reply_template();
    let piece = PieceTemplate::parse(&mould.piece);
    let (mut out, mut said, mut left, mut reply) =
        (Vec::with_capacity(2 * WRITE_CHUNK_BYTES), String::new(), count, 0_u64);
    while left > 0 {
        reply += 1;
        let text = format!("{}{PIECE_FILLER}", unix_nanos());
        mould.push_opening(reply, &mut out);
        said.clear();
        for number in (0..left).rev().take(PIECES_PER_REPLY) {
            piece.push_piece(&text, number, &mut out);
            said.push_str(&text);
            if out.len() > WRITE_CHUNK_BYTES {
                write_bytes(&out);
                out.clear();
            }
        }
        left = left.saturating_sub(PIECES_PER_REPLY as u64);
        mould.push_ending(reply, &said, &mut out);
    }
    write_bytes(&out);
}

impl ReplyTemplate {
    fn push_opening(&self, reply: u64, out: &mut Vec<u8>) {
        for line in &self.before {
            out.extend(line.replace(REPLY_PLACEHOLDER, &reply.to_string()).bytes().chain(*b"\n"));
        }
    }

    fn push_ending(&self, reply: u64, said: &str, out: &mut Vec<u8>) {
        for line in &self.after {
            let line = line.replace(REPLY_PLACEHOLDER, &reply.to_string()).replace(PIECE_PLACEHOLDER, said);
            out.extend(line.bytes().chain(*b"\n"));
        }
    }
}

/// A line with placeholders for a text and a number.
struct PieceTemplate {
    before: String,
    between: String,
    after: Option<String>,
}

impl PieceTemplate {
    fn parse(line: &str) -> Self {
        let (before, rest) = line.split_once(PIECE_PLACEHOLDER).unwrap_or((line, ""));
        let (between, after) =
            rest.split_once(NUMBER_PLACEHOLDER).map_or((rest, None), |(between, after)| (between, Some(after)));
        Self { before: before.to_owned(), between: between.to_owned(), after: after.map(str::to_owned) }
    }

    fn push_piece(&self, text: &str, number: u64, out: &mut Vec<u8>) {
        for part in [&self.before, text, &self.between] {
            out.extend_from_slice(part.as_bytes());
        }
        if let Some(after) = &self.after {
            out.extend(twelve_digits(number));
            out.extend_from_slice(after.as_bytes());
        }
        out.push(b'\n');
    }
}

fn twelve_digits(mut number: u64) -> [u8; 12] {
    let mut digits = [b'0'; 12];
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
    digits
}
