//! Which words a block may have: a Bloom filter in drawers, by the words' hashes. Whoever looks for a word looks at one
//! drawer.

use super::bytes::{Packed, Unpacked};

/// How many drawers a filter has.
pub const DRAWERS: usize = 64;

/// Bits for each word. About one in 300 words that are not there seems to be.
const BITS: usize = 12;
/// How many of them a word sets.
const PROBES: u32 = 6;

/// A filter of these words, each given once: the drawers one after the other, each behind its length.
pub fn of(words: &[u64]) -> Vec<u8> {
    let mut counts = [0_usize; DRAWERS];
    words.iter().for_each(|word| counts[drawer_of(*word)] += 1);
    let mut filter = Packed(Vec::with_capacity(words.len() * BITS / 8 + DRAWERS * 3));
    let places = counts.map(|count| {
        let length = (count * BITS).div_ceil(8);
        filter.number(length as u64);
        let begin = filter.0.len();
        filter.0.resize(begin + length, 0);
        (begin, length)
    });
    for &word in words {
        let (begin, length) = places[drawer_of(word)];
        for bit in bits(word, length) {
            filter.0[begin + bit / 8] |= 1 << (bit % 8);
        }
    }
    filter.0
}

/// The drawer that a word would lie in.
#[expect(clippy::cast_possible_truncation, reason = "six bits")]
pub fn drawer_of(word: u64) -> usize {
    (word >> (u64::BITS - DRAWERS.ilog2())) as usize
}

/// Drawers that lie one after the other, each behind its length. They end where they are damaged.
pub fn drawers(packed: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut from = Unpacked(packed);
    std::iter::from_fn(move || {
        let length = from.count()?;
        from.raw(length)
    })
}

/// The word may be in the block that this is the word's drawer of. If not, it is not.
pub fn may_have(drawer: &[u8], word: u64) -> bool {
    !drawer.is_empty()
        && bits(word, drawer.len()).all(|bit| drawer.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0))
}

#[expect(clippy::cast_possible_truncation, reason = "the product's upper half is below the number of bits")]
fn bits(word: u64, bytes: usize) -> impl Iterator<Item = usize> {
    // What is the same for all words of a drawer stands where it matters least.
    let word = word.rotate_left(DRAWERS.ilog2());
    let (mut at, step) = (word, word.rotate_left(32) | 1);
    (0..PROBES).map(move |_| {
        at = at.wrapping_add(step);
        ((u128::from(at) * (bytes as u128 * 8)) >> 64) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::{DRAWERS, drawer_of, drawers, may_have, of};

    fn word(number: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes())
    }

    fn has(filter: &[u8], word: u64) -> bool {
        drawers(filter).nth(drawer_of(word)).is_some_and(|drawer| may_have(drawer, word))
    }

    #[test]
    fn what_is_there_is_found_and_little_else() {
        let filter = of(&(0..5000).map(word).collect::<Vec<_>>());
        assert_eq!(drawers(&filter).count(), DRAWERS);
        assert!((0..5000).all(|number| has(&filter, word(number))));
        let wrong = (5000..105_000).filter(|&number| has(&filter, word(number))).count();
        assert!(wrong < 1000, "{wrong} of 100,000");
    }

    #[test]
    fn few_words_and_none() {
        let filter = of(&[word(1)]);
        assert!(has(&filter, word(1)) && !has(&filter, word(2)));
        assert!(!has(&of(&[]), word(1)));
        assert!(!may_have(&[], 7));
    }
}
