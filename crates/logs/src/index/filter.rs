//! Bloom filter over the words of a block. A word sets a few bits of one 64-bit lane, so inserting a word is a single
//! write, without a check for duplicates. Lanes are grouped into buckets by word hash: a lookup reads one bucket.

use super::block::{RowDecoder, RowEncoder};

pub const FILTER_BUCKET_COUNT: usize = 64;

/// The number of bits that a word sets.
const BITS_PER_WORD: u32 = 5;

/// A filter is halved as long as at most this percentage of its bits is set. About a quarter is set afterwards, for a
/// false positive rate of 1 in 300, or 1 in 20 where every few letters form another word.
const MAX_SPARSE_PERCENT: usize = 15;

/// The capacity kept after an unusually long text.
const MAX_RETAINED_LANES: usize = 8 << 10;

/// A filter under construction. Its memory is reused.
#[derive(Default)]
pub struct BloomFilter {
    /// A multiple of the number of buckets; each halving of the filter halves the lanes of every bucket.
    lanes: Vec<u64>,
}

impl BloomFilter {
    /// Clears the filter and sizes it for a text of `bytes` bytes: one or two bits per byte.
    pub fn reset(&mut self, bytes: usize) {
        let bits = 2_usize << bytes.max(1).ilog2();
        let lanes = (bits / u64::BITS as usize).max(FILTER_BUCKET_COUNT);
        self.lanes.clear();
        self.lanes.resize(lanes, 0);
    }

    /// Inserts a word. Duplicates are harmless.
    #[inline]
    pub fn insert(&mut self, word: u64) {
        let lane = slot_of(word, self.lanes.len());
        if let Some(lane) = self.lanes.get_mut(lane) {
            *lane |= lane_bits(word);
        }
    }

    /// Encodes the buckets, each prefixed by its length.
    pub fn encode(&mut self) -> Vec<u8> {
        self.shrink_sparse();
        let mut packed = RowEncoder(Vec::with_capacity(self.lanes.len() * size_of::<u64>() + FILTER_BUCKET_COUNT * 3));
        for drawer in self.lanes.chunks((self.lanes.len() / FILTER_BUCKET_COUNT).max(1)) {
            packed.write_varint(size_of_val(drawer) as u64);
            drawer.iter().for_each(|lane| packed.write_bytes(&lane.to_le_bytes()));
        }
        self.lanes.clear();
        self.lanes.shrink_to(MAX_RETAINED_LANES);
        packed.0
    }

    /// Shrinks the filter as far as possible by merging pairs of lanes.
    fn shrink_sparse(&mut self) {
        let set = |lanes: &[u64]| lanes.iter().map(|lane| lane.count_ones() as usize).sum::<usize>();
        let is_sparse = |lanes: &[u64]| set(lanes) * 100 <= lanes.len() * u64::BITS as usize * MAX_SPARSE_PERCENT;
        while self.lanes.len() > FILTER_BUCKET_COUNT && is_sparse(&self.lanes) {
            let half = self.lanes.len() / 2;
            for lane in 0..half {
                self.lanes[lane] = self.lanes[lane * 2] | self.lanes[lane * 2 + 1];
            }
            self.lanes.truncate(half);
        }
    }
}

/// Returns the bucket of a word.
pub fn bucket_of(word: u64) -> usize {
    slot_of(word, FILTER_BUCKET_COUNT)
}

/// Iterates over encoded buckets. Stops at damaged data.
pub fn iter_buckets(packed: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut from = RowDecoder(packed);
    std::iter::from_fn(move || {
        let length = from.read_len()?;
        from.read_bytes(length)
    })
}

/// Returns whether a block may contain the word, by the word's bucket. `false` is certain.
pub fn may_contain(drawer: &[u8], word: u64) -> bool {
    let (lanes, _) = drawer.as_chunks();
    // The bits that select the bucket are the same for all its words, so they cannot select the lane.
    let lane = lanes.get(slot_of(word << FILTER_BUCKET_COUNT.ilog2(), lanes.len()));
    lane.is_some_and(|lane| u64::from_le_bytes(*lane) & lane_bits(word) == lane_bits(word))
}

/// Maps a hash to one of `places` slots, preserving the order of hashes for any number of slots.
#[expect(clippy::cast_possible_truncation, reason = "the product's upper half is below the number of places")]
fn slot_of(word: u64, places: usize) -> usize {
    ((u128::from(word) * places as u128) >> u64::BITS) as usize
}

/// Returns the bits that a word sets in its lane. They come from the low end of the hash; the lane is selected by the
/// high end.
fn lane_bits(word: u64) -> u64 {
    (0..BITS_PER_WORD)
        .fold(0, |bits, probe| bits | 1 << (word >> (probe * u64::BITS.ilog2()) & u64::from(u64::BITS - 1)))
}

#[cfg(test)]
mod tests {
    use super::{BloomFilter, FILTER_BUCKET_COUNT, MAX_RETAINED_LANES, bucket_of, iter_buckets, may_contain};
    use crate::index::words;

    fn word_hash(number: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes())
    }

    fn encode_filter(words: std::ops::Range<u64>, bytes: usize) -> Vec<u8> {
        let mut filter = BloomFilter::default();
        // The state of a longer text must not leak into the next filter.
        filter.reset(1 << 20);
        filter.insert(word_hash(u64::MAX));
        filter.reset(bytes);
        words.for_each(|number| filter.insert(word_hash(number)));
        let packed = filter.encode();
        assert!(filter.lanes.capacity() <= MAX_RETAINED_LANES, "a long text leaves little memory behind");
        packed
    }

    fn contains_word(filter: &[u8], word: u64) -> bool {
        iter_buckets(filter).nth(bucket_of(word)).is_some_and(|drawer| may_contain(drawer, word))
    }

    /// Checks that all inserted words are found, and few others.
    fn check_filter(count: u64, bytes: usize, most_wrong: usize) -> usize {
        let filter = encode_filter(0..count, bytes);
        assert_eq!(iter_buckets(&filter).count(), FILTER_BUCKET_COUNT);
        assert!((0..count).all(|number| contains_word(&filter, word_hash(number))));
        let wrong = (count..count + 100_000).filter(|&number| contains_word(&filter, word_hash(number))).count();
        assert!(wrong < most_wrong, "{wrong} of 100,000 for {count} words of {bytes} bytes");
        filter.len()
    }

    #[test]
    fn what_is_there_is_found_and_little_else() {
        check_filter(7_000, 128 << 10, 500);
        check_filter(5_000, 200_000, 500);
        check_filter(100, 1_000, 200);
        // Every few letters form another word.
        check_filter(30_000, 128 << 10, 6_000);
        check_filter(600_000, 7 << 20, 6_000);
    }

    #[test]
    fn words_of_a_text_are_found_and_little_else() {
        let all = |word: &str, count: usize| {
            let mut hashes = Vec::new();
            (0..count).for_each(|number| words::for_each_word(&format!("{word}{number} "), |hash| hashes.push(hash)));
            hashes
        };
        // The longer words differ far from their beginning.
        for word in ["w", "a_longer_word", "one_that_is_longer_than_sixteen_bytes_"] {
            let (there, others) = (all(word, 7000), all(&format!("{word}0x"), 100_000));
            let mut filter = BloomFilter::default();
            filter.reset(128 << 10);
            there.iter().for_each(|word| filter.insert(*word));
            let packed = filter.encode();
            assert!(there.iter().all(|word| contains_word(&packed, *word)));
            let wrong = others.iter().filter(|word| contains_word(&packed, **word)).count();
            assert!(wrong < 500, "{wrong} of 100,000 like {word}");
        }
    }

    #[test]
    fn few_words_of_a_long_text_take_little_room() {
        assert!(check_filter(500, 1 << 20, 500) < 3_000);
        assert!(check_filter(1, 100 << 20, 500) < 1_000);
    }

    #[test]
    fn few_words_and_none() {
        let filter = encode_filter(1..2, 4);
        assert!(contains_word(&filter, word_hash(1)) && !contains_word(&filter, word_hash(2)));
        assert!(!contains_word(&encode_filter(0..0, 0), word_hash(1)));
        assert!(!may_contain(&[], 7));
        assert!(!may_contain(&[255; 7], 7));
    }
}
