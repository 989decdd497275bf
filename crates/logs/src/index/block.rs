//! A block: about 128 KiB of text from one log, with the kind of each passage. It is stored compressed, and outlives
//! the log.

use switchboard_agents::PassageKind;
use switchboard_event::Timestamp;

use super::bytes::{RowDecoder, RowEncoder};

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

#[cfg(test)]
mod tests {
    use switchboard_agents::PassageKind;
    use switchboard_event::Timestamp;

    use super::{BlockPassage, TextBlock};
    use crate::index::{filter, press::BlockEncoder, words};

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
}
