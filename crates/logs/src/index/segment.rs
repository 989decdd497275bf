//! Segments: the filters of many blocks, stored bucket by bucket (tables `shelf` and `drawer`). Filters of single
//! blocks stay in their own rows until there are enough of them for a segment.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::block::{BlockEncoder, RowDecoder, RowEncoder, TextBlock};
use super::filter::{self, FILTER_BUCKET_COUNT};

/// At least this many blocks written together get a segment of their own.
pub const MIN_SEGMENT_BLOCKS: usize = 64;

/// The maximum number of filters in their own rows.
const MAX_LOOSE_FILTERS: usize = 256;

/// A block that may match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateBlock {
    pub block: i64,
    /// Its log.
    pub unit: i64,
    /// The segment of its filter. A segment may still list a deleted block.
    pub shelf: Option<i64>,
}

/// Scans the filters of all blocks whose logs are `wanted`. `each` receives the block and a function that tells whether
/// the block may contain all words of a term.
pub fn scan_filters(
    connection: &Connection,
    terms: &[&[u64]],
    wanted: impl Fn(i64) -> bool,
    mut each: impl FnMut(CandidateBlock, &dyn Fn(usize) -> bool),
) -> rusqlite::Result<()> {
    let mut rows = connection.prepare_cached("SELECT block, unit, lanes FROM words WHERE shelf IS NULL")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (candidate, whole) =
            (CandidateBlock { block: row.get(0)?, unit: row.get(1)?, shelf: None }, row.get_ref(2)?);
        let drawers: Vec<_> = filter::iter_buckets(whole.as_blob()?).collect();
        let may = |word: &u64| drawers.get(filter::bucket_of(*word)).is_none_or(|it| filter::may_contain(it, *word));
        if wanted(candidate.unit) {
            each(candidate, &|term| terms.get(term).is_none_or(|words| words.iter().all(may)));
        }
    }
    let mut rows = connection.prepare_cached("SELECT id, blocks, count FROM shelf")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (id, count) = (row.get(0)?, row.get(2)?);
        let may: Vec<_> =
            terms.iter().map(|words| segment_matches(connection, id, count, words)).collect::<Result<_, _>>()?;
        let may = |place: usize, term: usize| may.get(term).and_then(|may| may.get(place)).is_none_or(|may| *may);
        for (place, (block, unit)) in decode_block_list(row.get_ref(1)?.as_blob()?).enumerate() {
            if wanted(unit) {
                each(CandidateBlock { block, unit, shelf: Some(id) }, &|term| may(place, term));
            }
        }
    }
    Ok(())
}

/// Returns which blocks of a segment may contain all of these words.
fn segment_matches(connection: &Connection, shelf: i64, count: usize, words: &[u64]) -> rusqlite::Result<Vec<bool>> {
    let mut may = vec![true; count];
    let mut drawer = connection.prepare_cached("SELECT filters FROM drawer WHERE at = ?1")?;
    for word in words {
        let mut rows = drawer.query([bucket_row_id(shelf, filter::bucket_of(*word))])?;
        let Some(row) = rows.next()? else { continue };
        for (may, drawer) in may.iter_mut().zip(filter::iter_buckets(row.get_ref(0)?.as_blob()?)) {
            *may = *may && filter::may_contain(drawer, *word);
        }
    }
    Ok(may)
}

pub struct FilterSegment {
    id: i64,
    blocks: RowEncoder,
    count: usize,
    drawers: Vec<RowEncoder>,
}

impl FilterSegment {
    /// Creates an empty segment with the next free ID.
    pub fn new(connection: &Connection) -> rusqlite::Result<Self> {
        let mut next = connection.prepare_cached("SELECT ifnull(max(id), 0) + 1 FROM shelf")?;
        let drawers = std::iter::repeat_with(RowEncoder::default).take(FILTER_BUCKET_COUNT).collect();
        Ok(Self { id: next.query_row([], |row| row.get(0))?, blocks: RowEncoder::default(), count: 0, drawers })
    }

    /// Adds a block, whose row exists or will be inserted.
    fn push_block<'a>(&mut self, block: i64, unit: i64, drawers: impl Iterator<Item = &'a [u8]>) {
        self.blocks.write_zigzag(block);
        self.blocks.write_zigzag(unit);
        self.count += 1;
        // Damaged buckets are stored empty so that the others keep their positions.
        for (all, drawer) in self.drawers.iter_mut().zip(drawers.chain(std::iter::repeat(&[][..]))) {
            all.write_varint(drawer.len() as u64);
            all.write_bytes(drawer);
        }
    }

    /// Writes the segment. It absorbs other segments that are mostly deleted.
    pub fn write(mut self, connection: &Connection) -> rusqlite::Result<()> {
        for shelf in sparse_segments(connection)? {
            self.absorb_segment(connection, shelf)?;
        }
        if self.count == 0 {
            return Ok(());
        }
        let mut insert = connection.prepare_cached("INSERT INTO shelf VALUES (?1, ?2, ?3, ?3)")?;
        insert.execute(params![self.id, self.blocks.0, self.count])?;
        for (number, drawer) in self.drawers.iter().enumerate() {
            let mut insert = connection.prepare_cached("INSERT INTO drawer VALUES (?1, ?2)")?;
            insert.execute(params![bucket_row_id(self.id, number), drawer.0])?;
        }
        Ok(())
    }

    /// Takes over the remaining blocks of another segment.
    fn absorb_segment(&mut self, connection: &Connection, shelf: i64) -> rusqlite::Result<()> {
        let mut drawers = connection.prepare_cached("SELECT filters FROM drawer WHERE at = ?1")?;
        let drawers: Vec<Vec<u8>> = (0..FILTER_BUCKET_COUNT)
            .map(|number| drawers.query_row([bucket_row_id(shelf, number)], |row| row.get(0)))
            .collect::<Result<_, _>>()?;
        let mut drawers: Vec<_> = drawers.iter().map(|drawer| filter::iter_buckets(drawer)).collect();
        let mut list = connection.prepare_cached("SELECT blocks FROM shelf WHERE id = ?1")?;
        let list: Vec<u8> = list.query_row([shelf], |row| row.get(0))?;
        let mut moved = connection.prepare_cached("UPDATE words SET shelf = ?1 WHERE block = ?2 AND shelf = ?3")?;
        for (block, unit) in decode_block_list(&list) {
            let filter: Vec<_> = drawers.iter_mut().map(|drawer| drawer.next().unwrap_or_default()).collect();
            if moved.execute([self.id, block, shelf])? == 1 {
                self.push_block(block, unit, filter.into_iter());
            }
        }
        delete_segment(connection, shelf)
    }
}

/// Writes the row of a new block, and its filter to the segment if there is one.
pub fn insert_block_filter(
    connection: &Connection,
    shelf: Option<&mut FilterSegment>,
    block: i64,
    unit: i64,
    filter: &[u8],
) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT INTO words (block, unit, lanes, shelf) VALUES (?1, ?2, ?3, ?4)")?;
    match shelf {
        Some(shelf) => {
            shelf.push_block(block, unit, filter::iter_buckets(filter));
            insert.execute(params![block, unit, &[][..], shelf.id])
        }
        None => insert.execute(params![block, unit, filter, None::<i64>]),
    }
    .map(drop)
}

/// Moves filters into a segment when too many have their own rows.
pub fn collect_loose_filters(connection: &Connection) -> rusqlite::Result<()> {
    let mut count = connection.prepare_cached("SELECT count(*) FROM words WHERE shelf IS NULL")?;
    if count.query_row([], |row| row.get::<_, usize>(0))? > MAX_LOOSE_FILTERS {
        move_to_segment(connection, |_, filter| Ok(filter))?;
    }
    Ok(())
}

/// Rebuilds all filters from the text of the blocks and moves them into segments: earlier formats built filters
/// differently.
pub fn rebuild_filters(connection: &Connection) -> rusqlite::Result<()> {
    let mut press = BlockEncoder::default();
    let mut text = connection.prepare("SELECT passages FROM text WHERE block = ?1")?;
    let mut again = |block, _| {
        let stored = text.query_row([block], |row| row.get::<_, Vec<u8>>(0)).optional()?;
        let block = stored.and_then(|stored| TextBlock::decode(&stored)).unwrap_or_default();
        Ok(press.build_filter(&block))
    };
    while move_to_segment(connection, &mut again)? > 0 {}
    Ok(())
}

/// Moves blocks with their own filter rows into a segment, with the filters returned by `filter`. Returns their number.
fn move_to_segment(
    connection: &Connection,
    mut filter: impl FnMut(i64, Vec<u8>) -> rusqlite::Result<Vec<u8>>,
) -> rusqlite::Result<usize> {
    let mut rows = connection.prepare_cached("SELECT block, unit, lanes FROM words WHERE shelf IS NULL LIMIT ?1")?;
    let loose = rows.query_map([MAX_LOOSE_FILTERS * 2], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let loose: Vec<(i64, i64, Vec<u8>)> = loose.collect::<Result<_, _>>()?;
    let count = loose.len();
    let mut shelf = FilterSegment::new(connection)?;
    for (block, unit, old) in loose {
        shelf.push_block(block, unit, filter::iter_buckets(&filter(block, old)?));
        let mut moved = connection.prepare_cached("UPDATE words SET shelf = ?1, lanes = x'' WHERE block = ?2")?;
        moved.execute([shelf.id, block])?;
    }
    shelf.write(connection)?;
    Ok(count)
}

/// Removes deleted blocks from all segments.
pub fn compact_segments(connection: &Connection) -> rusqlite::Result<()> {
    let mut rows = connection.prepare_cached("SELECT id FROM shelf WHERE living < count")?;
    let shelves: Vec<i64> = rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for shelf in shelves {
        let mut other = FilterSegment::new(connection)?;
        other.absorb_segment(connection, shelf)?;
        other.write(connection)?;
    }
    Ok(())
}

/// Returns segments with less than half of their blocks left.
fn sparse_segments(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut rows = connection.prepare_cached("SELECT id FROM shelf WHERE living * 2 < count")?;
    rows.query_map([], |row| row.get(0))?.collect()
}

fn delete_segment(connection: &Connection, shelf: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM shelf WHERE id = ?1")?.execute([shelf])?;
    let mut drawers = connection.prepare_cached("DELETE FROM drawer WHERE at >= ?1 AND at < ?2")?;
    drawers.execute([bucket_row_id(shelf, 0), bucket_row_id(shelf + 1, 0)]).map(drop)
}

/// Returns the row ID of a bucket of a segment.
fn bucket_row_id(shelf: i64, drawer: usize) -> i64 {
    shelf * FILTER_BUCKET_COUNT.cast_signed() as i64 + drawer.cast_signed() as i64
}

/// Decodes the blocks of a segment with their logs.
fn decode_block_list(packed: &[u8]) -> impl Iterator<Item = (i64, i64)> {
    let mut from = RowDecoder(packed);
    std::iter::from_fn(move || Some((from.read_zigzag()?, from.read_zigzag()?)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::{Connection, params};
    use switchboard_agents::{PassageKind, ScanDepth};

    use super::{CandidateBlock, MAX_LOOSE_FILTERS, MIN_SEGMENT_BLOCKS, scan_filters};
    use crate::index::{
        LogIndex,
        block::{BlockEncoder, BlockPassage, TextBlock},
        words,
        write::IndexBatch,
    };

    fn text_block(text: &str) -> TextBlock {
        let line = BlockPassage { kind: PassageKind::UserMessage, at: None, tool: None, offset: 0, end: text.len() };
        TextBlock { prompts: 0, lines: vec![line], text: text.to_owned() }
    }

    /// Creates an index with one log.
    fn index_with_log(folder: &Path) -> LogIndex {
        let index = LogIndex::open(folder).unwrap();
        let log = "INSERT INTO unit (id, name, agent, path, session, archived, bytes, inode, facts)
                   VALUES (1, 'log', 'a', 'log', 's', 0, 0, 0, '{}')";
        index.connection.execute(log, []).unwrap();
        index
    }

    /// Adds blocks with these texts to the log; with `fresh`, replaces all others.
    fn add_blocks(index: &mut LogIndex, texts: impl Iterator<Item = String>, fresh: bool) {
        let version = index.connection.query_row("SELECT version FROM unit", [], |row| row.get(0)).unwrap();
        let blocks = texts.map(|text| BlockEncoder::default().encode_block(&text_block(&text)).unwrap()).collect();
        let portion = IndexBatch { blocks, fresh, ..IndexBatch::new(1, version, ScanDepth::All) };
        assert_eq!(index.write_batches(&[portion]).unwrap(), [true]);
    }

    /// Returns the existing blocks that may contain a word.
    fn blocks_with_word(index: &LogIndex, word: &str) -> Vec<i64> {
        let mut hashes = Vec::new();
        words::for_each_word(word, |hash| hashes.push(hash));
        let mut found = Vec::new();
        let is_there = |block: CandidateBlock| {
            let there = "SELECT count(*) FROM words WHERE block = ?1 AND unit = ?2 AND shelf IS ?3";
            let count =
                index.connection.query_row(there, params![block.block, block.unit, block.shelf], |row| row.get(0));
            count == Ok(1)
        };
        scan_filters(
            &index.connection,
            &[&hashes],
            |unit| unit == 1,
            |block, may| {
                if may(0) && is_there(block) {
                    found.push(block.block);
                }
            },
        )
        .unwrap();
        found.sort_unstable();
        found
    }

    fn count_rows(index: &LogIndex, what: &str) -> usize {
        index.connection.query_row(&format!("SELECT count(*) FROM {what}"), [], |row| row.get(0)).unwrap()
    }

    fn numbered_texts(from: usize, to: usize) -> impl Iterator<Item = String> {
        (from..to).map(|number| format!("every word{number}"))
    }

    #[test]
    fn blocks_are_found_on_shelves_and_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index_with_log(folder.path());
        add_blocks(&mut index, numbered_texts(0, 2), false);
        assert_eq!((count_rows(&index, "shelf"), blocks_with_word(&index, "word1")), (0, vec![2]));
        add_blocks(&mut index, numbered_texts(2, 2 + MIN_SEGMENT_BLOCKS), false);
        assert_eq!((count_rows(&index, "shelf"), count_rows(&index, "words WHERE shelf IS NULL")), (1, 2));
        assert!(blocks_with_word(&index, "word50").contains(&51));
        assert_eq!(blocks_with_word(&index, "every").len(), MIN_SEGMENT_BLOCKS + 2);
        assert!(blocks_with_word(&index, "nothing").len() < 5);
    }

    #[test]
    fn blocks_that_come_one_by_one_get_onto_a_shelf() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index_with_log(folder.path());
        for number in 0..=MAX_LOOSE_FILTERS {
            add_blocks(&mut index, numbered_texts(number, number + 1), false);
        }
        assert_eq!((count_rows(&index, "shelf"), count_rows(&index, "words WHERE shelf IS NULL")), (1, 0));
        assert_eq!(blocks_with_word(&index, "every").len(), MAX_LOOSE_FILTERS + 1);
        assert!(blocks_with_word(&index, "word77").contains(&78));
    }

    #[test]
    fn what_is_gone_is_not_found_and_leaves_its_shelf() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index_with_log(folder.path());
        add_blocks(&mut index, numbered_texts(0, MIN_SEGMENT_BLOCKS * 2), false);
        // Block numbers are reused: the same number is a deleted block in a segment and a new one outside.
        add_blocks(&mut index, numbered_texts(900, 901), true);
        assert_eq!((blocks_with_word(&index, "every"), blocks_with_word(&index, "word900")), (vec![1], vec![1]));
        add_blocks(&mut index, numbered_texts(1000, 1000 + MIN_SEGMENT_BLOCKS), false);
        assert_eq!((count_rows(&index, "shelf"), count_rows(&index, "drawer")), (1, super::FILTER_BUCKET_COUNT));
        assert_eq!(blocks_with_word(&index, "every").len(), MIN_SEGMENT_BLOCKS + 1);
    }

    #[test]
    fn what_is_left_of_a_shelf_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index_with_log(folder.path());
        add_blocks(&mut index, numbered_texts(0, MIN_SEGMENT_BLOCKS), false);
        index.connection.execute("DELETE FROM words WHERE block > 10", []).unwrap();
        add_blocks(&mut index, numbered_texts(1000, 1000 + MIN_SEGMENT_BLOCKS), false);
        assert_eq!(count_rows(&index, "shelf"), 1);
        assert!(
            blocks_with_word(&index, "word5").contains(&6)
                && blocks_with_word(&index, "word1005").contains(&(MIN_SEGMENT_BLOCKS as i64 + 6))
        );
        assert_eq!(blocks_with_word(&index, "every").len(), MIN_SEGMENT_BLOCKS + 10);
    }

    #[test]
    fn what_moves_while_it_is_looked_for_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = index_with_log(folder.path());
        add_blocks(&mut writer, numbered_texts(0, MIN_SEGMENT_BLOCKS), false);
        writer.connection.execute("DELETE FROM words WHERE block > 10", []).unwrap();
        let reader = LogIndex::open(folder.path()).unwrap();
        let moment = reader.begin_snapshot().unwrap();
        let mut found = Vec::new();
        scan_filters(&reader.connection, &[], |_| true, |block, _| found.push(block)).unwrap();
        // Another segment absorbs the rest.
        add_blocks(&mut writer, numbered_texts(1000, 1000 + MIN_SEGMENT_BLOCKS), false);
        let there = || {
            let sql = "SELECT count(*) FROM words WHERE block = ?1 AND shelf IS ?2";
            let is = |block: &&CandidateBlock| {
                reader.connection.query_row(sql, params![block.block, block.shelf], |row| row.get(0)) == Ok(1)
            };
            found.iter().filter(is).count()
        };
        assert_eq!(there(), 10);
        drop(moment);
        assert_eq!(there(), 0);
    }

    #[test]
    fn what_is_deleted_leaves_no_word_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index_with_log(folder.path());
        add_blocks(&mut index, numbered_texts(0, MIN_SEGMENT_BLOCKS), false);
        index.connection.execute("UPDATE words SET unit = 2 WHERE block > 50", []).unwrap();
        index.delete_units(&[1]).unwrap();
        let left: usize = index.connection.query_row("SELECT count FROM shelf", [], |row| row.get(0)).unwrap();
        assert_eq!((count_rows(&index, "shelf"), left), (1, MIN_SEGMENT_BLOCKS - 50));
        index.delete_units(&[2]).unwrap();
        assert_eq!((count_rows(&index, "shelf"), count_rows(&index, "drawer")), (0, 0));
    }

    #[test]
    fn filters_of_an_earlier_format_are_made_again() {
        let steps = [
            include_str!("schema.sql"),
            include_str!("format2.sql"),
            include_str!("format3.sql"),
            include_str!("format4.sql"),
        ];
        for format in 2..=steps.len() {
            let folder = tempfile::tempdir().unwrap();
            let old = Connection::open(folder.path().join(LogIndex::FILE_NAME)).unwrap();
            steps.iter().take(format).for_each(|step| old.execute_batch(step).unwrap());
            old.execute_batch("BEGIN").unwrap();
            for (number, text) in numbered_texts(0, 3000).enumerate() {
                let stored = BlockEncoder::default().encode_block(&text_block(&text)).unwrap();
                old.execute("INSERT INTO text VALUES (?1, ?2)", params![number, stored.text]).unwrap();
                let filter = if format == 2 { "filter" } else { "drawers" };
                let insert = format!("INSERT INTO words (block, unit, {filter}) VALUES (?1, 1, x'0102')");
                old.execute(&insert, [number]).unwrap();
            }
            if format > 2 {
                old.execute_batch(
                    "UPDATE words SET shelf = 1 WHERE block < 1000;
                     INSERT INTO shelf VALUES (1, x'', 1000, 1000); INSERT INTO drawer VALUES (64, x'0102');",
                )
                .unwrap();
            }
            old.execute("UPDATE text SET passages = x'00' WHERE block = 7", []).unwrap();
            old.pragma_update(None, "user_version", format as i64).unwrap();
            old.execute_batch("COMMIT").unwrap();
            drop(old);
            let index = LogIndex::open(folder.path()).unwrap();
            assert!(
                [345, 2345].iter().all(|number| blocks_with_word(&index, &format!("word{number}")).contains(number))
            );
            // The damaged block is not found.
            assert_eq!(blocks_with_word(&index, "every").len(), 2999, "format {format}");
            assert_eq!(count_rows(&index, "words WHERE shelf IS NULL"), 0);
            assert_eq!(count_rows(&index, "drawer"), count_rows(&index, "shelf") * super::FILTER_BUCKET_COUNT);
        }
    }
}
