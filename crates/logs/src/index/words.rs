//! What a word is. A run of letters, digits and underscores, in lower case; of scripts that do not part words by spaces,
//! every character is one. A word is known by its hash.

/// Calls `each` with the hash of every word of a text.
pub fn each(text: &str, mut word: impl FnMut(u64)) {
    let (mut hash, mut at) = (Hash::default(), 0);
    while let Some(&byte) = text.as_bytes().get(at) {
        if byte < 0x80 {
            at += 1;
            match ASCII[usize::from(byte)] {
                0 if hash.any => word(hash.finish()),
                0 => {}
                folded => hash.byte(folded),
            }
            continue;
        }
        let Some(character) = text.get(at..).and_then(|text| text.chars().next()) else { break };
        at += character.len_utf8();
        let part = part(character);
        if hash.any && !matches!(part, Part::Word) {
            word(hash.finish());
        }
        match part {
            Part::Word => character.to_lowercase().for_each(|c| hash.character(c)),
            Part::Alone => {
                hash.character(character);
                word(hash.finish());
            }
            Part::Between => {}
        }
    }
    if hash.any {
        word(hash.finish());
    }
}

/// A word that has this character at its end ends there: it is not a word by itself, and part of one.
pub fn has_edges(character: char) -> bool {
    character == '_' || matches!(part(character), Part::Word)
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
        _ if character.is_alphanumeric() => Part::Word,
        _ => Part::Between,
    }
}

/// The lower case of the bytes that words are made of; zero for the others.
const ASCII: [u8; 128] = {
    let mut table = [0; 128];
    let mut byte = 0;
    while byte < 128_u8 {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            table[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};

/// A hash that grows byte by byte (FNV-1a, mixed at the end): words are short, and are hashed as they are found.
struct Hash {
    state: u64,
    any: bool,
}

impl Default for Hash {
    fn default() -> Self {
        Self { state: 0xcbf2_9ce4_8422_2325, any: false }
    }
}

impl Hash {
    fn byte(&mut self, byte: u8) {
        self.state = (self.state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        self.any = true;
    }

    fn character(&mut self, character: char) {
        let mut bytes = [0; 4];
        for byte in character.encode_utf8(&mut bytes).bytes() {
            self.byte(byte);
        }
    }

    fn finish(&mut self) -> u64 {
        let mut hash = std::mem::take(self).state;
        hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^ (hash >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::each;

    fn words(text: &str) -> Vec<u64> {
        let mut words = Vec::new();
        each(text, |word| words.push(word));
        words
    }

    #[test]
    fn case_and_what_is_between_do_not_matter() {
        assert_eq!(words("Fix the_Bug, now!"), words("fix (the_bug) NOW"));
        assert_eq!(words("Größe").len(), 1);
        assert_eq!(words("ÄRGER"), words("ärger"));
        assert_ne!(words("one"), words("two"));
        assert!(words(" ,.\u{2014} ").is_empty());
    }

    #[test]
    fn scripts_without_spaces_give_a_word_a_character() {
        assert_eq!(words("修复 bug在").len(), 4);
        assert_eq!(words("复")[0], words("修复")[1]);
    }
}
