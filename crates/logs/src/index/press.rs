//! Makes blocks ready to be stored. Its memory is used again, and each thread has one: its tables are larger than a
//! block.

use std::{
    hash::{BuildHasher as _, RandomState},
    io,
};

use zstd::{bulk::Compressor, zstd_safe::compress_bound};

use super::{
    block::{Block, FULL},
    bytes::Packed,
    filter, words,
};

/// How well text is compressed: the quickest way that is worth it.
const LEVEL: i32 = 1;

/// How much memory is kept after a block that was much longer than most.
const KEPT: usize = 4 * FULL;

/// A block as it lies in the index.
pub struct Stored {
    /// The words that it may have.
    pub filter: Vec<u8>,
    /// The passages and their text, compressed.
    pub text: Vec<u8>,
}

/// What makes blocks ready.
#[derive(Default)]
pub struct Press {
    words: Distinct,
    packed: Packed,
    compressor: Option<Compressor<'static>>,
    compressed: Vec<u8>,
}

impl Press {
    /// What is stored of a block.
    pub fn store(&mut self, block: &Block) -> io::Result<Stored> {
        Ok(Stored { filter: self.filter(block), text: self.text(block)? })
    }

    /// The words that a block may have.
    pub fn filter(&mut self, block: &Block) -> Vec<u8> {
        for (_, text) in block.passages() {
            words::each(text, |word| self.words.add(word));
        }
        let filter = filter::of(&self.words.list);
        self.words.clear();
        filter
    }

    fn text(&mut self, block: &Block) -> io::Result<Vec<u8>> {
        let compressor = match &mut self.compressor {
            Some(known) => known,
            none => none.insert(Compressor::new(LEVEL)?),
        };
        block.pack(&mut self.packed);
        self.compressed.reserve(compress_bound(self.packed.0.len()));
        let compressed = compressor.compress_to_buffer(&self.packed.0, &mut self.compressed);
        // A copy, since this is all that is kept until it is written.
        let text = compressed.map(|_| self.compressed.clone());
        for buffer in [&mut self.packed.0, &mut self.compressed] {
            buffer.clear();
            buffer.shrink_to(KEPT);
        }
        text
    }
}

/// Words, each once, as they came. Every word of every log is asked about here, so this is as plain as can be: a table of
/// words, where each lies at the first free place from the one that it names. A word is a hash and is never 0, but one
/// that anybody can make: which place it names is by chance.
struct Distinct {
    table: Vec<u64>,
    list: Vec<u64>,
    chance: u64,
}

impl Default for Distinct {
    fn default() -> Self {
        Self { table: vec![0; Self::PLACES], list: Vec::new(), chance: RandomState::new().hash_one(0) | 1 }
    }
}

impl Distinct {
    /// Places for the words of a block: more than twice as many as most have.
    const PLACES: usize = 16 << 10;

    fn clear(&mut self) {
        self.list.clear();
        self.list.shrink_to(Self::PLACES);
        self.table.truncate(Self::PLACES);
        self.table.shrink_to(Self::PLACES);
        self.table.fill(0);
    }

    fn add(&mut self, word: u64) {
        let place = self.place(word);
        if self.table[place] == word {
            return;
        }
        self.table[place] = word;
        self.list.push(word);
        if self.list.len() * 2 > self.table.len() {
            self.grow();
        }
    }

    /// Where a word is, or would be.
    #[expect(clippy::cast_possible_truncation, reason = "what is left is below the number of places")]
    fn place(&self, word: u64) -> usize {
        let last = self.table.len() - 1;
        let mut place = (word.wrapping_mul(self.chance) >> (last.leading_zeros() - (usize::BITS - u64::BITS))) as usize;
        while self.table[place] != 0 && self.table[place] != word {
            place = (place + 1) & last;
        }
        place
    }

    #[cold]
    fn grow(&mut self) {
        let places = self.table.len() * 2;
        // Before there is another one: a block can have very many words.
        self.table = Vec::new();
        self.table = vec![0; places];
        for at in 0..self.list.len() {
            let place = self.place(self.list[at]);
            self.table[place] = self.list[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_agents::Kind;

    use super::{Distinct, KEPT, Press};
    use crate::index::block::{Block, Line};

    #[test]
    fn every_word_is_there_once_however_many_there_are() {
        let mut words = Distinct::default();
        for round in [30_000, 10, 100_000] {
            let all: Vec<u64> = (1..=round).map(|number| number << 7 | 1).collect();
            all.iter().chain(&all).for_each(|word| words.add(*word));
            assert_eq!(words.list, all);
            words.clear();
        }
    }

    #[test]
    fn a_block_leaves_nothing_behind_and_little_memory() {
        let block = |text: String| {
            let line = Line { kind: Kind::ToolResult, at: None, tool: None, offset: 0, end: text.len() };
            Block { prompts: 0, lines: vec![line], text }
        };
        let long = block((0..600_000_u64).map(|number| format!("w{} ", number * number)).collect());
        let mut press = Press::default();
        for block in [&long, &block("short".to_owned()), &block(String::new()), &long] {
            let (used, new) = (press.store(block).unwrap(), Press::default().store(block).unwrap());
            assert!(used.filter == new.filter && used.text == new.text);
            let kept = [press.packed.0.capacity(), press.compressed.capacity(), press.words.table.capacity() * 8];
            assert!(kept.iter().all(|bytes| *bytes <= KEPT), "{kept:?}");
            assert!(press.words.list.capacity() * 8 <= KEPT);
        }
    }
}
