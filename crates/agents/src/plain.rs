//! Where JSON strings end, and their plain stretches: most of every record is one, so many bytes are looked at together.

use wide::u8x16;

/// How many bytes are looked at together.
const WIDTH: usize = 16;

/// How many of them where a string is long.
const WIDE: usize = 64;

/// Behind the closing quote of the string whose content begins at a place. Nothing if that is no string.
pub fn string_end(bytes: &[u8], from: usize) -> Option<usize> {
    // Most strings are short and without escapes.
    let first = bytes.get(from..).and_then(|rest| rest.first_chunk()).map_or(0, |piece| marks(*piece));
    let at = from + first.trailing_zeros() as usize;
    if first != 0 && bytes.get(at) == Some(&b'"') {
        return Some(at + 1);
    }
    long_string_end(bytes, from)
}

/// The same, where there are escapes: what was looked at is not looked at again behind each of them.
fn long_string_end(bytes: &[u8], mut from: usize) -> Option<usize> {
    while let Some(piece) = bytes.get(from..).and_then(|rest| rest.first_chunk()) {
        let (mut marks, mut next) = (wide_marks(piece), WIDE);
        while marks != 0 {
            let at = marks.trailing_zeros() as usize;
            match bytes.get(from + at) {
                Some(b'"') => return Some(from + at + 1),
                Some(b'\\') => next = at + escape(bytes, from + at)?,
                _ => return None,
            }
            // The escape is moved over, and may end behind what was looked at.
            marks = u64::MAX.checked_shl(next as u32).map_or(0, |behind| marks & behind);
        }
        from += next.max(WIDE);
    }
    last_string_end(bytes, from)
}

/// The same, near the end of the bytes.
fn last_string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = end(bytes, at);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += escape(bytes, at)?,
            _ => return None,
        }
    }
}

/// How long the escape at a place is. Nothing if it is none.
fn escape(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}

/// Which of many bytes are marks: a bit each, the first lowest.
fn wide_marks(piece: &[u8; WIDE]) -> u64 {
    let (pieces, _) = piece.as_chunks();
    pieces.iter().rev().fold(0, |wide, piece| wide << WIDTH | u64::from(marks(*piece)))
}

/// Where the next quote, escape or control character is, from a place on; the end if there is none.
pub fn end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(piece) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        match marks(*piece) {
            0 => at += WIDTH,
            marks => return at + marks.trailing_zeros() as usize,
        }
    }
    tail_end(bytes, at)
}

/// The same where fewer bytes are left: those before them are looked at again.
fn tail_end(bytes: &[u8], at: usize) -> usize {
    let is_left = at < bytes.len();
    match bytes.last_chunk().filter(|_| is_left) {
        Some(piece) => {
            let begin = bytes.len() - WIDTH;
            let marks = marks(*piece) >> (at - begin);
            if marks == 0 { bytes.len() } else { at + marks.trailing_zeros() as usize }
        }
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            at + rest.iter().position(|byte| is_mark(*byte)).unwrap_or(rest.len())
        }
    }
}

fn is_mark(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..b' ')
}

/// Which of these bytes are marks: a bit each, the first lowest.
fn marks(piece: [u8; WIDTH]) -> u32 {
    let bytes = u8x16::new(piece);
    let control = bytes.min(u8x16::splat(b' ' - 1)).simd_eq(bytes);
    (bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\')) | control).to_bitmask()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{end, is_mark, last_string_end, string_end};

    proptest! {
        #[test]
        fn strings_end_where_they_do_however_one_looks(
            pieces in proptest::collection::vec("[a-zä ]{0,40}|(\\\\[\"\\\\nu]){1,3}|\\\\u[0-9a-f]{3,4}|\\\\[x\n]|[\n\"]", 0..12),
            from in 0_usize..4,
        ) {
            let text = pieces.concat();
            prop_assert_eq!(string_end(text.as_bytes(), from), last_string_end(text.as_bytes(), from));
            // With much behind it, nobody is near the end.
            let text = format!("{text}\"{}", " ".repeat(200));
            prop_assert_eq!(string_end(text.as_bytes(), from), last_string_end(text.as_bytes(), from));
        }

        #[test]
        fn is_where_the_first_mark_is(bytes: Vec<u8>, plain in "[a-zäß\u{7f} ]{0,80}", from in 0_usize..90) {
            let bytes = [plain.as_bytes(), &bytes].concat();
            let rest = bytes.get(from..).unwrap_or_default();
            let expected = rest.iter().position(|byte| is_mark(*byte)).map_or(bytes.len().max(from), |at| from + at);
            prop_assert_eq!(end(&bytes, from), expected);
        }
    }

    #[test]
    fn every_byte_is_plain_or_not() {
        for byte in 0..=u8::MAX {
            let (mut bytes, is_plain) = ([b'a'; 40], byte >= b' ' && byte != b'"' && byte != b'\\');
            bytes[20] = byte;
            assert_eq!(end(&bytes, 1), if is_plain { 40 } else { 20 }, "{byte}");
        }
    }
}
