//! Compact encoding of numbers and strings in index rows. Decoding returns `None` for truncated or invalid input, and
//! the row is then reported as damaged.

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

/// Reads what [`Packed`] wrote.
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
    use super::{RowDecoder, RowEncoder};

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
