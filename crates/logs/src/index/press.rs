//! Makes blocks ready to be stored. Its memory is used again, and each thread has one: its tables are larger than a
//! block.

use std::io;

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
        self.words.clear();
        for (_, text) in block.passages() {
            words::each(text, |word| self.words.add(word));
        }
        filter::of(&self.words.list)
    }

    fn text(&mut self, block: &Block) -> io::Result<Vec<u8>> {
        self.packed.0.clear();
        block.pack(&mut self.packed);
        self.compressed.clear();
        self.compressed.reserve(compress_bound(self.packed.0.len()));
        let compressor = match &mut self.compressor {
            Some(known) => known,
            none => none.insert(Compressor::new(LEVEL)?),
        };
        compressor.compress_to_buffer(&self.packed.0, &mut self.compressed)?;
        // A copy, since this is all that is kept until it is written.
        let text = self.compressed.to_vec();
        self.packed.0.shrink_to(KEPT);
        self.compressed.shrink_to(KEPT);
        Ok(text)
    }
}

/// Words, each once, as they came. Every word of every log is asked about here: a word is a hash already and is never
/// 0, so this is a table of words where each lies at the first free place from the one that it names.
struct Distinct {
    table: Vec<u64>,
    list: Vec<u64>,
}

impl Default for Distinct {
    fn default() -> Self {
        Self { table: vec![0; Self::PLACES], list: Vec::new() }
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
    #[expect(clippy::cast_possible_truncation, reason = "the lowest bits are meant")]
    fn place(&self, word: u64) -> usize {
        let last = self.table.len() - 1;
        let mut place = word as usize & last;
        while self.table[place] != 0 && self.table[place] != word {
            place = (place + 1) & last;
        }
        place
    }

    #[cold]
    fn grow(&mut self) {
        self.table = vec![0; self.table.len() * 2];
        for at in 0..self.list.len() {
            let place = self.place(self.list[at]);
            self.table[place] = self.list[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Distinct;

    #[test]
    fn every_word_is_there_once_however_many_there_are() {
        let mut words = Distinct::default();
        for round in [30_000, 10, 100_000] {
            words.clear();
            // Many begin at the same place.
            let all: Vec<u64> = (1..=round).map(|number| number << 7 | 1).collect();
            all.iter().chain(&all).for_each(|word| words.add(*word));
            assert_eq!(words.list, all);
        }
    }
}
