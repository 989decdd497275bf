//! Which words a block may have: a Bloom filter of lanes. A word sets a few bits of one lane, so that to add one is to
//! write one number, and nobody need know which words are there already. Lanes lie in drawers, by the words' hashes:
//! whoever looks for a word looks at one drawer.

use super::bytes::{Packed, Unpacked};

/// How many drawers a filter has.
pub const DRAWERS: usize = 64;

/// How many bits a word sets.
const PROBES: u32 = 5;

/// A filter is made half as large as long as so many of a hundred bits are set at most. Then about a quarter is, and one
/// in 300 words that are not there seems to be; one in 20 where every few letters are another word.
const SPARSE: usize = 15;

/// How many lanes are kept after a text that was much longer than most.
const KEPT: usize = 8 << 10;

/// A filter that is being made. Its memory is used again.
#[derive(Default)]
pub struct Filter {
    /// One or more for each drawer, and twice as many in each as in one that is half as large.
    lanes: Vec<u64>,
}

impl Filter {
    /// Makes room for the words of so much text: one or two bits for each byte.
    pub fn begin(&mut self, bytes: usize) {
        let bits = 2_usize << bytes.max(1).ilog2();
        let lanes = (bits / u64::BITS as usize).max(DRAWERS);
        self.lanes.clear();
        self.lanes.resize(lanes, 0);
    }

    /// Adds a word, be it there or not.
    #[inline]
    pub fn add(&mut self, word: u64) {
        let lane = place(word, self.lanes.len());
        if let Some(lane) = self.lanes.get_mut(lane) {
            *lane |= bits(word);
        }
    }

    /// The filter: the drawers one after the other, each behind its length.
    pub fn pack(&mut self) -> Vec<u8> {
        self.fold();
        let mut packed = Packed(Vec::with_capacity(self.lanes.len() * size_of::<u64>() + DRAWERS * 3));
        for drawer in self.lanes.chunks((self.lanes.len() / DRAWERS).max(1)) {
            packed.number(size_of_val(drawer) as u64);
            drawer.iter().for_each(|lane| packed.raw(&lane.to_le_bytes()));
        }
        self.lanes.clear();
        self.lanes.shrink_to(KEPT);
        packed.0
    }

    /// Makes it as small as it may be: two lanes become one, which has the bits of both.
    fn fold(&mut self) {
        let set = |lanes: &[u64]| lanes.iter().map(|lane| lane.count_ones() as usize).sum::<usize>();
        let is_sparse = |lanes: &[u64]| set(lanes) * 100 <= lanes.len() * u64::BITS as usize * SPARSE;
        while self.lanes.len() > DRAWERS && is_sparse(&self.lanes) {
            let half = self.lanes.len() / 2;
            for lane in 0..half {
                self.lanes[lane] = self.lanes[lane * 2] | self.lanes[lane * 2 + 1];
            }
            self.lanes.truncate(half);
        }
    }
}

/// The drawer that a word would lie in.
pub fn drawer_of(word: u64) -> usize {
    place(word, DRAWERS)
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
    let (lanes, _) = drawer.as_chunks();
    // What all words of a drawer have in common says nothing about the lane.
    let lane = lanes.get(place(word << DRAWERS.ilog2(), lanes.len()));
    lane.is_some_and(|lane| u64::from_le_bytes(*lane) & bits(word) == bits(word))
}

/// Which of so many places is a word's: they are in the order of the hashes, however many there are.
#[expect(clippy::cast_possible_truncation, reason = "the product's upper half is below the number of places")]
fn place(word: u64, places: usize) -> usize {
    ((u128::from(word) * places as u128) >> u64::BITS) as usize
}

/// The bits that a word sets in its lane, by the end of its hash; the lane is chosen by the beginning.
fn bits(word: u64) -> u64 {
    (0..PROBES).fold(0, |bits, probe| bits | 1 << (word >> (probe * u64::BITS.ilog2()) & u64::from(u64::BITS - 1)))
}

#[cfg(test)]
mod tests {
    use super::{DRAWERS, Filter, KEPT, drawer_of, drawers, may_have};
    use crate::index::words;

    fn word(number: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes())
    }

    fn of(words: std::ops::Range<u64>, bytes: usize) -> Vec<u8> {
        let mut filter = Filter::default();
        // What a longer text left does not matter.
        filter.begin(1 << 20);
        filter.add(word(u64::MAX));
        filter.begin(bytes);
        words.for_each(|number| filter.add(word(number)));
        let packed = filter.pack();
        assert!(filter.lanes.capacity() <= KEPT, "a long text leaves little memory behind");
        packed
    }

    fn has(filter: &[u8], word: u64) -> bool {
        drawers(filter).nth(drawer_of(word)).is_some_and(|drawer| may_have(drawer, word))
    }

    /// So many words, and how many bytes of text they are from: what is there is found, and little else.
    fn check(count: u64, bytes: usize, most_wrong: usize) -> usize {
        let filter = of(0..count, bytes);
        assert_eq!(drawers(&filter).count(), DRAWERS);
        assert!((0..count).all(|number| has(&filter, word(number))));
        let wrong = (count..count + 100_000).filter(|&number| has(&filter, word(number))).count();
        assert!(wrong < most_wrong, "{wrong} of 100,000 for {count} words of {bytes} bytes");
        filter.len()
    }

    #[test]
    fn what_is_there_is_found_and_little_else() {
        check(7_000, 128 << 10, 500);
        check(5_000, 200_000, 500);
        check(100, 1_000, 200);
        // Every few letters are another word.
        check(30_000, 128 << 10, 6_000);
        check(600_000, 7 << 20, 6_000);
    }

    #[test]
    fn words_of_a_text_are_found_and_little_else() {
        let all = |word: &str, count: usize| {
            let mut hashes = Vec::new();
            (0..count).for_each(|number| words::each(&format!("{word}{number} "), |hash| hashes.push(hash)));
            hashes
        };
        // The longer ones differ far from where they begin.
        for word in ["w", "a_longer_word", "one_that_is_longer_than_sixteen_bytes_"] {
            let (there, others) = (all(word, 7000), all(&format!("{word}0x"), 100_000));
            let mut filter = Filter::default();
            filter.begin(128 << 10);
            there.iter().for_each(|word| filter.add(*word));
            let packed = filter.pack();
            assert!(there.iter().all(|word| has(&packed, *word)));
            let wrong = others.iter().filter(|word| has(&packed, **word)).count();
            assert!(wrong < 500, "{wrong} of 100,000 like {word}");
        }
    }

    #[test]
    fn few_words_of_a_long_text_take_little_room() {
        assert!(check(500, 1 << 20, 500) < 3_000);
        assert!(check(1, 100 << 20, 500) < 1_000);
    }

    #[test]
    fn few_words_and_none() {
        let filter = of(1..2, 4);
        assert!(has(&filter, word(1)) && !has(&filter, word(2)));
        assert!(!has(&of(0..0, 0), word(1)));
        assert!(!may_have(&[], 7));
        assert!(!may_have(&[255; 7], 7));
    }
}
