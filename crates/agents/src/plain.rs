//! Finds the end of JSON strings and of their plain runs. Most of a record is such a run, so many bytes are examined at
//! once.

use wide::u8x16;

/// The number of bytes examined at once.
const CHUNK_BYTES: usize = 16;

/// The number of bytes examined at once in long strings.
const WIDE_CHUNK_BYTES: usize = 64;

/// Returns the position after the closing quote of the string whose content begins at `from`; `None` if it is not a
/// valid string.
pub fn string_end(bytes: &[u8], from: usize) -> Option<usize> {
    // Most strings are short and without escapes.
    let first = bytes.get(from..).and_then(|rest| rest.first_chunk()).map_or(0, |piece| mark_bits(*piece));
    let at = from + first.trailing_zeros() as usize;
    if first != 0 && bytes.get(at) == Some(&b'"') {
        return Some(at + 1);
    }
    long_string_end(bytes, from)
}

/// Like `string_end`, for strings with escapes: bytes are not examined again after each escape.
fn long_string_end(bytes: &[u8], mut from: usize) -> Option<usize> {
    while let Some(piece) = bytes.get(from..).and_then(|rest| rest.first_chunk()) {
        let (mut marks, mut next) = (wide_mark_bits(piece), WIDE_CHUNK_BYTES);
        while marks != 0 {
            let at = marks.trailing_zeros() as usize;
            match bytes.get(from + at) {
                Some(b'"') => return Some(from + at + 1),
                Some(b'\\') => next = at + escape_length(bytes, from + at)?,
                _ => return None,
            }
            // Skips the escape, which may end beyond the examined bytes.
            marks = u64::MAX.checked_shl(next as u32).map_or(0, |behind| marks & behind);
        }
        from += next.max(WIDE_CHUNK_BYTES);
    }
    last_string_end(bytes, from)
}

/// Like `string_end`, near the end of the bytes.
fn last_string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = find_mark(bytes, at);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += escape_length(bytes, at)?,
            _ => return None,
        }
    }
}

/// Returns the length of the escape at a position; `None` if it is invalid.
fn escape_length(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}

/// Returns a bit for each of many bytes that is a mark, the first byte lowest.
fn wide_mark_bits(piece: &[u8; WIDE_CHUNK_BYTES]) -> u64 {
    let (pieces, _) = piece.as_chunks();
    pieces.iter().rev().fold(0, |wide, piece| wide << CHUNK_BYTES | u64::from(mark_bits(*piece)))
}

/// Returns the position of the next quote, escape or control character; the end if there is none.
pub fn find_mark(bytes: &[u8], mut at: usize) -> usize {
    while let Some(piece) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        match mark_bits(*piece) {
            0 => at += CHUNK_BYTES,
            marks => return at + marks.trailing_zeros() as usize,
        }
    }
    find_mark_in_tail(bytes, at)
}

/// Like `find_mark`, where less than a chunk is left: earlier bytes are examined again.
fn find_mark_in_tail(bytes: &[u8], at: usize) -> usize {
    let is_left = at < bytes.len();
    match bytes.last_chunk().filter(|_| is_left) {
        Some(piece) => {
            let begin = bytes.len() - CHUNK_BYTES;
            let marks = mark_bits(*piece) >> (at - begin);
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

/// Returns a bit for each byte that is a mark, the first byte lowest.
fn mark_bits(piece: [u8; CHUNK_BYTES]) -> u32 {
    let bytes = u8x16::new(piece);
    let control = bytes.min(u8x16::splat(b' ' - 1)).simd_eq(bytes);
    (bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\')) | control).to_bitmask()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{find_mark, is_mark, last_string_end, string_end};

    proptest! {
        #[test]
        fn strings_end_where_they_do_however_one_looks(
            pieces in proptest::collection::vec("[a-zä ]{0,40}|(\\\\[\"\\\\nu]){1,3}|\\\\u[0-9a-f]{3,4}|\\\\[x\n]|[\n\"]", 0..12),
            from in 0_usize..4,
        ) {
            let text = pieces.concat();
            prop_assert_eq!(string_end(text.as_bytes(), from), last_string_end(text.as_bytes(), from));
            // Appends enough text that no string is near the end.
            let text = format!("{text}\"{}", " ".repeat(200));
            prop_assert_eq!(string_end(text.as_bytes(), from), last_string_end(text.as_bytes(), from));
        }

        #[test]
        fn is_where_the_first_mark_is(bytes: Vec<u8>, plain in "[a-zäß\u{7f} ]{0,80}", from in 0_usize..90) {
            let bytes = [plain.as_bytes(), &bytes].concat();
            let rest = bytes.get(from..).unwrap_or_default();
            let expected = rest.iter().position(|byte| is_mark(*byte)).map_or(bytes.len().max(from), |at| from + at);
            prop_assert_eq!(find_mark(&bytes, from), expected);
        }
    }

    #[test]
    fn every_byte_is_plain_or_not() {
        for byte in 0..=u8::MAX {
            let (mut bytes, is_plain) = ([b'a'; 40], byte >= b' ' && byte != b'"' && byte != b'\\');
            bytes[20] = byte;
            assert_eq!(find_mark(&bytes, 1), if is_plain { 40 } else { 20 }, "{byte}");
        }
    }
}
