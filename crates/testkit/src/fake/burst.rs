//! A great many pieces of text as fast as a pipe takes them. What is printed is made once, and only its numbers are
//! filled in: whoever measures a reader must not measure the fake.

use super::{
    perform::now,
    wire::{Wire, write},
};

/// What stands for the text of a piece, and in what ends a reply for the text of all its pieces.
pub const PIECE: &str = "<piece>";

/// What stands for the number of a reply.
pub const REPLY: &str = "<reply>";

/// What stands for the number of a piece, with twelve digits.
pub const NUMBER: &str = "<number>";

/// What a reply looks like in a protocol: lines.
pub struct Mould {
    /// What begins it.
    pub before: Vec<String>,
    /// One of its pieces; the text comes before the number, if it has one.
    pub piece: String,
    /// What ends it. It may repeat the whole text.
    pub after: Vec<String>,
}

/// How many pieces a reply has: as many as a long one of a real model.
const PIECES: usize = 2_000;

/// As much as a pipe holds.
const CHUNK: usize = 64 << 10;

/// What makes a line about 300 bytes long.
const WORDS: &str = " words that a model could say";

/// Says that many pieces.
pub fn burst(wire: &mut dyn Wire, count: u64) {
    let mould = wire.mould();
    let piece = Piece::of(&mould.piece);
    let (mut out, mut said, mut left, mut reply) = (Vec::with_capacity(2 * CHUNK), String::new(), count, 0_u64);
    while left > 0 {
        reply += 1;
        let text = format!("{}{WORDS}", now());
        mould.begin(reply, &mut out);
        said.clear();
        for number in (0..left).rev().take(PIECES) {
            piece.fill(&text, number, &mut out);
            said.push_str(&text);
            if out.len() > CHUNK {
                write(&out);
                out.clear();
            }
        }
        left = left.saturating_sub(PIECES as u64);
        mould.end(reply, &said, &mut out);
    }
    write(&out);
}

impl Mould {
    fn begin(&self, reply: u64, out: &mut Vec<u8>) {
        for line in &self.before {
            out.extend(line.replace(REPLY, &reply.to_string()).bytes().chain(*b"\n"));
        }
    }

    fn end(&self, reply: u64, said: &str, out: &mut Vec<u8>) {
        for line in &self.after {
            let line = line.replace(REPLY, &reply.to_string()).replace(PIECE, said);
            out.extend(line.bytes().chain(*b"\n"));
        }
    }
}

/// A line with a place for a text and one for a number.
struct Piece {
    before: String,
    between: String,
    after: Option<String>,
}

impl Piece {
    fn of(line: &str) -> Self {
        let (before, rest) = line.split_once(PIECE).unwrap_or((line, ""));
        let (between, after) = rest.split_once(NUMBER).map_or((rest, None), |(between, after)| (between, Some(after)));
        Self { before: before.to_owned(), between: between.to_owned(), after: after.map(str::to_owned) }
    }

    fn fill(&self, text: &str, number: u64, out: &mut Vec<u8>) {
        for part in [&self.before, text, &self.between] {
            out.extend_from_slice(part.as_bytes());
        }
        if let Some(after) = &self.after {
            out.extend(digits(number));
            out.extend_from_slice(after.as_bytes());
        }
        out.push(b'\n');
    }
}

/// Twelve digits.
fn digits(mut number: u64) -> [u8; 12] {
    let mut digits = [b'0'; 12];
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
    digits
}
