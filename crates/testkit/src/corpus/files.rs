//! Writes a corpus into a home directory and records its truth.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use super::plan::{ReplyPlan, SessionPlan};
use super::{CorpusTruth, RareWord, TrueReply};
use crate::random::SeededRng;

pub struct CorpusWriter {
    pub home: PathBuf,
    pub words: ZipfVocabulary,
    pub truth: CorpusTruth,
}

impl CorpusWriter {
    pub fn new(home: &Path, words: ZipfVocabulary, seed: u64) -> anyhow::Result<Self> {
        fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
        let mut common = String::new();
        ZipfVocabulary::spell_word(0, &mut common);
        Ok(Self { home: home.to_owned(), words, truth: CorpusTruth { seed, common, ..CorpusTruth::default() } })
    }

    /// Writes a file by its path relative to the home directory.
    pub fn write_file(&mut self, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&self.home))?;
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        self.count_file(bytes.len() as u64);
        Ok(())
    }

    pub fn count_file(&mut self, bytes: u64) {
        self.truth.files += 1;
        self.truth.bytes += bytes;
    }

    /// Records replies of a session in the truth.
    pub fn record_replies<'a>(
        &mut self,
        agent: &str,
        session: &str,
        project: &str,
        replies: impl IntoIterator<Item = &'a ReplyPlan>,
    ) {
        for ReplyPlan { at, model, tokens, .. } in replies {
            self.truth.record_reply(&TrueReply { at: *at, agent, session, project, model, tokens: *tokens });
        }
    }

    /// Returns a word that is written once, in this session.
    pub fn plant_rare_word(&mut self, agent: &str, session: &str) -> String {
        let word = format!("xq{}yjc{}", agent, self.truth.rare.len());
        self.truth.rare.push(RareWord { word: word.clone(), agent: agent.to_owned(), session: session.to_owned() });
        word
    }
}

#[derive(Clone, Debug, Default)]
pub struct JsonLines(pub Vec<u8>);

impl JsonLines {
    pub fn push(&mut self, record: &Value) {
        self.0.extend_from_slice(record.to_string().as_bytes());
        self.0.push(b'\n');
    }
}

/// Returns session sizes that add up to `bytes`: a few are long, most are short.
#[must_use]
pub fn session_sizes(seed: u64, count: usize, bytes: u64) -> Vec<u64> {
    let mut rng = SeededRng::new(seed);
    let weights: Vec<u64> = (0..count).map(|_| 1 << rng.next_below(6)).collect();
    let all: u64 = weights.iter().sum::<u64>().max(1);
    weights.into_iter().map(|weight| bytes / all * weight).collect()
}

/// Returns hexadecimal digits that depend only on seed and purpose.
#[must_use]
pub fn hex_digits(seed: u64, purpose: u64, digits: usize) -> String {
    let mut rng = SeededRng::new(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut text = String::with_capacity(digits + 16);
    while text.len() < digits {
        text.push_str(&format!("{:016x}", rng.next_u64()));
    }
    text.truncate(digits);
    text
}

/// Returns a UUID that depends only on seed and purpose.
#[must_use]
pub fn seeded_uuid(seed: u64, purpose: u64) -> String {
    let digits = hex_digits(seed, purpose, 32);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// Returns a generator for one part of a plan, so that a copy of the part has the same text.
#[must_use]
pub fn text_rng(seed: u64, purpose: u64) -> SeededRng {
    SeededRng::new(seed.rotate_left(17) ^ purpose)
}

/// Returns a plan with only the first turns.
#[must_use]
pub fn first_turns(plan: &SessionPlan, count: usize) -> SessionPlan {
    SessionPlan { turns: plan.turns.iter().take(count).cloned().collect(), ..plan.clone() }
}

#[derive(Clone, Debug)]
pub struct JunkLine {
    /// The defect.
    pub name: &'static str,
    /// The line, without its end.
    pub bytes: Vec<u8>,
    /// It must be reported; lines that are merely unusual need not be.
    pub is_bad: bool,
}

#[must_use]
pub fn junk_lines() -> Vec<JunkLine> {
    let bad = |name, bytes: &[u8]| JunkLine { name, bytes: bytes.to_owned(), is_bad: true };
    let strange = |name, bytes: &[u8]| JunkLine { name, bytes: bytes.to_owned(), is_bad: false };
    let deep = |open: &str, close: &str, levels: usize| [open.repeat(levels), close.repeat(levels)].concat();
    let nested = format!("{{\"type\":\"user\",\"message\":{}}}", deep("[", "]", 5_000));
    vec![
        bad("torn", br#"{"type":"assistant","timestamp":"2026-10-21T10:00:00.000Z","message":{"id":"msg_torn","usage":{"input_tokens":12,"outp"#),
        bad("torn in an escape", br#"{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1},"text":"\u00"#),
        bad("zeros", &[0; 4_096]),
        bad("not UTF-8", b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"caf\xe9 \xff\xfe\"}}"),
        bad("bytes", &(128..=255).cycle().filter(|byte| *byte != b'\n').take(999).collect::<Vec<u8>>()),
        bad("two records in one line", br#"{"type":"user"}{"type":"user"}"#),
        bad("a word", b"Killed"),
        bad("markup", b"<html><body>502 Bad Gateway</body></html>"),
        bad("a kind that nobody knows", br#"{"type":"from-the-future","timestamp":"2026-10-21T10:00:00.000Z","payload":{"type":"hologram","usage":{"input_tokens":5}}}"#),
        bad("an end without a beginning", br#"put_tokens":12}}}"#),
        bad("brackets without an end", "[".repeat(200_000).as_bytes()),
        strange("nested deeply", nested.as_bytes()),
        strange("nothing", b""),
        strange("blanks", b"   \t "),
        strange("a number", b"42"),
        strange("a text", b"\"assistant\""),
        strange("no value", b"null"),
        strange("a list", b"[]"),
        strange("an object without anything", b"{}"),
        strange("everything of another type", br#"{"type":7,"timestamp":{},"message":[1],"payload":"x","sessionId":[],"uuid":null,"id":{},"tokens":"many","usage":[]}"#),
        strange("no numbers", br#"{"type":"assistant","timestamp":null,"message":{"id":null,"model":null,"content":null,"usage":{"input_tokens":null,"output_tokens":"7","cache_read_input_tokens":{},"cache_creation_input_tokens":[]}}}"#),
        strange("half a character", br#"{"type":"user","message":{"role":"user","content":"\ud83d and \udc00"}}"#),
        strange("a name twice", br#"{"type":"user","type":"user","message":{"role":"user","content":"a","content":"b"}}"#),
        strange("numbers that are none", br#"{"type":"system","subtype":"x","level":1e999,"n":-0.0,"m":123456789012345678901234567890}"#),
    ]
}

/// Inserts a malformed line after every line.
#[must_use]
pub fn insert_junk(log: &[u8]) -> Vec<u8> {
    let junk = junk_lines();
    let mut out = Vec::with_capacity(log.len() * 2);
    for (line, junk) in log.split_inclusive(|byte| *byte == b'\n').zip(junk.iter().cycle()) {
        out.extend_from_slice(line);
        out.extend_from_slice(&junk.bytes);
        out.push(b'\n');
    }
    out
}

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
    fn spell_word(rank: usize, out: &mut String) {
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
    fn push_random_word(self, rng: &mut SeededRng, out: &mut String) {
        Self::spell_word(self.random_rank(rng), out);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a rank is far below what a float holds exactly"
    )]
    fn random_rank(self, rng: &mut SeededRng) -> usize {
        let share = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        ((self.count as f64).powf(share) as usize).clamp(1, self.count) - 1
    }

    /// Returns sentences of about `words` words.
    #[must_use]
    pub fn random_prose(self, rng: &mut SeededRng, words: usize) -> String {
        let mut text = String::with_capacity(words * 7);
        for number in 0..words.max(1) {
            self.push_random_word(rng, &mut text);
            let end = match rng.next_below(40) {
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
    pub fn random_code(self, rng: &mut SeededRng, words: usize) -> String {
        let mut text = String::with_capacity(words * 11);
        let mut left = words;
        while left > 0 {
            let shape = rng.next_below(5);
            let indent = "    ".repeat(rng.next_below(4));
            let mut name = || {
                let mut word = String::new();
                self.push_random_word(rng, &mut word);
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
        let (words, mut rng) = (ZipfVocabulary::new(1_000_000), SeededRng::new(1));
        let ranks: Vec<usize> = (0..100_000).map(|_| words.random_rank(&mut rng)).collect();
        let share = |end| ranks.iter().filter(|rank| **rank < end).count() * 100 / ranks.len();
        assert!((45..55).contains(&share(1_000)), "half of all text is a thousand words: {}", share(1_000));
        assert!(ranks.iter().any(|rank| *rank > 900_000));
    }
}
