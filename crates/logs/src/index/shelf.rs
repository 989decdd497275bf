//! Shelves: the filters of many blocks, drawer by drawer. A few blocks that came alone have their filters in their own
//! rows; once there are many such, they are put on a shelf.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    block::Block,
    bytes::{Packed, Unpacked},
    filter::{self, DRAWERS},
    press::Press,
};

/// So many blocks that are written together have a shelf of their own.
pub const ENOUGH: usize = 64;

/// So many blocks may have their filters in their own rows.
const MOST_LOOSE: usize = 256;

/// A block that may have what is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The block.
    pub block: i64,
    /// Its log.
    pub unit: i64,
    /// The shelf that its filter lies on. A block that is gone may still be on one.
    pub shelf: Option<i64>,
}

/// Looks through the filters of all blocks whose logs are `wanted`. `each` is given the block, and what says whether it
/// may have all words of a term.
pub fn look(
    connection: &Connection,
    terms: &[&[u64]],
    wanted: impl Fn(i64) -> bool,
    mut each: impl FnMut(Candidate, &dyn Fn(usize) -> bool),
) -> rusqlite::Result<()> {
    let mut rows = connection.prepare_cached("SELECT block, unit, lanes FROM words WHERE shelf IS NULL")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (candidate, whole) = (Candidate { block: row.get(0)?, unit: row.get(1)?, shelf: None }, row.get_ref(2)?);
        let drawers: Vec<_> = filter::drawers(whole.as_blob()?).collect();
        let may = |word: &u64| drawers.get(filter::drawer_of(*word)).is_none_or(|it| filter::may_have(it, *word));
        if wanted(candidate.unit) {
            each(candidate, &|term| terms.get(term).is_none_or(|words| words.iter().all(may)));
        }
    }
    let mut rows = connection.prepare_cached("SELECT id, blocks, count FROM shelf")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (id, count) = (row.get(0)?, row.get(2)?);
        let may: Vec<_> = terms.iter().map(|words| having(connection, id, count, words)).collect::<Result<_, _>>()?;
        let may = |place: usize, term: usize| may.get(term).and_then(|may| may.get(place)).is_none_or(|may| *may);
        for (place, (block, unit)) in blocks(row.get_ref(1)?.as_blob()?).enumerate() {
            if wanted(unit) {
                each(Candidate { block, unit, shelf: Some(id) }, &|term| may(place, term));
            }
        }
    }
    Ok(())
}

/// Which blocks of a shelf may have all of these words.
fn having(connection: &Connection, shelf: i64, count: usize, words: &[u64]) -> rusqlite::Result<Vec<bool>> {
    let mut may = vec![true; count];
    let mut drawer = connection.prepare_cached("SELECT filters FROM drawer WHERE at = ?1")?;
    for word in words {
        let mut rows = drawer.query([place(shelf, filter::drawer_of(*word))])?;
        let Some(row) = rows.next()? else { continue };
        for (may, drawer) in may.iter_mut().zip(filter::drawers(row.get_ref(0)?.as_blob()?)) {
            *may = *may && filter::may_have(drawer, *word);
        }
    }
    Ok(may)
}

/// A shelf that is being filled.
pub struct Shelf {
    id: i64,
    blocks: Packed,
    count: usize,
    drawers: Vec<Packed>,
}

impl Shelf {
    /// An empty one.
    pub fn new(connection: &Connection) -> rusqlite::Result<Self> {
        let mut next = connection.prepare_cached("SELECT ifnull(max(id), 0) + 1 FROM shelf")?;
        let drawers = std::iter::repeat_with(Packed::default).take(DRAWERS).collect();
        Ok(Self { id: next.query_row([], |row| row.get(0))?, blocks: Packed::default(), count: 0, drawers })
    }

    /// Puts a block on it, whose row is or will be there.
    fn add<'a>(&mut self, block: i64, unit: i64, drawers: impl Iterator<Item = &'a [u8]>) {
        self.blocks.signed(block);
        self.blocks.signed(unit);
        self.count += 1;
        // What is damaged is empty; the other drawers stay in their places.
        for (all, drawer) in self.drawers.iter_mut().zip(drawers.chain(std::iter::repeat(&[][..]))) {
            all.number(drawer.len() as u64);
            all.raw(drawer);
        }
    }

    /// Writes it. What other shelves have left goes with it, if it is little.
    pub fn write(mut self, connection: &Connection) -> rusqlite::Result<()> {
        for shelf in leftovers(connection)? {
            self.take_over(connection, shelf)?;
        }
        if self.count == 0 {
            return Ok(());
        }
        let mut insert = connection.prepare_cached("INSERT INTO shelf VALUES (?1, ?2, ?3, ?3)")?;
        insert.execute(params![self.id, self.blocks.0, self.count])?;
        for (number, drawer) in self.drawers.iter().enumerate() {
            let mut insert = connection.prepare_cached("INSERT INTO drawer VALUES (?1, ?2)")?;
            insert.execute(params![place(self.id, number), drawer.0])?;
        }
        Ok(())
    }

    /// Takes the blocks of another shelf that are still there.
    fn take_over(&mut self, connection: &Connection, shelf: i64) -> rusqlite::Result<()> {
        let mut drawers = connection.prepare_cached("SELECT filters FROM drawer WHERE at = ?1")?;
        let drawers: Vec<Vec<u8>> = (0..DRAWERS)
            .map(|number| drawers.query_row([place(shelf, number)], |row| row.get(0)))
            .collect::<Result<_, _>>()?;
        let mut drawers: Vec<_> = drawers.iter().map(|drawer| filter::drawers(drawer)).collect();
        let mut list = connection.prepare_cached("SELECT blocks FROM shelf WHERE id = ?1")?;
        let list: Vec<u8> = list.query_row([shelf], |row| row.get(0))?;
        let mut moved = connection.prepare_cached("UPDATE words SET shelf = ?1 WHERE block = ?2 AND shelf = ?3")?;
        for (block, unit) in blocks(&list) {
            let filter: Vec<_> = drawers.iter_mut().map(|drawer| drawer.next().unwrap_or_default()).collect();
            if moved.execute([self.id, block, shelf])? == 1 {
                self.add(block, unit, filter.into_iter());
            }
        }
        remove(connection, shelf)
    }
}

/// Writes the rows of new blocks: on a shelf, if there is one.
pub fn insert(
    connection: &Connection,
    shelf: Option<&mut Shelf>,
    block: i64,
    unit: i64,
    filter: &[u8],
) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT INTO words (block, unit, lanes, shelf) VALUES (?1, ?2, ?3, ?4)")?;
    match shelf {
        Some(shelf) => {
            shelf.add(block, unit, filter::drawers(filter));
            insert.execute(params![block, unit, &[][..], shelf.id])
        }
        None => insert.execute(params![block, unit, filter, None::<i64>]),
    }
    .map(drop)
}

/// Puts blocks on a shelf, once many have their filters in their own rows.
pub fn tidy(connection: &Connection) -> rusqlite::Result<()> {
    let mut count = connection.prepare_cached("SELECT count(*) FROM words WHERE shelf IS NULL")?;
    if count.query_row([], |row| row.get::<_, usize>(0))? > MOST_LOOSE {
        put_up(connection, |_, filter| Ok(filter))?;
    }
    Ok(())
}

/// Puts all blocks on shelves, with filters that are made of their text again: theirs were made in another way.
pub fn make_again(connection: &Connection) -> rusqlite::Result<()> {
    let mut press = Press::default();
    let mut text = connection.prepare("SELECT passages FROM text WHERE block = ?1")?;
    let mut again = |block, _| {
        let stored = text.query_row([block], |row| row.get::<_, Vec<u8>>(0)).optional()?;
        let block = stored.and_then(|stored| Block::read(&stored)).unwrap_or_default();
        Ok(press.filter(&block))
    };
    while put_up(connection, &mut again)? > 0 {}
    Ok(())
}

/// Puts blocks on a shelf that have filters in their own rows, with the filters that `filter` gives for them. Gives how
/// many they were.
fn put_up(
    connection: &Connection,
    mut filter: impl FnMut(i64, Vec<u8>) -> rusqlite::Result<Vec<u8>>,
) -> rusqlite::Result<usize> {
    let mut rows = connection.prepare_cached("SELECT block, unit, lanes FROM words WHERE shelf IS NULL LIMIT ?1")?;
    let loose = rows.query_map([MOST_LOOSE * 2], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let loose: Vec<(i64, i64, Vec<u8>)> = loose.collect::<Result<_, _>>()?;
    let count = loose.len();
    let mut shelf = Shelf::new(connection)?;
    for (block, unit, old) in loose {
        shelf.add(block, unit, filter::drawers(&filter(block, old)?));
        let mut moved = connection.prepare_cached("UPDATE words SET shelf = ?1, lanes = x'' WHERE block = ?2")?;
        moved.execute([shelf.id, block])?;
    }
    shelf.write(connection)?;
    Ok(count)
}

/// Takes off all shelves what is no longer there.
pub fn clear(connection: &Connection) -> rusqlite::Result<()> {
    let mut rows = connection.prepare_cached("SELECT id FROM shelf WHERE living < count")?;
    let shelves: Vec<i64> = rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for shelf in shelves {
        let mut other = Shelf::new(connection)?;
        other.take_over(connection, shelf)?;
        other.write(connection)?;
    }
    Ok(())
}

/// Shelves of which less than half is still there.
fn leftovers(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut rows = connection.prepare_cached("SELECT id FROM shelf WHERE living * 2 < count")?;
    rows.query_map([], |row| row.get(0))?.collect()
}

fn remove(connection: &Connection, shelf: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM shelf WHERE id = ?1")?.execute([shelf])?;
    let mut drawers = connection.prepare_cached("DELETE FROM drawer WHERE at >= ?1 AND at < ?2")?;
    drawers.execute([place(shelf, 0), place(shelf + 1, 0)]).map(drop)
}

/// Where a drawer of a shelf lies.
fn place(shelf: i64, drawer: usize) -> i64 {
    shelf * DRAWERS.cast_signed() as i64 + drawer.cast_signed() as i64
}

/// The blocks of a shelf with their logs.
fn blocks(packed: &[u8]) -> impl Iterator<Item = (i64, i64)> {
    let mut from = Unpacked(packed);
    std::iter::from_fn(move || Some((from.signed()?, from.signed()?)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::{Connection, params};
    use switchboard_agents::{Depth, Kind};

    use super::{Candidate, ENOUGH, MOST_LOOSE, look};
    use crate::index::{
        Index,
        block::{Block, Line},
        portion::Portion,
        press::Press,
        words,
    };

    fn block(text: &str) -> Block {
        let line = Line { kind: Kind::UserMessage, at: None, tool: None, offset: 0, end: text.len() };
        Block { prompts: 0, lines: vec![line], text: text.to_owned() }
    }

    /// An index with a log.
    fn index(folder: &Path) -> Index {
        let index = Index::open(folder).unwrap();
        let log = "INSERT INTO unit (id, name, agent, path, session, archived, bytes, inode, facts)
                   VALUES (1, 'log', 'a', 'log', 's', 0, 0, 0, '{}')";
        index.connection.execute(log, []).unwrap();
        index
    }

    /// Adds blocks with these texts to the log; with `fresh`, in place of all others.
    fn add(index: &mut Index, texts: impl Iterator<Item = String>, fresh: bool) {
        let version = index.connection.query_row("SELECT version FROM unit", [], |row| row.get(0)).unwrap();
        let blocks = texts.map(|text| Press::default().store(&block(&text)).unwrap()).collect();
        let portion = Portion { blocks, fresh, ..Portion::new(1, version, Depth::All) };
        assert_eq!(index.write(&[portion]).unwrap(), [true]);
    }

    /// The blocks that may have a word and are there.
    fn with(index: &Index, word: &str) -> Vec<i64> {
        let mut hashes = Vec::new();
        words::each(word, |hash| hashes.push(hash));
        let mut found = Vec::new();
        let is_there = |block: Candidate| {
            let there = "SELECT count(*) FROM words WHERE block = ?1 AND unit = ?2 AND shelf IS ?3";
            let count =
                index.connection.query_row(there, params![block.block, block.unit, block.shelf], |row| row.get(0));
            count == Ok(1)
        };
        look(
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

    fn count(index: &Index, what: &str) -> usize {
        index.connection.query_row(&format!("SELECT count(*) FROM {what}"), [], |row| row.get(0)).unwrap()
    }

    fn texts(from: usize, to: usize) -> impl Iterator<Item = String> {
        (from..to).map(|number| format!("every word{number}"))
    }

    #[test]
    fn blocks_are_found_on_shelves_and_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index(folder.path());
        add(&mut index, texts(0, 2), false);
        assert_eq!((count(&index, "shelf"), with(&index, "word1")), (0, vec![2]));
        add(&mut index, texts(2, 2 + ENOUGH), false);
        assert_eq!((count(&index, "shelf"), count(&index, "words WHERE shelf IS NULL")), (1, 2));
        assert!(with(&index, "word50").contains(&51));
        assert_eq!(with(&index, "every").len(), ENOUGH + 2);
        assert!(with(&index, "nothing").len() < 5);
    }

    #[test]
    fn blocks_that_come_one_by_one_get_onto_a_shelf() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index(folder.path());
        for number in 0..=MOST_LOOSE {
            add(&mut index, texts(number, number + 1), false);
        }
        assert_eq!((count(&index, "shelf"), count(&index, "words WHERE shelf IS NULL")), (1, 0));
        assert_eq!(with(&index, "every").len(), MOST_LOOSE + 1);
        assert!(with(&index, "word77").contains(&78));
    }

    #[test]
    fn what_is_gone_is_not_found_and_leaves_its_shelf() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index(folder.path());
        add(&mut index, texts(0, ENOUGH * 2), false);
        // Numbers are used again: the same block, on a shelf and gone, and beside it.
        add(&mut index, texts(900, 901), true);
        assert_eq!((with(&index, "every"), with(&index, "word900")), (vec![1], vec![1]));
        add(&mut index, texts(1000, 1000 + ENOUGH), false);
        assert_eq!((count(&index, "shelf"), count(&index, "drawer")), (1, super::DRAWERS));
        assert_eq!(with(&index, "every").len(), ENOUGH + 1);
    }

    #[test]
    fn what_is_left_of_a_shelf_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = index(folder.path());
        add(&mut index, texts(0, ENOUGH), false);
        index.connection.execute("DELETE FROM words WHERE block > 10", []).unwrap();
        add(&mut index, texts(1000, 1000 + ENOUGH), false);
        assert_eq!(count(&index, "shelf"), 1);
        assert!(with(&index, "word5").contains(&6) && with(&index, "word1005").contains(&(ENOUGH as i64 + 6)));
        assert_eq!(with(&index, "every").len(), ENOUGH + 10);
    }

    #[test]
    fn what_moves_while_it_is_looked_for_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = index(folder.path());
        add(&mut writer, texts(0, ENOUGH), false);
        writer.connection.execute("DELETE FROM words WHERE block > 10", []).unwrap();
        let reader = Index::open(folder.path()).unwrap();
        let moment = reader.still().unwrap();
        let mut found = Vec::new();
        look(&reader.connection, &[], |_| true, |block, _| found.push(block)).unwrap();
        // What is left is taken over by another shelf.
        add(&mut writer, texts(1000, 1000 + ENOUGH), false);
        let there = || {
            let sql = "SELECT count(*) FROM words WHERE block = ?1 AND shelf IS ?2";
            let is = |block: &&Candidate| {
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
        let mut index = index(folder.path());
        add(&mut index, texts(0, ENOUGH), false);
        index.connection.execute("UPDATE words SET unit = 2 WHERE block > 50", []).unwrap();
        index.delete(&[1]).unwrap();
        let left: usize = index.connection.query_row("SELECT count FROM shelf", [], |row| row.get(0)).unwrap();
        assert_eq!((count(&index, "shelf"), left), (1, ENOUGH - 50));
        index.delete(&[2]).unwrap();
        assert_eq!((count(&index, "shelf"), count(&index, "drawer")), (0, 0));
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
            let old = Connection::open(folder.path().join(Index::FILE)).unwrap();
            steps.iter().take(format).for_each(|step| old.execute_batch(step).unwrap());
            old.execute_batch("BEGIN").unwrap();
            for (number, text) in texts(0, 3000).enumerate() {
                let stored = Press::default().store(&block(&text)).unwrap();
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
            let index = Index::open(folder.path()).unwrap();
            assert!([345, 2345].iter().all(|number| with(&index, &format!("word{number}")).contains(number)));
            // The damaged one is not.
            assert_eq!(with(&index, "every").len(), 2999, "format {format}");
            assert_eq!(count(&index, "words WHERE shelf IS NULL"), 0);
            assert_eq!(count(&index, "drawer"), count(&index, "shelf") * super::DRAWERS);
        }
    }
}
