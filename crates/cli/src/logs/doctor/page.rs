//! A checkup for people.

use std::{collections::BTreeMap, path::Path};

use anstyle::Style;
use jiff::tz::TimeZone;
use switchboard_event::Id;
use switchboard_logs::{LogReadError, export::format_minute};

use super::checkup::{Checkup, Leaving, Looked};
use crate::{
    logs::show::about,
    sessions::{clip, tilde},
    view::{
        clean,
        figures::{bytes, count},
        paint,
        pieces::{self, Piece},
        style::{BOLD, DIM, GREEN, PLAIN, RED, YELLOW},
    },
};

/// Maximum number of entries shown per section without `--all`.
const SHOWN: usize = 8;

/// How it is shown.
pub struct Page {
    /// The user's home.
    pub home: Option<String>,
    /// The time zone of times.
    pub zone: TimeZone,
    /// In colour.
    pub colour: bool,
    /// How wide a line can be; without it, as wide as it is.
    pub room: Option<usize>,
    /// Nothing is left out.
    pub all: bool,
}

impl Page {
    /// All of it.
    pub fn text(&self, checkup: &Checkup) -> String {
        let parts = [
            self.part("homes", &self.homes(&checkup.homes)),
            self.part("index", &self.index(checkup)),
            self.part("versions", &self.versions(checkup)),
            self.part("could not be read", &self.troubles(&checkup.troubles)),
            self.part("deleted soon", &self.leaving(&checkup.leaving)),
            self.part("damaged events", &damaged(checkup)),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn part(&self, title: &str, lines: &[Vec<Piece>]) -> String {
        if lines.is_empty() {
            return String::new();
        }
        let line = |line: &Vec<Piece>| format!("  {}\n", pieces::wrapped(line, self.room, 4, self.colour));
        let lines: String = lines.iter().map(line).collect();
        format!("{}\n{lines}", paint(self.colour, BOLD, title))
    }

    fn path(&self, path: &Path) -> String {
        clean::line(&tilde(&path.to_string_lossy(), self.home.as_deref()))
    }

    /// Those that are there; without any, all that were looked for.
    fn homes(&self, homes: &[Looked]) -> Vec<Vec<Piece>> {
        let is_any = homes.iter().any(|looked| looked.is_there);
        let shown = homes.iter().filter(|looked| looked.is_there || !is_any || self.all);
        shown
            .map(|looked| {
                let path = self.path(&looked.home.folder);
                let found = match looked.is_there {
                    true => format!("{} · {}", count(looked.sessions, "session"), bytes(looked.bytes)),
                    false => "not there".to_owned(),
                };
                vec![plain(format!("{:<10} {path} ", looked.home.logs.agent)), piece(DIM, &format!("· {found}"))]
            })
            .collect()
    }

    fn index(&self, checkup: &Checkup) -> Vec<Vec<Piece>> {
        let health = &checkup.health;
        let gone = health.gone.filter(|gone| *gone > 0);
        let gone = gone.map(|gone| format!(", what was read of {gone} that are gone")).unwrap_or_default();
        let logs = health.logs.map(|logs| format!(" · {logs} logs{gone}")).unwrap_or_default();
        let about = format!("· {}{logs} · ", bytes(health.bytes));
        let state = match &health.problem {
            None => piece(GREEN, "whole"),
            Some(problem) => piece(RED, &format!("damaged: {problem}")),
        };
        let mut lines = vec![vec![plain(format!("{} ", self.path(&health.path))), piece(DIM, &about), state]];
        if health.problem.is_some() {
            let hint = "hint: `switchboard logs scan --rebuild` puts it aside and reads all logs that are there anew";
            lines.push(vec![piece(PLAIN, hint)]);
        }
        lines
    }

    fn versions(&self, checkup: &Checkup) -> Vec<Vec<Piece>> {
        let mut by_agent: BTreeMap<&str, Vec<Piece>> = BTreeMap::new();
        for seen in &checkup.versions {
            let line = by_agent.entry(&seen.agent).or_default();
            line.push(plain(if line.is_empty() { format!("{:<10} ", seen.agent) } else { ", ".to_owned() }));
            line.push(match seen.newer_than {
                Some(tested) => piece(YELLOW, &format!("{} (newer than tested: {tested})", seen.version)),
                None => piece(PLAIN, &seen.version),
            });
        }
        by_agent.into_values().collect()
    }

    /// The same trouble in many files is one line, with the first of them.
    fn troubles(&self, troubles: &[LogReadError]) -> Vec<Vec<Piece>> {
        let mut kinds: BTreeMap<(&str, &str), Vec<&LogReadError>> = BTreeMap::new();
        for trouble in troubles {
            kinds.entry((&trouble.agent, &trouble.what)).or_default().push(trouble);
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        let times = |found: &[&LogReadError]| found.iter().map(|trouble| trouble.times).sum::<u64>();
        kinds.sort_by_key(|(_, found)| std::cmp::Reverse(times(found)));
        let mut lines = Vec::new();
        for ((agent, what), found) in kinds {
            let often = format!(" · {} in {}", self.times(times(&found)), count(found.len(), "file"));
            lines.push(vec![plain(format!("{agent:<10} ")), piece(YELLOW, &clip(what, 200)), piece(DIM, &often)]);
            let shown = if self.all { found.len() } else { 2 };
            lines.extend(found.iter().take(shown).map(|trouble| self.place(trouble)));
            if found.len() > shown {
                let more = format!("             … and {}", count(found.len() - shown, "more file"));
                lines.push(vec![piece(DIM, &more)]);
            }
        }
        lines
    }

    fn times(&self, times: u64) -> String {
        if times == 1 { "once".to_owned() } else { format!("{times} times") }
    }

    fn place(&self, trouble: &LogReadError) -> Vec<Piece> {
        let at = trouble.offset.map(|at| format!(" at byte {at}")).unwrap_or_default();
        vec![plain(format!("             {}", self.path(&trouble.path))), piece(DIM, &at)]
    }

    fn leaving(&self, leaving: &[Leaving]) -> Vec<Vec<Piece>> {
        let shown = if self.all { leaving.len() } else { SHOWN };
        let mut lines: Vec<Vec<Piece>> = leaving.iter().take(shown).map(|leaving| self.leaves(leaving)).collect();
        if leaving.len() > shown {
            lines.push(vec![piece(DIM, &format!("… and {} more", leaving.len() - shown))]);
        }
        if !leaving.is_empty() {
            let text = "their text stays in the index; `switchboard logs scan --keep` keeps the records themselves too";
            lines.push(vec![piece(DIM, text)]);
        }
        lines
    }

    fn leaves(&self, leaving: &Leaving) -> Vec<Piece> {
        let session = &leaving.session;
        let when = match leaving.days {
            0 => "any time".to_owned(),
            days => format!("in {days} d"),
        };
        let updated = session.facts.updated.map(|at| format_minute(at, &self.zone)).unwrap_or_default();
        let about = format!(" · last used {updated} · {}", clip(&about::title(session), 60));
        vec![
            plain(format!("{:<10} ", session.agent)),
            piece(YELLOW, &when),
            piece(PLAIN, &format!(" {}", session.id)),
            piece(DIM, &about),
        ]
    }
}

/// The events of Switchboard's own sessions that are not what was written.
fn damaged(checkup: &Checkup) -> Vec<Vec<Piece>> {
    let line = |(session, events): &(Id, Vec<u64>)| {
        let shown: Vec<_> = events.iter().take(SHOWN).map(u64::to_string).collect();
        let more = if events.len() > SHOWN { format!(" and {} more", events.len() - SHOWN) } else { String::new() };
        let text = format!(" · checksum mismatch in events {}{more}", shown.join(", "));
        vec![piece(PLAIN, session), piece(YELLOW, &text)]
    };
    checkup.damaged.iter().map(line).collect()
}

/// Makes a piece of untrusted text, with control characters made visible.
fn piece(style: Style, text: &str) -> Piece {
    (style, clean::line(text))
}

fn plain(text: String) -> Piece {
    (PLAIN, text)
}
