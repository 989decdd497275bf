//! A block: about 128 KiB of what was said in one log, with what each passage is. It is kept compressed, and outlives the
//! log.

use switchboard_agents::Kind;
use switchboard_event::Timestamp;

use super::bytes::{Packed, Unpacked};

/// How much text makes a block full.
pub const FULL: usize = 128 << 10;

/// A block that is being filled.
#[derive(Default)]
pub struct Block {
    /// How many prompts came before it in the same log.
    pub prompts: u32,
    /// Its passages.
    pub lines: Vec<Line>,
    /// Their text, one after the other.
    pub text: String,
}

/// One passage of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub kind: Kind,
    /// When, in microseconds.
    pub at: Option<Timestamp>,
    /// The tool.
    pub tool: Option<String>,
    /// Where its record begins in the log.
    pub offset: u64,
    /// Where its text ends.
    pub end: usize,
}

impl Block {
    /// How many prompts there are up to its end.
    pub fn prompts_after(&self) -> u32 {
        self.prompts + self.lines.iter().map(|line| u32::from(line.kind == Kind::UserMessage)).sum::<u32>()
    }

    /// Empties it for what comes behind it.
    pub fn go_on(&mut self) {
        self.prompts = self.prompts_after();
        self.lines.clear();
        self.text.clear();
        // One record can have a very long passage, or very many.
        self.lines.shrink_to(FULL / 64);
        self.text.shrink_to(2 * FULL);
    }

    /// Packs it.
    pub fn pack(&self, packed: &mut Packed) {
        packed.number(self.prompts.into());
        packed.number(self.lines.len() as u64);
        let (mut time, mut offset, mut end) = (0, 0, 0);
        for line in &self.lines {
            let at = line.at.map_or(time, Timestamp::as_micros);
            packed.number(Kind::ALL.iter().position(|kind| *kind == line.kind).unwrap_or_default() as u64);
            packed.number(line.at.is_some().into());
            packed.signed(at - time);
            packed.text(line.tool.as_deref().unwrap_or_default());
            packed.signed(line.offset.cast_signed() - offset);
            packed.number((line.end - end) as u64);
            (time, offset, end) = (at, line.offset.cast_signed(), line.end);
        }
        packed.raw(self.text.as_bytes());
    }

    /// Unpacks one. Nothing if it is damaged.
    pub fn read(stored: &[u8]) -> Option<Self> {
        let packed = zstd::stream::decode_all(stored).ok()?;
        let mut from = Unpacked(&packed);
        let prompts = u32::try_from(from.number()?).ok()?;
        let count = from.count()?;
        let mut lines = Vec::with_capacity(count.min(packed.len()));
        let (mut time, mut offset, mut end) = (0_i64, 0_i64, 0_usize);
        for _ in 0..count {
            let kind = *Kind::ALL.get(from.count()?)?;
            let timed = from.number()? == 1;
            time = time.checked_add(from.signed()?)?;
            let tool = Some(from.text()?).filter(|tool| !tool.is_empty()).map(str::to_owned);
            offset = offset.checked_add(from.signed()?)?;
            end = end.checked_add(from.count()?)?;
            let at = Timestamp::from_micros(time).filter(|_| timed);
            lines.push(Line { kind, at, tool, offset: offset.cast_unsigned(), end });
        }
        let text = std::str::from_utf8(from.0).ok().filter(|text| text.is_char_boundary(end))?.to_owned();
        Some(Self { prompts, lines, text })
    }

    /// Its passages with their text.
    pub fn passages(&self) -> impl Iterator<Item = (&Line, &str)> {
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
    use switchboard_agents::Kind;
    use switchboard_event::Timestamp;

    use super::{Block, Line};
    use crate::index::{filter, press::Press, words};

    #[test]
    fn a_block_comes_back_as_it_was() {
        let mut block = Block { prompts: 7, ..Block::default() };
        for (number, text) in ["say something", "ünïcode", "done"].iter().enumerate() {
            block.text.push_str(text);
            let at = Timestamp::from_micros(1_700_000_000_000_000 + i64::try_from(number).unwrap());
            let kind = Kind::ALL[number];
            let tool = (number == 1).then(|| "Bash".to_owned());
            block.lines.push(Line { kind, at, tool, offset: 900 - number as u64, end: block.text.len() });
        }
        let stored = Press::default().store(&block).unwrap();
        let read = Block::read(&stored.text).unwrap();
        assert_eq!((read.prompts, &read.lines, &read.text), (7, &block.lines, &block.text));
        assert_eq!(read.passages().map(|(_, text)| text).collect::<Vec<_>>(), ["say something", "ünïcode", "done"]);
        assert_eq!(read.prompts_after(), 8);
        let drawers: Vec<_> = filter::drawers(&stored.filter).collect();
        words::each("SOMETHING Ünïcode", |word| assert!(filter::may_have(drawers[filter::drawer_of(word)], word)));
        assert!(Block::read(b"no block").is_none());
    }
}
