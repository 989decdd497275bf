//! A reproducible random number generator. Not for secrets.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct SeededRng(u64);

impl SeededRng {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Seeds by a name, so that adding another name does not change the numbers of this one.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub fn next_below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next_u64() % end).unwrap_or(0)
    }

    /// Returns true once in `n` calls on average.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.next_below(n) == 0
    }

    pub fn choose<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.next_below(of.len()))
    }
}
