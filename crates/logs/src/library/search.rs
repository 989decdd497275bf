//! Searching: filters say which blocks can have the words, and only those are unpacked and looked through.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    thread,
};

use rusqlite::Connection;
use switchboard_agents::Kind;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    Library,
    matching::Matching,
    snippet,
    terms::{self, Term},
};
use crate::{
    Hit, Hits, LogsError, Query,
    index::{
        Index,
        block::{Block, Line},
        filter,
        units::Unit,
    },
};

/// So many blocks are worth a thread.
const WORTH_A_THREAD: usize = 32;

impl Library {
    /// Searches what was said and done.
    ///
    /// # Errors
    /// If the index cannot be read, or the regular expression is none.
    pub fn search(&self, query: &Query) -> Result<Hits, LogsError> {
        let terms = terms::of(&query.words)?;
        if terms.is_empty() {
            return Ok(Hits::default());
        }
        let units = self.units()?;
        let matching = Matching::new(&query.filter, &units);
        let index = self.index();
        let (blocks, rarity) = candidates(&index, &terms, &matching)?.told();
        let by_id: HashMap<i64, &Unit> = units.iter().map(|unit| (unit.id, unit)).collect();
        let search = Search { query, terms: &terms, rarity, matching: &matching, units: &by_id };
        let found = search.run(&index, &blocks)?;
        Ok(best(found, query, &terms, &by_id))
    }
}

/// The blocks that can have what is wanted.
#[derive(Default)]
struct Candidates {
    /// They, with their logs.
    blocks: Vec<(i64, i64)>,
    /// How many were looked at, and how many of them may have each term.
    all: u32,
    with: Vec<u32>,
}

/// So many filters are worth a thread.
const FILTERS: i64 = 1024;

/// The blocks that can have what is wanted. Looking at filters is mostly waiting for memory, which two do in half the time.
fn candidates(index: &Index, terms: &[Term], matching: &Matching) -> Result<Candidates, LogsError> {
    let last = index.connection.query_row("SELECT ifnull(max(block), 0) FROM words", [], |row| row.get(0));
    let last: i64 = last.map_err(|error| index.error(error))?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = i64::try_from(cores).unwrap_or(1).min(last / FILTERS).max(1);
    let path = index.path.as_path();
    thread::scope(|scope| {
        let other = |range| scope.spawn(move || Candidates::among(&Index::another(path)?, range, terms, matching));
        let mut ranges = ranges(last, threads);
        let first = ranges.next().unwrap_or_default();
        let others: Vec<_> = ranges.map(other).collect();
        let mut found = Candidates::among(index, first, terms, matching)?;
        for other in others {
            found.add(other.join().unwrap_or(Err(LogsError::Damaged("a search was cut off")))?);
        }
        Ok(found)
    })
}

/// All blocks up to the last, in so many parts: each is behind one block and up to another.
fn ranges(last: i64, parts: i64) -> impl Iterator<Item = (i64, i64)> {
    let part = last / parts + 1;
    (0..parts).map(move |n| (n * part, (n + 1) * part))
}

impl Candidates {
    /// Those among the blocks behind one and up to another.
    fn among(index: &Index, range: (i64, i64), terms: &[Term], matching: &Matching) -> Result<Self, LogsError> {
        let mut found = Self { with: vec![0; terms.len()], ..Self::default() };
        found.look(&index.connection, range, terms, matching).map_err(|error| index.error(error))?;
        Ok(found)
    }

    fn look(
        &mut self,
        connection: &Connection,
        range: (i64, i64),
        terms: &[Term],
        matching: &Matching,
    ) -> rusqlite::Result<()> {
        let mut rows =
            connection.prepare_cached("SELECT block, unit, filter FROM words WHERE block > ?1 AND block <= ?2")?;
        let mut rows = rows.query([range.0, range.1])?;
        while let Some(row) = rows.next()? {
            let unit = row.get(1)?;
            if !matching.unit(unit) {
                continue;
            }
            let words = row.get_ref(2)?.as_blob()?;
            let mut fits = true;
            self.all += 1;
            for (term, with) in terms.iter().zip(&mut self.with) {
                let may = term.words.iter().all(|word| filter::may_have(words, *word));
                *with += u32::from(may);
                fits &= may;
            }
            if fits {
                self.blocks.push((row.get(0)?, unit));
            }
        }
        Ok(())
    }

    fn add(&mut self, more: Self) {
        self.blocks.extend(more.blocks);
        self.all += more.all;
        self.with.iter_mut().zip(more.with).for_each(|(with, more)| *with += more);
    }

    /// The blocks, and how rare each term is.
    fn told(self) -> (Vec<(i64, i64)>, Vec<f64>) {
        let rarity = |with: &u32| (1.0 + f64::from(self.all) / (f64::from(*with) + 0.5)).ln();
        let rarity = self.with.iter().map(rarity).collect();
        (self.blocks, rarity)
    }
}

struct Search<'a> {
    query: &'a Query,
    terms: &'a [Term],
    rarity: Vec<f64>,
    matching: &'a Matching,
    units: &'a HashMap<i64, &'a Unit>,
}

/// A passage that has everything.
struct Found {
    unit: i64,
    line: Line,
    turn: u32,
    text: String,
    score: f64,
}

impl Search<'_> {
    fn run(&self, index: &Index, blocks: &[(i64, i64)]) -> Result<Vec<Found>, LogsError> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(blocks.len() / WORTH_A_THREAD).max(1);
        if threads == 1 {
            return self.look(index, blocks).map_err(|error| index.error(error));
        }
        thread::scope(|scope| {
            let mut running = Vec::new();
            for part in blocks.chunks(blocks.len().div_ceil(threads)) {
                let index = index.again()?;
                running.push(scope.spawn(move || self.look(&index, part).map_err(|error| index.error(error))));
            }
            let mut found = Vec::new();
            for part in running {
                found.extend(part.join().unwrap_or(Err(LogsError::Damaged("a search was cut off")))?);
            }
            Ok(found)
        })
    }

    fn look(&self, index: &Index, blocks: &[(i64, i64)]) -> rusqlite::Result<Vec<Found>> {
        let mut text = index.connection.prepare_cached("SELECT passages FROM text WHERE block = ?1")?;
        let mut found = Vec::new();
        for (block, unit) in blocks {
            let mut rows = text.query([block])?;
            let Some(row) = rows.next()? else { continue };
            if let Some(block) = Block::read(row.get_ref(0)?.as_blob()?) {
                self.passages(&block, *unit, &mut found);
            }
            self.prune(&mut found);
        }
        Ok(found)
    }

    fn passages(&self, block: &Block, unit: i64, found: &mut Vec<Found>) {
        let mut turn = block.prompts;
        for (line, text) in block.passages() {
            turn += u32::from(line.kind == Kind::UserMessage);
            let wanted = self.query.kinds.is_empty() || self.query.kinds.contains(&line.kind);
            if !wanted || !line.at.is_none_or(|at| self.matching.at(at)) || !self.fits(unit) {
                continue;
            }
            if let Some(score) = self.score(line, text) {
                found.push(Found { unit, line: line.clone(), turn, text: text.to_owned(), score });
            }
        }
    }

    fn fits(&self, unit: i64) -> bool {
        let facts = self.units.get(&unit).map(|unit| &unit.facts);
        facts.is_some_and(|facts| {
            self.matching.project(facts.cwd.as_deref().unwrap_or_default())
                && self.matching.model(facts.model.as_deref().unwrap_or_default())
        })
    }

    /// How well the passage fits, if it has everything: rare terms count for more, repetition for less and less, and
    /// what people and agents said for more than what tools printed.
    fn score(&self, line: &Line, text: &str) -> Option<f64> {
        const TYPICAL: f64 = 600.0;
        let length = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX)) / TYPICAL;
        let mut score = 0.0;
        for (term, rarity) in self.terms.iter().zip(&self.rarity) {
            let times = f64::from(u32::try_from(term.pattern.find_iter(text).take(8).count()).unwrap_or(8));
            if times == 0.0 {
                return None;
            }
            score += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length.min(20.0)));
        }
        let weight = match line.kind {
            Kind::UserMessage => 1.6,
            Kind::AssistantMessage | Kind::SessionSummary => 1.3,
            Kind::Reasoning | Kind::ToolCall => 1.0,
            _ => 0.8,
        };
        Some(score * weight)
    }

    /// Of very many, only the best are held.
    fn prune(&self, found: &mut Vec<Found>) {
        let most = (self.query.limit + 1).saturating_mul(4).max(1024);
        if found.len() > most.saturating_mul(2) {
            found.sort_by(order);
            found.truncate(most);
        }
    }
}

/// The best first; of equally good ones, the latest.
fn order(a: &Found, b: &Found) -> std::cmp::Ordering {
    b.score
        .total_cmp(&a.score)
        .then_with(|| b.line.at.cmp(&a.line.at))
        .then_with(|| (a.unit, a.line.offset).cmp(&(b.unit, b.line.offset)))
}

/// The best, each once: a session that was copied has the same passages again.
fn best(mut found: Vec<Found>, query: &Query, terms: &[Term], units: &HashMap<i64, &Unit>) -> Hits {
    found.sort_by(order);
    let mut told = HashSet::new();
    found.retain(|found| told.insert((xxh3_64(found.text.as_bytes()), found.line.at, found.line.kind)));
    let more = found.len() > query.limit;
    let hits =
        found.into_iter().take(query.limit).filter_map(|found| Some(hit(units.get(&found.unit)?, &found, terms)));
    Hits { hits: hits.collect(), more }
}

fn hit(unit: &Unit, found: &Found, terms: &[Term]) -> Hit {
    let (snippet, marks) = snippet::of(&found.text, terms);
    Hit {
        session: unit.parent.clone().unwrap_or_else(|| unit.session.clone()),
        agent: unit.agent.clone(),
        machine: unit.machine.clone(),
        project: unit.facts.cwd.clone(),
        subagent: unit.parent.is_some().then(|| unit.facts.subagent.clone().unwrap_or_else(|| unit.session.clone())),
        at: found.line.at,
        kind: found.line.kind,
        tool: found.line.tool.clone(),
        turn: found.turn,
        snippet,
        marks,
        path: PathBuf::from(&unit.path),
        offset: found.line.offset,
        score: found.score,
    }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn every_block_is_looked_at_once() {
        for (last, parts) in [(0, 1), (1, 1), (1, 3), (2047, 1), (2048, 2), (4097, 4), (4099, 4)] {
            let blocks: Vec<i64> = ranges(last, parts).flat_map(|(behind, to)| behind + 1..=to).collect();
            assert!(
                (1..=last).all(|block| blocks.iter().filter(|seen| **seen == block).count() == 1),
                "{last} {parts}"
            );
        }
    }
}
