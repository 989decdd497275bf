//! Writes a corpus into a home directory and records its truth.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::Value;

use super::{
    plan::{ReplyPlan, SessionPlan},
    truth::{CorpusTruth, RareWord, TrueReply},
    words::ZipfVocabulary,
};
use crate::dice::SeededRng;

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
    let mut dice = SeededRng::new(seed);
    let weights: Vec<u64> = (0..count).map(|_| 1 << dice.next_below(6)).collect();
    let all: u64 = weights.iter().sum::<u64>().max(1);
    weights.into_iter().map(|weight| bytes / all * weight).collect()
}

/// Returns hexadecimal digits that depend only on seed and purpose.
#[must_use]
pub fn hex_digits(seed: u64, purpose: u64, digits: usize) -> String {
    let mut dice = SeededRng::new(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut text = String::with_capacity(digits + 16);
    while text.len() < digits {
        text.push_str(&format!("{:016x}", dice.next_u64()));
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
