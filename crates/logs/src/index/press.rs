//! Makes blocks ready to be stored. Its memory is used again, and each thread has one: what compresses takes more of it
//! than a block.

use std::io;

use zstd::{
    bulk::Compressor,
    zstd_safe::{CParameter, ParamSwitch, compress_bound},
};

use super::{
    block::{Block, FULL},
    bytes::Packed,
    filter::Filter,
    words,
};

/// How well text is compressed, to begin with.
const LEVEL: i32 = 1;

/// What makes it a quarter faster, for a twentieth more room (a tenth, where all is source code): a table that fits the
/// nearest cache, longer matches, and a longer step where there are none. Unlike at levels below the first, what matches
/// nothing is still coded.
const QUICKLY: [CParameter; 4] = [
    CParameter::HashLog(13),
    CParameter::MinMatch(7),
    CParameter::TargetLength(3),
    CParameter::LiteralCompressionMode(ParamSwitch::Enable),
];

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
    words: Filter,
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
        self.words.begin(block.text.len());
        for (_, text) in block.passages() {
            words::each(text, |word| self.words.add(word));
        }
        self.words.pack()
    }

    fn text(&mut self, block: &Block) -> io::Result<Vec<u8>> {
        let compressor = match &mut self.compressor {
            Some(known) => known,
            none => none.insert(compressor()?),
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

fn compressor() -> io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(LEVEL)?;
    QUICKLY.into_iter().try_for_each(|parameter| compressor.set_parameter(parameter))?;
    Ok(compressor)
}

#[cfg(test)]
mod tests {
    use switchboard_agents::Kind;

    use super::{KEPT, Press};
    use crate::index::block::{Block, Line};

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
            let kept = [press.packed.0.capacity(), press.compressed.capacity()];
            assert!(kept.iter().all(|bytes| *bytes <= KEPT), "{kept:?}");
        }
    }
}
