//! Encodes blocks for storage. Each thread reuses one encoder, since compression needs more memory than a block.

use std::io;

use zstd::{
    bulk::Compressor,
    zstd_safe::{CParameter, ParamSwitch, compress_bound},
};

use super::{
    block::{FULL_BLOCK_BYTES, TextBlock},
    bytes::RowEncoder,
    filter::BloomFilter,
    words,
};

/// The base compression level.
const COMPRESSION_LEVEL: i32 = 1;

/// Makes compression a quarter faster for 5% more space (10% for pure source code): a hash table that fits the L1
/// cache, longer matches, and larger steps without a match. Unlike at negative levels, literals are still compressed.
const FAST_PARAMETERS: [CParameter; 4] = [
    CParameter::HashLog(13),
    CParameter::MinMatch(7),
    CParameter::TargetLength(3),
    CParameter::LiteralCompressionMode(ParamSwitch::Enable),
];

/// The buffer capacity kept after an unusually long block.
const MAX_RETAINED_BUFFER_BYTES: usize = 4 * FULL_BLOCK_BYTES;

/// A block as stored in the index.
pub struct EncodedBlock {
    /// The Bloom filter of its words.
    pub filter: Vec<u8>,
    /// The passages with their text, compressed.
    pub text: Vec<u8>,
}

/// Encodes blocks.
#[derive(Default)]
pub struct BlockEncoder {
    words: BloomFilter,
    packed: RowEncoder,
    compressor: Option<Compressor<'static>>,
    compressed: Vec<u8>,
}

impl BlockEncoder {
    /// Encodes a block for storage.
    pub fn encode_block(&mut self, block: &TextBlock) -> io::Result<EncodedBlock> {
        Ok(EncodedBlock { filter: self.build_filter(block), text: self.compress_text(block)? })
    }

    /// Builds the Bloom filter of a block.
    pub fn build_filter(&mut self, block: &TextBlock) -> Vec<u8> {
        self.words.reset(block.text.len());
        for (_, text) in block.iter_passages() {
            words::for_each_word(text, |word| self.words.insert(word));
        }
        self.words.encode()
    }

    fn compress_text(&mut self, block: &TextBlock) -> io::Result<Vec<u8>> {
        let compressor = match &mut self.compressor {
            Some(known) => known,
            none => none.insert(new_compressor()?),
        };
        block.encode_into(&mut self.packed);
        self.compressed.reserve(compress_bound(self.packed.0.len()));
        let compressed = compressor.compress_to_buffer(&self.packed.0, &mut self.compressed);
        // A copy of exact size, since it is held until it is written.
        let text = compressed.map(|_| self.compressed.clone());
        for buffer in [&mut self.packed.0, &mut self.compressed] {
            buffer.clear();
            buffer.shrink_to(MAX_RETAINED_BUFFER_BYTES);
        }
        text
    }
}

fn new_compressor() -> io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(COMPRESSION_LEVEL)?;
    FAST_PARAMETERS.into_iter().try_for_each(|parameter| compressor.set_parameter(parameter))?;
    Ok(compressor)
}

#[cfg(test)]
mod tests {
    use switchboard_agents::PassageKind;

    use super::{BlockEncoder, MAX_RETAINED_BUFFER_BYTES};
    use crate::index::block::{BlockPassage, TextBlock};

    #[test]
    fn a_block_leaves_nothing_behind_and_little_memory() {
        let block = |text: String| {
            let line = BlockPassage { kind: PassageKind::ToolResult, at: None, tool: None, offset: 0, end: text.len() };
            TextBlock { prompts: 0, lines: vec![line], text }
        };
        let long = block((0..600_000_u64).map(|number| format!("w{} ", number * number)).collect());
        let mut press = BlockEncoder::default();
        for block in [&long, &block("short".to_owned()), &block(String::new()), &long] {
            let (used, new) =
                (press.encode_block(block).unwrap(), BlockEncoder::default().encode_block(block).unwrap());
            assert!(used.filter == new.filter && used.text == new.text);
            let kept = [press.packed.0.capacity(), press.compressed.capacity()];
            assert!(kept.iter().all(|bytes| *bytes <= MAX_RETAINED_BUFFER_BYTES), "{kept:?}");
        }
    }
}
