//! Which words a block may have: a Bloom filter that is looked at where it lies in the row, without a copy.

/// Bits for each word. About one in 300 words that are not there seems to be.
const BITS: usize = 12;
/// How many of them a word sets.
const PROBES: u32 = 6;

/// A filter of these words; each is given once.
pub fn of(words: impl ExactSizeIterator<Item = u64>) -> Vec<u8> {
    let bytes = (words.len() * BITS).div_ceil(8).max(8);
    let mut filter = vec![0; bytes];
    for word in words {
        for bit in bits(word, bytes) {
            filter[bit / 8] |= 1 << (bit % 8);
        }
    }
    filter
}

/// The word may be there. If not, it is not.
pub fn may_have(filter: &[u8], word: u64) -> bool {
    !filter.is_empty()
        && bits(word, filter.len()).all(|bit| filter.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0))
}

#[expect(clippy::cast_possible_truncation, reason = "the product's upper half is below the number of bits")]
fn bits(word: u64, bytes: usize) -> impl Iterator<Item = usize> {
    let (mut at, step) = (word, word.rotate_left(32) | 1);
    (0..PROBES).map(move |_| {
        at = at.wrapping_add(step);
        ((u128::from(at) * (bytes as u128 * 8)) >> 64) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::{may_have, of};

    fn word(number: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes())
    }

    #[test]
    fn what_is_there_is_found_and_little_else() {
        let filter = of((0..5000).map(word).collect::<Vec<_>>().into_iter());
        assert!((0..5000).all(|number| may_have(&filter, word(number))));
        let wrong = (5000..105_000).filter(|&number| may_have(&filter, word(number))).count();
        assert!(wrong < 1000, "{wrong} of 100,000");
        assert!(!may_have(&[], 7));
    }
}
