//! What a word is. A run of letters, digits and underscores, whatever their case; of scripts that do not part words by
//! spaces, every character is one. A word is known by its hash.

use wide::u8x16;

/// How many bytes are looked at together.
const WIDTH: usize = 64;

/// Calls `word` with the hash of every word of a text.
pub fn each(text: &str, mut word: impl FnMut(u64)) {
    let bytes = text.as_bytes();
    let (mut at, mut begun) = (0, None);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Classes { inside, other } = classes(rest);
        // Where words begin and end, up to the first character that is not ASCII.
        let plain = other.trailing_zeros();
        let before = inside << 1 | u64::from(begun.is_some());
        let (mut begins, mut ends) = (inside & !before & below(plain), !inside & before & below(plain));
        // Nearly all words are of ASCII, and are hashed as they stand.
        while ends != 0 {
            let begin = begun.take().unwrap_or_else(|| at + take_lowest(&mut begins));
            word(hash(bytes, begin, at + take_lowest(&mut ends)));
        }
        if begins != 0 {
            begun = Some(at + take_lowest(&mut begins));
        }
        at += plain as usize;
        while bytes.get(at).is_some_and(|byte| !byte.is_ascii()) {
            at = other_word(text, begun.take().unwrap_or(at), at, &mut word);
        }
        if at >= bytes.len() && begun.is_none() {
            return;
        }
    }
}

/// Takes the lowest bit, and says which it was.
fn take_lowest(bits: &mut u64) -> usize {
    let lowest = bits.trailing_zeros() as usize;
    *bits &= bits.wrapping_sub(1);
    lowest
}

/// What the next bytes are: a bit each, the first lowest.
struct Classes {
    /// Of ASCII, and part of a word.
    inside: u64,
    /// Not ASCII.
    other: u64,
}

/// Behind the last byte there is nothing that a word could go on with.
fn classes(rest: &[u8]) -> Classes {
    let mut padded = [0; WIDTH];
    let piece = rest.first_chunk().unwrap_or_else(|| {
        padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        &padded
    });
    let (sixteens, _) = piece.as_chunks();
    let mut classes = Classes { inside: 0, other: 0 };
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

/// The lowest bits.
fn below(count: u32) -> u64 {
    1_u64.checked_shl(count).map_or(u64::MAX, |bit| bit - 1)
}

/// The word that goes on, or not, with a character that is not ASCII. Gives where it is over.
fn other_word(text: &str, begin: usize, mut at: usize, word: &mut impl FnMut(u64)) -> usize {
    let mut folded = text.get(begin..at).unwrap_or_default().to_ascii_lowercase();
    let alone = loop {
        let next = text.get(at..).and_then(|text| text.chars().next());
        let Some(character) = next.filter(|next| !matches!(part(*next), Part::Between)) else { break None };
        at += character.len_utf8();
        match part(character) {
            Part::Alone => break Some(character),
            _ => folded.extend(fold(character)),
        }
    };
    if !folded.is_empty() {
        word(hash(folded.as_bytes(), 0, folded.len()));
    }
    if let Some(character) = alone {
        folded.clear();
        folded.push(character);
        word(hash(folded.as_bytes(), 0, folded.len()));
    }
    // What is between is moved over, whatever it is.
    let over = alone.is_none().then(|| text.get(at..)?.chars().next()).flatten();
    at + over.map_or(0, char::len_utf8)
}

/// A character whatever its case. There and back, since several letters can have the same capital: σ and ς, s and ſ.
fn fold(character: char) -> impl Iterator<Item = char> {
    let upper = character.to_lowercase().flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase)
}

/// A word that has this character at its end ends there: it is not a word by itself, and part of one.
pub fn has_edges(character: char) -> bool {
    matches!(part(character), Part::Word)
}

/// What a character is to words.
enum Part {
    Word,
    Alone,
    Between,
}

fn part(character: char) -> Part {
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
        | '\u{20000}'..='\u{3ffff}' => Part::Alone,
        '_' => Part::Word,
        _ if character.is_alphabetic() || character.is_ascii_digit() => Part::Word,
        // ² and ①, and the digits of other scripts.
        _ if character.is_numeric() => Part::Alone,
        _ => Part::Between,
    }
}

/// The hash of a word that stands at a place, whatever its case: sixteen bytes at a time, since there are very many words
/// and few are longer.
fn hash(bytes: &[u8], begin: usize, end: usize) -> u64 {
    let (mut state, mut at) = (0, begin);
    loop {
        let [first, second] = sixteen(bytes, at);
        let [of_first, of_second] = PARTS[(end - at).min(16)];
        state = (state ^ first & of_first).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state = (state ^ state >> 32 ^ second & of_second).wrapping_mul(0xd6e8_feb8_6659_fd93);
        state ^= state >> 32;
        at += 16;
        if at >= end {
            return state;
        }
    }
}

/// The bytes from a place on, whatever their case; anything where there are none.
fn sixteen(bytes: &[u8], at: usize) -> [u64; 2] {
    // Of ASCII letters, this bit is all that the case changes; digits have it. Other characters are folded already.
    const FOLD: u64 = 0x2020_2020_2020_2020;
    const OTHER: u64 = 0x8080_8080_8080_8080;
    let rest = bytes.get(at..).unwrap_or_default();
    let mut padded = [0; 16];
    let piece = rest.first_chunk().unwrap_or_else(|| {
        padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        &padded
    });
    let whole = u128::from_le_bytes(*piece);
    #[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
    let halves = [whole as u64, (whole >> 64) as u64];
    halves.map(|half| half | FOLD & !((half & OTHER) >> 2))
}

/// Which of sixteen bytes belong to a word, by how many do. A word has no zeros, so its length need not be hashed.
const PARTS: [[u64; 2]; 17] = {
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

    use super::{Part, each, fold, hash, part};

    fn words(text: &str) -> Vec<u64> {
        let mut words = Vec::new();
        each(text, |word| words.push(word));
        words
    }

    /// The same, one character after the other.
    fn slowly(text: &str) -> Vec<u64> {
        let (mut words, mut open) = (Vec::new(), String::new());
        let of = |word: &str| hash(word.as_bytes(), 0, word.len());
        for character in text.chars().chain([' ']) {
            match part(character) {
                Part::Word => open.extend(fold(character)),
                between => {
                    words.extend(Some(std::mem::take(&mut open)).filter(|word| !word.is_empty()).map(|word| of(&word)));
                    words.extend(matches!(between, Part::Alone).then(|| of(&character.to_string())));
                }
            }
        }
        words
    }

    proptest! {
        #[test]
        fn are_found_however_they_lie(text in "([a-zA-Z0-9_]{0,70}[ -~]{0,3}|[äÉσς中かไ²—\u{feff}]{0,3}){0,12}") {
            prop_assert_eq!(words(&text), slowly(&text));
        }

        #[test]
        fn are_found_in_any_text(text in ".{0,200}") {
            prop_assert_eq!(words(&text), slowly(&text));
        }
    }

    #[test]
    fn case_and_what_is_between_do_not_matter() {
        assert_eq!(words("Fix the_Bug, now!"), words("fix (the_bug) NOW"));
        assert_eq!(words("Größe").len(), 1);
        assert_eq!(words("ÄRGER"), words("ärger"));
        assert_ne!(words("one"), words("two"));
        assert!(words(" ,.\u{2014} ").is_empty());
        assert_eq!(words("a—b\u{2019}s"), words("a b s"));
        assert_eq!(words("ÄRGER_1x ÉTÉ"), words("(ärger_1X) été"));
    }

    #[test]
    fn words_are_the_same_wherever_they_stand() {
        for word in ["a", "sevenby", "eightbyt", "ninebytes", "a_word_of_twenty_four_b", "größenwahn"] {
            let alone = words(word);
            assert_eq!(alone.len(), 1);
            for text in
                [format!("{word} and more words behind it"), format!("before {word}"), format!("({word})\u{2026}")]
            {
                assert!(words(&text).contains(&alone[0]), "{text}");
            }
            assert!(!words(&format!("{word}x y{word}")).contains(&alone[0]), "{word}");
        }
    }

    #[test]
    fn words_may_end_where_a_look_does() {
        for length in [1, 15, 16, 63, 64, 65, 127, 128, 129] {
            for before in ["", "-", "中", "ä "] {
                for after in ["", " ", "ä", "中", "—", "ä more", " more"] {
                    let text = format!("{before}{}{after}", "x".repeat(length));
                    assert_eq!(words(&text), slowly(&text), "{text}");
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
            (at + 1..=40).for_each(|length| all.push(hash(&word, 0, length)));
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
        let mut all: Vec<u64> = words(&text);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 400_000);
        // Each bit of a hash is set in about half of them: drawers and filters are filled evenly.
        for bit in 0..64 {
            let set = all.iter().filter(|hash| *hash >> bit & 1 == 1).count();
            assert!((190_000..210_000).contains(&set), "bit {bit}: {set}");
        }
    }

    #[test]
    fn scripts_without_spaces_give_a_word_a_character() {
        assert_eq!(words("修复 bug在").len(), 4);
        assert_ne!(words("一"), words("丠"));
        assert_eq!(words("复")[0], words("修复")[1]);
    }
}
