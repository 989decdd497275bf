//! Where a corpus is written: a user's home with files in it, and what is counted meanwhile.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::Value;

use super::{
    plan::{Plan, Reply},
    truth::{Needle, Told, Truth},
    words::Words,
};
use crate::dice::Dice;

/// A corpus that is being written.
pub struct Corpus {
    /// The user's home.
    pub home: PathBuf,
    /// What texts are made of.
    pub words: Words,
    /// What was planned so far.
    pub truth: Truth,
}

impl Corpus {
    /// A new one.
    pub fn new(home: &Path, words: Words, seed: u64) -> anyhow::Result<Self> {
        fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
        let mut common = String::new();
        Words::spell(0, &mut common);
        Ok(Self { home: home.to_owned(), words, truth: Truth { seed, common, ..Truth::default() } })
    }

    /// Writes a file, by its path from the home on.
    pub fn file(&mut self, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&self.home))?;
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        self.wrote(bytes.len() as u64);
        Ok(())
    }

    /// One more file is there.
    pub fn wrote(&mut self, bytes: u64) {
        self.truth.files += 1;
        self.truth.bytes += bytes;
    }

    /// Notes replies of a session as true.
    pub fn tell<'a>(
        &mut self,
        agent: &str,
        session: &str,
        project: &str,
        replies: impl IntoIterator<Item = &'a Reply>,
    ) {
        for Reply { at, model, tokens, .. } in replies {
            self.truth.tell(&Told { at: *at, agent, session, project, model, tokens: *tokens });
        }
    }

    /// A word that is said once, in a session.
    pub fn needle(&mut self, agent: &str, session: &str) -> String {
        let word = format!("xq{}yjc{}", agent, self.truth.rare.len());
        self.truth.rare.push(Needle { word: word.clone(), agent: agent.to_owned(), session: session.to_owned() });
        word
    }
}

/// The lines of a file.
#[derive(Clone, Debug, Default)]
pub struct Lines(pub Vec<u8>);

impl Lines {
    /// One more.
    pub fn push(&mut self, record: &Value) {
        self.0.extend_from_slice(record.to_string().as_bytes());
        self.0.push(b'\n');
    }
}

/// How large sessions are that together have so many bytes: a few are long, most are short.
#[must_use]
pub fn sizes(seed: u64, count: usize, bytes: u64) -> Vec<u64> {
    let mut dice = Dice::new(seed);
    let weights: Vec<u64> = (0..count).map(|_| 1 << dice.below(6)).collect();
    let all: u64 = weights.iter().sum::<u64>().max(1);
    weights.into_iter().map(|weight| bytes / all * weight).collect()
}

/// So many hexadecimal digits, always the same for a seed and a purpose.
#[must_use]
pub fn hex(seed: u64, purpose: u64, digits: usize) -> String {
    let mut dice = Dice::new(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut text = String::with_capacity(digits + 16);
    while text.len() < digits {
        text.push_str(&format!("{:016x}", dice.roll()));
    }
    text.truncate(digits);
    text
}

/// An id in the usual form, always the same for a seed and a purpose.
#[must_use]
pub fn uuid(seed: u64, purpose: u64) -> String {
    let digits = hex(seed, purpose, 32);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// The text of a plan's part comes from chance of its own, so that a copy of it says the same.
#[must_use]
pub fn dice(seed: u64, purpose: u64) -> Dice {
    Dice::new(seed.rotate_left(17) ^ purpose)
}

/// A plan of which only some turns are taken.
#[must_use]
pub fn first_turns(plan: &Plan, count: usize) -> Plan {
    Plan { turns: plan.turns.iter().take(count).cloned().collect(), ..plan.clone() }
}
