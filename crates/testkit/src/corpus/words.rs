//! Text as found in logs: a vocabulary of any size with a Zipf distribution, and prose and code made from it.

use crate::dice::SeededRng;

/// Syllables of two letters each, so that different sequences make different words.
const CONSONANTS: &[u8] = b"bdfghklmnprstvwz";
const VOWELS: &[u8] = b"aeiou";

const SYLLABLE_COUNT: usize = CONSONANTS.len() * VOWELS.len();

#[derive(Clone, Copy, Debug)]
pub struct ZipfVocabulary {
    count: usize,
}

impl ZipfVocabulary {
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self { count: count.max(2) }
    }

    /// Appends the word of a rank from 0: the most frequent words are the shortest.
    pub fn spell_word(rank: usize, out: &mut String) {
        let mut rest = rank + 1;
        while rest > 0 {
            rest -= 1;
            let sound = rest % SYLLABLE_COUNT;
            for letter in [CONSONANTS.get(sound / VOWELS.len()), VOWELS.get(sound % VOWELS.len())] {
                out.push(char::from(letter.copied().unwrap_or(b'a')));
            }
            rest /= SYLLABLE_COUNT;
        }
    }

    /// Appends a word. The second most frequent comes half as often as the most frequent, the third a third as often.
    fn push_random_word(self, dice: &mut SeededRng, out: &mut String) {
        Self::spell_word(self.random_rank(dice), out);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a rank is far below what a float holds exactly"
    )]
    fn random_rank(self, dice: &mut SeededRng) -> usize {
        let share = (dice.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        ((self.count as f64).powf(share) as usize).clamp(1, self.count) - 1
    }

    /// Returns sentences of about `words` words.
    #[must_use]
    pub fn random_prose(self, dice: &mut SeededRng, words: usize) -> String {
        let mut text = String::with_capacity(words * 7);
        for number in 0..words.max(1) {
            self.push_random_word(dice, &mut text);
            let end = match dice.next_below(40) {
                0 => ".\n\n",
                1 | 2 => ". ",
                3 | 4 => ", ",
                5 if number % 7 == 0 => " – “naïve” ",
                _ => " ",
            };
            text.push_str(end);
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// Returns lines of code of about `words` words.
    #[must_use]
    pub fn random_code(self, dice: &mut SeededRng, words: usize) -> String {
        let mut text = String::with_capacity(words * 11);
        let mut left = words;
        while left > 0 {
            let shape = dice.next_below(5);
            let indent = "    ".repeat(dice.next_below(4));
            let mut name = || {
                let mut word = String::new();
                self.push_random_word(dice, &mut word);
                word
            };
            let (a, b, c) = (name(), name(), name());
            let line = match shape {
                0 => format!("{indent}let {a} = {b}({c}, \"{a}\");"),
                1 => format!("{indent}if {a}.{b}() != {c} {{"),
                2 => format!("{indent}// {a} {b} {c}"),
                3 => format!("{indent}\tmod/{a}/{b}.rs:{}: {c}", a.len() * 37),
                _ => format!("{indent}{a}_{b}[{}] += {c};\\n", b.len()),
            };
            text.push_str(&line);
            text.push('\n');
            left = left.saturating_sub(3);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_million_words_are_all_different() {
        let spell = |rank| {
            let mut word = String::new();
            ZipfVocabulary::spell_word(rank, &mut word);
            word
        };
        assert_eq!((0..1_000_000).map(spell).collect::<HashSet<_>>().len(), 1_000_000);
    }

    #[test]
    fn few_words_are_frequent_and_many_are_rare() {
        let (words, mut dice) = (ZipfVocabulary::new(1_000_000), SeededRng::new(1));
        let ranks: Vec<usize> = (0..100_000).map(|_| words.random_rank(&mut dice)).collect();
        let share = |end| ranks.iter().filter(|rank| **rank < end).count() * 100 / ranks.len();
        assert!((45..55).contains(&share(1_000)), "half of all text is a thousand words: {}", share(1_000));
        assert!(ranks.iter().any(|rank| *rank > 900_000));
    }
}
