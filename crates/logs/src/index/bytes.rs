//! Numbers and texts in few bytes: what the index packs into its rows. Reading never fails loudly: what is not there is
//! `None`, and the row is then said to be damaged.

/// Writes.
#[derive(Default)]
pub struct Packed(pub Vec<u8>);

impl Packed {
    /// A number, in as few bytes as it needs.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(low(number) | 0x80);
            number >>= 7;
        }
        self.0.push(low(number));
    }

    /// A number that may be negative.
    pub fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Bytes of a known number.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

fn low(number: u64) -> u8 {
    (number & 0x7f) as u8
}

/// Reads what [`Packed`] wrote.
#[derive(Clone, Copy)]
pub struct Unpacked<'a>(pub &'a [u8]);

impl<'a> Unpacked<'a> {
    /// A number.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        // Most are short, and there are very many.
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

    /// A number that counts something in memory.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// A number that may be negative.
    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// A text.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = self.count()?;
        std::str::from_utf8(self.raw(length)?).ok()
    }

    /// So many bytes.
    pub fn raw(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// An array of bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.raw(N)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{Packed, Unpacked};

    #[test]
    fn what_is_written_is_read() {
        let mut packed = Packed::default();
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX) + 1, u64::MAX] {
            packed.number(number);
        }
        for number in [0, -1, 1, i64::MIN, i64::MAX] {
            packed.signed(number);
        }
        packed.text("wörd");
        let mut unpacked = Unpacked(&packed.0);
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX) + 1, u64::MAX] {
            assert_eq!(unpacked.number(), Some(number));
        }
        for number in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unpacked.signed(), Some(number));
        }
        assert_eq!(unpacked.text(), Some("wörd"));
        assert_eq!(unpacked.number(), None);
    }
}
