//! A block: about 128 KiB of text from one log, with the kind of each passage. It is stored compressed, and outlives
//! the log.

use std::io;

use switchboard_agents::PassageKind;
use switchboard_event::Timestamp;
use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, ParamSwitch, compress_bound};

use super::filter::BloomFilter;
use super::words;

/// A block with this much text is complete.
pub const FULL_BLOCK_BYTES: usize = 128 << 10;

/// A block being filled.
#[derive(Default)]
pub struct TextBlock {
    /// The number of prompts before it in the same log.
    pub prompts: u32,
    pub lines: Vec<BlockPassage>,
    /// The concatenated text of all passages.
    pub text: String,
}

/// A passage of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPassage {
    pub kind: PassageKind,
    /// The time of the passage.
    pub at: Option<Timestamp>,
    pub tool: Option<String>,
    /// Offset of its record in the log.
    pub offset: u64,
    /// End of its text in the block.
    pub end: usize,
}

impl TextBlock {
    /// Returns the number of prompts in the log up to the end of the block.
    pub fn prompts_after(&self) -> u32 {
        self.prompts + self.lines.iter().map(|line| u32::from(line.kind == PassageKind::UserMessage)).sum::<u32>()
    }

    /// Clears the block for the text that follows.
    pub fn start_next(&mut self) {
        self.prompts = self.prompts_after();
        self.lines.clear();
        self.text.clear();
        // A single record can have a very long passage, or very many.
        self.lines.shrink_to(FULL_BLOCK_BYTES / 64);
        self.text.shrink_to(2 * FULL_BLOCK_BYTES);
    }

    pub fn encode_into(&self, packed: &mut RowEncoder) {
        packed.write_varint(self.prompts.into());
        packed.write_varint(self.lines.len() as u64);
        let (mut time, mut offset, mut end) = (0, 0, 0);
        for line in &self.lines {
            let at = line.at.map_or(time, Timestamp::as_micros);
            packed.write_varint(PassageKind::ALL.iter().position(|kind| *kind == line.kind).unwrap_or_default() as u64);
            packed.write_varint(line.at.is_some().into());
            packed.write_zigzag(at - time);
            packed.write_str(line.tool.as_deref().unwrap_or_default());
            packed.write_zigzag(line.offset.cast_signed() - offset);
            packed.write_varint((line.end - end) as u64);
            (time, offset, end) = (at, line.offset.cast_signed(), line.end);
        }
        packed.write_bytes(self.text.as_bytes());
    }

    /// Decodes a stored block. Returns `None` if it is damaged.
    pub fn decode(stored: &[u8]) -> Option<Self> {
        let packed = zstd::stream::decode_all(stored).ok()?;
        let mut from = RowDecoder(&packed);
        let prompts = u32::try_from(from.read_varint()?).ok()?;
        let count = from.read_len()?;
        let mut lines = Vec::with_capacity(count.min(packed.len()));
        let (mut time, mut offset, mut end) = (0_i64, 0_i64, 0_usize);
        for _ in 0..count {
            let kind = *PassageKind::ALL.get(from.read_len()?)?;
            let timed = from.read_varint()? == 1;
            time = time.checked_add(from.read_zigzag()?)?;
            let tool = Some(from.read_str()?).filter(|tool| !tool.is_empty()).map(str::to_owned);
            offset = offset.checked_add(from.read_zigzag()?)?;
            end = end.checked_add(from.read_len()?)?;
            let at = Timestamp::from_micros(time).filter(|_| timed);
            lines.push(BlockPassage { kind, at, tool, offset: offset.cast_unsigned(), end });
        }
        let text = std::str::from_utf8(from.0).ok().filter(|text| text.is_char_boundary(end))?.to_owned();
        Some(Self { prompts, lines, text })
    }

    /// Returns the passages with their text.
    pub fn iter_passages(&self) -> impl Iterator<Item = (&BlockPassage, &str)> {
        let mut begin = 0;
        self.lines.iter().map(move |line| {
            let text = self.text.get(begin..line.end).unwrap_or_default();
            begin = line.end;
            (line, text)
        })
    }
}

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

#[derive(Default)]
pub struct RowEncoder(pub Vec<u8>);

impl RowEncoder {
    /// Writes a variable-length integer.
    pub fn write_varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(low_bits(number) | 0x80);
            number >>= 7;
        }
        self.0.push(low_bits(number));
    }

    /// Writes a signed integer with zigzag encoding.
    pub fn write_zigzag(&mut self, number: i64) {
        self.write_varint(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    pub fn write_str(&mut self, text: &str) {
        self.write_varint(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Writes bytes without a length prefix.
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

fn low_bits(number: u64) -> u8 {
    (number & 0x7f) as u8
}

/// Reads what [`RowEncoder`] wrote.
#[derive(Clone, Copy)]
pub struct RowDecoder<'a>(pub &'a [u8]);

impl<'a> RowDecoder<'a> {
    #[inline]
    pub fn read_varint(&mut self) -> Option<u64> {
        // Most numbers are short, and there are very many.
        let (&first, rest) = self.0.split_first()?;
        if first < 0x80 {
            self.0 = rest;
            return Some(first.into());
        }
        let mut number = 0;
        for (at, &byte) in self.0.iter().enumerate().take(10) {
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                self.0 = self.0.get(at + 1..)?;
                return Some(number);
            }
        }
        None
    }

    /// Reads a number as a `usize`.
    pub fn read_len(&mut self) -> Option<usize> {
        usize::try_from(self.read_varint()?).ok()
    }

    pub fn read_zigzag(&mut self) -> Option<i64> {
        let number = self.read_varint()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub fn read_str(&mut self) -> Option<&'a str> {
        let length = self.read_len()?;
        std::str::from_utf8(self.read_bytes(length)?).ok()
    }

    /// Reads exactly `length` bytes.
    pub fn read_bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn read_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.read_bytes(N)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use switchboard_agents::PassageKind;
    use switchboard_event::Timestamp;

    use super::{BlockEncoder, BlockPassage, MAX_RETAINED_BUFFER_BYTES, RowDecoder, RowEncoder, TextBlock};
    use crate::index::{filter, words};

    #[test]
    fn a_block_comes_back_as_it_was() {
        let mut block = TextBlock { prompts: 7, ..TextBlock::default() };
        for (number, text) in ["say something", "ünïcode", "done"].iter().enumerate() {
            block.text.push_str(text);
            let at = Timestamp::from_micros(1_700_000_000_000_000 + i64::try_from(number).unwrap());
            let kind = PassageKind::ALL[number];
            let tool = (number == 1).then(|| "Bash".to_owned());
            block.lines.push(BlockPassage { kind, at, tool, offset: 900 - number as u64, end: block.text.len() });
        }
        let stored = BlockEncoder::default().encode_block(&block).unwrap();
        let read = TextBlock::decode(&stored.text).unwrap();
        assert_eq!((read.prompts, &read.lines, &read.text), (7, &block.lines, &block.text));
        assert_eq!(
            read.iter_passages().map(|(_, text)| text).collect::<Vec<_>>(),
            ["say something", "ünïcode", "done"]
        );
        assert_eq!(read.prompts_after(), 8);
        let drawers: Vec<_> = filter::iter_buckets(&stored.filter).collect();
        words::for_each_word("SOMETHING Ünïcode", |word| {
            assert!(filter::may_contain(drawers[filter::bucket_of(word)], word))
        });
        assert!(TextBlock::decode(b"no block").is_none());
    }

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

    #[test]
    fn what_is_written_is_read() {
        let mut packed = RowEncoder::default();
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX) + 1, u64::MAX] {
            packed.write_varint(number);
        }
        for number in [0, -1, 1, i64::MIN, i64::MAX] {
            packed.write_zigzag(number);
        }
        packed.write_str("wörd");
        let mut unpacked = RowDecoder(&packed.0);
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX) + 1, u64::MAX] {
            assert_eq!(unpacked.read_varint(), Some(number));
        }
        for number in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unpacked.read_zigzag(), Some(number));
        }
        assert_eq!(unpacked.read_str(), Some("wörd"));
        assert_eq!(unpacked.read_varint(), None);
    }
}
