//! Splits text into words: runs of letters, digits and underscores, ignoring case. In scripts without spaces between
//! words, every character is a word. Words are identified by their hash.

use wide::u8x16;

/// The number of bytes classified at once.
const CHUNK_BYTES: usize = 64;

/// Calls `word` with the hash of every word of a text.
pub fn for_each_word(text: &str, mut word: impl FnMut(u64)) {
    let bytes = text.as_bytes();
    let (mut at, mut begun) = (0, None);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let ByteClasses { inside, other } = classify_bytes(rest);
        // Word boundaries up to the first non-ASCII character.
        let plain = other.trailing_zeros();
        let before = inside << 1 | u64::from(begun.is_some());
        let (mut begins, mut ends) = (inside & !before & low_bit_mask(plain), !inside & before & low_bit_mask(plain));
        // Nearly all words are ASCII and are hashed in place.
        while ends != 0 {
            let begin = begun.take().unwrap_or_else(|| at + take_lowest_bit(&mut begins));
            word(hash_word(bytes, begin, at + take_lowest_bit(&mut ends)));
        }
        if begins != 0 {
            begun = Some(at + take_lowest_bit(&mut begins));
        }
        at += plain as usize;
        while bytes.get(at).is_some_and(|byte| !byte.is_ascii()) {
            at = hash_non_ascii_word(text, begun.take().unwrap_or(at), at, &mut word);
        }
        if at >= bytes.len() && begun.is_none() {
            return;
        }
    }
}

/// Clears the lowest bit and returns its index.
fn take_lowest_bit(bits: &mut u64) -> usize {
    let lowest = bits.trailing_zeros() as usize;
    *bits &= bits.wrapping_sub(1);
    lowest
}

/// Bit masks over the next bytes, the first in the lowest bit.
struct ByteClasses {
    /// ASCII word characters.
    inside: u64,
    other: u64,
}

/// The end of the text counts as a boundary.
fn classify_bytes(rest: &[u8]) -> ByteClasses {
    let mut padded = [0; CHUNK_BYTES];
    let piece = rest.first_chunk().unwrap_or_else(|| {
        padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        &padded
    });
    let (sixteens, _) = piece.as_chunks();
    let mut classes = ByteClasses { inside: 0, other: 0 };
    for sixteen in sixteens.iter().rev() {
        let bytes = u8x16::new(*sixteen);
        let within = |from: u8, to: u8, bytes: u8x16| {
            let above = bytes - u8x16::splat(from);
            above.min(u8x16::splat(to - from)).simd_eq(above)
        };
        let letters = within(b'a', b'z', bytes | u8x16::splat(b'a' - b'A'));
        let inside = letters | within(b'0', b'9', bytes) | bytes.simd_eq(u8x16::splat(b'_'));
        classes.inside = classes.inside << 16 | u64::from(inside.to_bitmask());
        classes.other = classes.other << 16 | u64::from(bytes.to_bitmask());
    }
    classes
}

/// Returns a mask of the `count` lowest bits.
fn low_bit_mask(count: u32) -> u64 {
    1_u64.checked_shl(count).map_or(u64::MAX, |bit| bit - 1)
}

/// Hashes the word that contains or ends before a non-ASCII character. Returns where to continue.
fn hash_non_ascii_word(text: &str, begin: usize, mut at: usize, word: &mut impl FnMut(u64)) -> usize {
    let mut folded = text.get(begin..at).unwrap_or_default().to_ascii_lowercase();
    let alone = loop {
        let next = text.get(at..).and_then(|text| text.chars().next());
        let Some(character) = next.filter(|next| !matches!(char_class(*next), CharClass::Between)) else { break None };
        at += character.len_utf8();
        match char_class(character) {
            CharClass::Alone => break Some(character),
            _ => folded.extend(fold_case(character)),
        }
    };
    if !folded.is_empty() {
        word(hash_word(folded.as_bytes(), 0, folded.len()));
    }
    if let Some(character) = alone {
        folded.clear();
        folded.push(character);
        word(hash_word(folded.as_bytes(), 0, folded.len()));
    }
    // Skips the separator, whatever it is.
    let over = alone.is_none().then(|| text.get(at..)?.chars().next()).flatten();
    at + over.map_or(0, char::len_utf8)
}

/// Folds the case of a character. It goes through uppercase, since several letters can share one: σ and ς, s and ſ.
fn fold_case(character: char) -> impl Iterator<Item = char> {
    let upper = character.to_lowercase().flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase)
}

/// Returns whether the character forms multi-character words, so that a match next to it needs a boundary check.
pub fn is_word_char(character: char) -> bool {
    matches!(char_class(character), CharClass::Word)
}

/// The role of a character in words.
enum CharClass {
    Word,
    Alone,
    Between,
}

fn char_class(character: char) -> CharClass {
    match character {
        // Thai to Khmer, kana, Han and Hangul.
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => CharClass::Alone,
        '_' => CharClass::Word,
        _ if character.is_alphabetic() || character.is_ascii_digit() => CharClass::Word,
        // ² and ①, and the digits of other scripts.
        _ if character.is_numeric() => CharClass::Alone,
        _ => CharClass::Between,
    }
}

/// Hashes the word in a range, ignoring case: sixteen bytes at a time, since there are very many words and few are
/// longer.
fn hash_word(bytes: &[u8], begin: usize, end: usize) -> u64 {
    let (mut state, mut at) = (0, begin);
    loop {
        let [first, second] = load_folded_bytes(bytes, at);
        let [of_first, of_second] = WORD_BYTE_MASKS[(end - at).min(16)];
        state = (state ^ first & of_first).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state = (state ^ state >> 32 ^ second & of_second).wrapping_mul(0xd6e8_feb8_6659_fd93);
        state ^= state >> 32;
        at += 16;
        if at >= end {
            return state;
        }
    }
}

/// Loads sixteen bytes with ASCII letters in lowercase. The content after the end of `bytes` is unspecified.
fn load_folded_bytes(bytes: &[u8], at: usize) -> [u64; 2] {
    // The case of ASCII letters is this bit; digits have it set. Other characters are already folded.
    const ASCII_CASE_BITS: u64 = 0x2020_2020_2020_2020;
    const NON_ASCII_BITS: u64 = 0x8080_8080_8080_8080;
    let rest = bytes.get(at..).unwrap_or_default();
    let mut padded = [0; 16];
    let piece = rest.first_chunk().unwrap_or_else(|| {
        padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        &padded
    });
    let whole = u128::from_le_bytes(*piece);
    #[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
    let halves = [whole as u64, (whole >> 64) as u64];
    halves.map(|half| half | ASCII_CASE_BITS & !((half & NON_ASCII_BITS) >> 2))
}

/// Masks of the bytes that belong to a word, by their number. A word has no zero bytes, so its length need not be
/// hashed.
const WORD_BYTE_MASKS: [[u64; 2]; 17] = {
    let mut parts = [[0; 2]; 17];
    let mut count = 0;
    while count < 16 {
        parts[count + 1] = parts[count];
        parts[count + 1][count / 8] |= 0xff << (count % 8 * 8);
        count += 1;
    }
    parts
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CharClass, char_class, fold_case, for_each_word, hash_word};

    fn word_hashes(text: &str) -> Vec<u64> {
        let mut words = Vec::new();
        for_each_word(text, |word| words.push(word));
        words
    }

    fn word_hashes_by_char(text: &str) -> Vec<u64> {
        let (mut words, mut open) = (Vec::new(), String::new());
        let of = |word: &str| hash_word(word.as_bytes(), 0, word.len());
        for character in text.chars().chain([' ']) {
            match char_class(character) {
                CharClass::Word => open.extend(fold_case(character)),
                between => {
                    words.extend(Some(std::mem::take(&mut open)).filter(|word| !word.is_empty()).map(|word| of(&word)));
                    words.extend(matches!(between, CharClass::Alone).then(|| of(&character.to_string())));
                }
            }
        }
        words
    }

    proptest! {
        #[test]
        fn are_found_however_they_lie(text in "([a-zA-Z0-9_]{0,70}[ -~]{0,3}|[äÉσς中かไ²—\u{feff}]{0,3}){0,12}") {
            prop_assert_eq!(word_hashes(&text), word_hashes_by_char(&text));
        }

        #[test]
        fn are_found_in_any_text(text in ".{0,200}") {
            prop_assert_eq!(word_hashes(&text), word_hashes_by_char(&text));
        }
    }

    #[test]
    fn case_and_what_is_between_do_not_matter() {
        assert_eq!(word_hashes("Fix the_Bug, now!"), word_hashes("fix (the_bug) NOW"));
        assert_eq!(word_hashes("Größe").len(), 1);
        assert_eq!(word_hashes("ÄRGER"), word_hashes("ärger"));
        assert_ne!(word_hashes("one"), word_hashes("two"));
        assert!(word_hashes(" ,.\u{2014} ").is_empty());
        assert_eq!(word_hashes("a—b\u{2019}s"), word_hashes("a b s"));
        assert_eq!(word_hashes("ÄRGER_1x ÉTÉ"), word_hashes("(ärger_1X) été"));
    }

    #[test]
    fn words_are_the_same_wherever_they_stand() {
        for word in ["a", "sevenby", "eightbyt", "ninebytes", "a_word_of_twenty_four_b", "größenwahn"] {
            let alone = word_hashes(word);
            assert_eq!(alone.len(), 1);
            for text in
                [format!("{word} and more words behind it"), format!("before {word}"), format!("({word})\u{2026}")]
            {
                assert!(word_hashes(&text).contains(&alone[0]), "{text}");
            }
            assert!(!word_hashes(&format!("{word}x y{word}")).contains(&alone[0]), "{word}");
        }
    }

    #[test]
    fn words_may_end_where_a_look_does() {
        for length in [1, 15, 16, 63, 64, 65, 127, 128, 129] {
            for before in ["", "-", "中", "ä "] {
                for after in ["", " ", "ä", "中", "—", "ä more", " more"] {
                    let text = format!("{before}{}{after}", "x".repeat(length));
                    assert_eq!(word_hashes(&text), word_hashes_by_char(&text), "{text}");
                }
            }
        }
    }

    #[test]
    fn hashes_differ_wherever_words_do() {
        let mut all = Vec::new();
        for (at, other) in (0..40).flat_map(|at| (b'a'..=b'y').map(move |other| (at, other))) {
            let mut word = [b'z'; 40];
            word[at] = other;
            (at + 1..=40).for_each(|length| all.push(hash_word(&word, 0, length)));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn hashes_differ() {
        let text: String =
            (0..200_000).map(|number| format!("{number:x} word_that_has_the_number_{number} ")).collect();
        let mut all: Vec<u64> = word_hashes(&text);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 400_000);
        // Each bit is set in about half of the hashes, so buckets and filters fill evenly.
        for bit in 0..64 {
            let set = all.iter().filter(|hash| *hash >> bit & 1 == 1).count();
            assert!((190_000..210_000).contains(&set), "bit {bit}: {set}");
        }
    }

    #[test]
    fn scripts_without_spaces_give_a_word_a_character() {
        assert_eq!(word_hashes("修复 bug在").len(), 4);
        assert_ne!(word_hashes("一"), word_hashes("丠"));
        assert_eq!(word_hashes("复")[0], word_hashes("修复")[1]);
    }
}
