//! Searching: filters say which blocks can have the words, and only those are unpacked and looked through.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    thread,
};

use rusqlite::params;
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
        shelf::{self, Candidate},
        units::Unit,
    },
};

/// So many blocks are worth a thread.
const WORTH_A_THREAD: usize = 16;

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
        let index = self.index();
        // Others may write meanwhile. One connection can look at one moment, several cannot: if that matters, it is looked
        // again with one.
        let before = index.moment().map_err(|error| index.error(error))?;
        let (hits, alone) = self.search_with(&index, query, &terms, cores())?;
        if alone || index.moment().is_ok_and(|now| now == before) {
            return Ok(hits);
        }
        Ok(self.search_with(&index, query, &terms, 1)?.0)
    }

    /// Searches with so many threads at the most. Also says whether one did it all.
    fn search_with(
        &self,
        index: &Index,
        query: &Query,
        terms: &[Term],
        most_threads: usize,
    ) -> Result<(Hits, bool), LogsError> {
        let _moment = index.still()?;
        let units = self.meant(&self.all_units(index)?);
        let matching = Matching::new(&query.filter, &units);
        let (blocks, rarity) = Candidates::find(index, terms, &matching)?.told();
        let by_id: HashMap<i64, &Unit> = units.iter().map(|unit| (unit.id, &**unit)).collect();
        let search = Search { query, terms, rarity, matching: &matching, units: &by_id };
        let threads = most_threads.min(blocks.len() / WORTH_A_THREAD).max(1);
        let found = search.run(index, &blocks, threads)?;
        Ok((best(found, query, terms, &by_id), threads == 1))
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The blocks that can have what is wanted.
struct Candidates {
    blocks: Vec<Candidate>,
    /// How many were looked at, and how many of them may have each term.
    all: u32,
    with: Vec<u32>,
}

impl Candidates {
    /// Those that have all terms, as far as their filters tell.
    fn find(index: &Index, terms: &[Term], matching: &Matching) -> Result<Self, LogsError> {
        let mut found = Self { blocks: Vec::new(), all: 0, with: vec![0; terms.len()] };
        let words: Vec<&[u64]> = terms.iter().map(|term| &*term.words).collect();
        let looked = shelf::look(
            &index.connection,
            &words,
            |unit| matching.unit(unit),
            |block, may| {
                found.all += 1;
                let mut fits = true;
                for (term, with) in found.with.iter_mut().enumerate() {
                    let may = may(term);
                    *with += u32::from(may);
                    fits &= may;
                }
                if fits {
                    found.blocks.push(block);
                }
            },
        );
        looked.map_err(|error| index.error(error))?;
        Ok(found)
    }

    /// The blocks, and how rare each term is.
    fn told(self) -> (Vec<Candidate>, Vec<f64>) {
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
    fn run(&self, index: &Index, blocks: &[Candidate], threads: usize) -> Result<Vec<Found>, LogsError> {
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

    fn look(&self, index: &Index, blocks: &[Candidate]) -> rusqlite::Result<Vec<Found>> {
        // A block that is on a shelf may be gone, and its number another's.
        let mut text = index.connection.prepare_cached(
            "SELECT passages FROM words JOIN text USING (block) WHERE block = ?1 AND unit = ?2 AND shelf IS ?3",
        )?;
        let mut found = Vec::new();
        for Candidate { block, unit, shelf } in blocks {
            let mut rows = text.query(params![block, unit, shelf])?;
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
            let times = f64::from(u32::try_from(term.find_iter(text).take(8).count()).unwrap_or(8));
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
