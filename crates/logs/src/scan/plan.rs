//! What there is to do: logs that are new, have grown, were replaced, moved, or are gone.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use switchboard_agents::{Depth, Form};

use super::{Seen, mark};
use crate::{
    index::{Index, units::Unit},
    read,
};

/// What there is to do.
#[derive(Default)]
pub struct Plan {
    /// Logs to read: parts of databases, then files, the largest first.
    pub tasks: Vec<Task>,
    /// How many logs are gone.
    pub gone: u64,
}

/// A log to read.
pub struct Task {
    /// The log.
    pub seen: Seen,
    /// Its number.
    pub unit: i64,
    /// What is known of it; nothing if it is new.
    pub known: Option<Arc<Unit>>,
    /// It is read from its beginning.
    pub fresh: bool,
}

impl Task {
    /// How much there is to read.
    pub fn bytes(&self, depth: Depth) -> u64 {
        let from = self.known.as_ref().filter(|_| !self.fresh).map_or(0, |unit| unit.reached(depth).at);
        self.seen.bytes.saturating_sub(from)
    }
}

/// Compares what is there with what is known, and tells the index what is new, moved and gone.
pub fn plan(index: &mut Index, mut seen: Vec<Seen>, units: &[Arc<Unit>], depth: Depth) -> rusqlite::Result<Plan> {
    // What was kept of a log that its agent has deleted says more than a shared document.
    seen.retain(|seen| !seen.is_shared() || !units.iter().any(|unit| is_own_log(unit, seen)));
    let there: HashSet<&str> = seen.iter().map(|seen| seen.name.as_str()).collect();
    let (known, mut absent): (Vec<&Arc<Unit>>, Vec<&Arc<Unit>>) =
        units.iter().partition(|unit| there.contains(unit.name.as_str()));
    let mut known: HashMap<&str, &Arc<Unit>> = known.into_iter().map(|unit| (unit.name.as_str(), unit)).collect();
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for seen in seen {
        match known.remove(seen.name.as_str()).or_else(|| take_moved(&mut absent, &seen)) {
            Some(unit) => old.push((unit, seen)),
            None => new.push(seen),
        }
    }
    let moved = old.iter().filter(|(unit, seen)| is_changed(unit, seen));
    let moved: Vec<_> = moved.map(|(unit, seen)| (unit.id, seen)).collect();
    let gone: Vec<_> = absent.iter().filter(|unit| !unit.gone && is_gone(unit)).map(|unit| unit.id).collect();
    let numbers = index.arrange(&new.iter().collect::<Vec<_>>(), &moved, &gone)?;
    let mut tasks: Vec<_> = old.into_iter().filter_map(|(unit, seen)| Task::of(unit, seen, depth)).collect();
    tasks.extend(new.into_iter().zip(numbers).map(|(seen, unit)| Task { seen, unit, known: None, fresh: true }));
    // Nobody knows how large the parts of a database are: they do not wait until the others are done. A very large log
    // may then be the last one to be over, but that is rarer.
    tasks.sort_by_key(|task| (task.seen.part.is_none(), std::cmp::Reverse(task.bytes(depth))));
    Ok(Plan { tasks, gone: gone.len() as u64 })
}

impl Task {
    /// What there is to do about a log that is known, if anything.
    fn of(unit: &Arc<Unit>, seen: Seen, depth: Depth) -> Option<Self> {
        let reached = unit.reached(depth);
        if reached.seen.as_deref() == Some(&seen.seen) {
            return None;
        }
        // Only lines are never changed once they are written, and only if nobody put others in their place.
        let grown = matches!(seen.file.form, Form::Lines)
            && seen.bytes >= unit.tokens.at.max(unit.text.at)
            && unit.mark.as_deref().is_some_and(|mark| holds(&seen, mark));
        Some(Self { unit: unit.id, fresh: !grown, known: Some(Arc::clone(unit)), seen })
    }
}

/// The unit is, or was, a log of the session that has a part in a shared document.
fn is_own_log(unit: &Unit, shared: &Seen) -> bool {
    Some(&unit.session) == shared.part.as_ref() && unit.agent == shared.agent && unit.path != shared.path
}

/// What the index says about where it lies and how large it is is not so any longer.
fn is_changed(unit: &Unit, seen: &Seen) -> bool {
    unit.gone || unit.path != seen.path || unit.name != seen.name || unit.bytes != seen.bytes
}

/// A log that was known and is not among those that are there: it may only not have been looked for.
fn is_gone(unit: &Unit) -> bool {
    matches!(unit.path.try_exists(), Ok(false))
}

/// A log that the file system knows by the same number, and that begins as it did: it was renamed.
fn take_moved<'a>(absent: &mut Vec<&'a Arc<Unit>>, seen: &Seen) -> Option<&'a Arc<Unit>> {
    let same = |unit: &&Arc<Unit>| {
        let both = unit.agent == seen.agent && unit.inode == seen.inode && unit.part.is_none() && seen.part.is_none();
        both && is_gone(unit) && unit.mark.as_deref().is_some_and(|mark| holds(seen, mark))
    };
    let at = absent.iter().position(same)?;
    Some(absent.swap_remove(at))
}

fn holds(seen: &Seen, mark: &[u8]) -> bool {
    read::open(&seen.path).is_ok_and(|file| mark::still_holds(&file, mark))
}
