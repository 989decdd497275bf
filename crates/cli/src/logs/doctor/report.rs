//! The checkup as text for people.

use std::{collections::BTreeMap, path::Path};

use anstyle::Style;
use jiff::tz::TimeZone;
use switchboard_event::Id;
use switchboard_logs::{LogReadError, export::format_minute};

use super::checkup::{ExpiringSession, HomeCheck, LogsCheckup};
use crate::{
    logs::show::short_title,
    view::{
        figures::{format_bytes, pluralize},
        fold::{abbreviate_home, clip_line},
        paint,
        sanitize::sanitize_line,
        style::{BOLD, DIM, GREEN, PLAIN, RED, StyledText, YELLOW, wrap_texts},
    },
};

/// Maximum number of entries shown per section without `--all`.
const MAX_ENTRIES: usize = 8;

pub struct CheckupReport {
    pub home: Option<String>,
    pub zone: TimeZone,
    pub color: bool,
    /// The maximum width of lines, if any.
    pub room: Option<usize>,
    /// Include all entries.
    pub all: bool,
}

impl CheckupReport {
    pub fn text(&self, checkup: &LogsCheckup) -> String {
        let parts = [
            self.part("homes", &self.homes(&checkup.homes)),
            self.part("index", &self.index(checkup)),
            self.part("versions", &self.versions(checkup)),
            self.part("unreadable", &self.troubles(&checkup.troubles)),
            self.part("deleted soon", &self.leaving(&checkup.leaving)),
            self.part("damaged events", &damaged_event_lines(checkup)),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn part(&self, title: &str, lines: &[Vec<StyledText>]) -> String {
        if lines.is_empty() {
            return String::new();
        }
        let line = |line: &Vec<StyledText>| format!("  {}\n", wrap_texts(line, self.room, 4, self.color));
        let lines: String = lines.iter().map(line).collect();
        format!("{}\n{lines}", paint(self.color, BOLD, title))
    }

    fn path(&self, path: &Path) -> String {
        sanitize_line(&abbreviate_home(&path.to_string_lossy(), self.home.as_deref()))
    }

    /// Lists the directories with logs; if there are none, all that were searched.
    fn homes(&self, homes: &[HomeCheck]) -> Vec<Vec<StyledText>> {
        let is_any = homes.iter().any(|looked| looked.is_there);
        let shown = homes.iter().filter(|looked| looked.is_there || !is_any || self.all);
        shown
            .map(|looked| {
                let path = self.path(&looked.home.folder);
                let found = match looked.is_there {
                    true => format!("{} · {}", pluralize(looked.sessions, "session"), format_bytes(looked.bytes)),
                    false => "not found".to_owned(),
                };
                vec![
                    plain_text(format!("{:<10} {path} ", looked.home.logs.agent)),
                    sanitized_text(DIM, &format!("· {found}")),
                ]
            })
            .collect()
    }

    fn index(&self, checkup: &LogsCheckup) -> Vec<Vec<StyledText>> {
        let health = &checkup.health;
        let gone = health.gone.filter(|gone| *gone > 0);
        let gone = gone.map(|gone| format!(", {gone} of them deleted since")).unwrap_or_default();
        let logs = health.logs.map(|logs| format!(" · {logs} logs{gone}")).unwrap_or_default();
        let about = format!("· {}{logs} · ", format_bytes(health.bytes));
        let state = match &health.problem {
            None => sanitized_text(GREEN, "intact"),
            Some(problem) => sanitized_text(RED, &format!("damaged: {problem}")),
        };
        let mut lines =
            vec![vec![plain_text(format!("{} ", self.path(&health.path))), sanitized_text(DIM, &about), state]];
        if health.problem.is_some() {
            let hint = "hint: `switchboard logs scan --rebuild` sets it aside and reads all existing logs again";
            lines.push(vec![sanitized_text(PLAIN, hint)]);
        }
        lines
    }

    fn versions(&self, checkup: &LogsCheckup) -> Vec<Vec<StyledText>> {
        let mut by_agent: BTreeMap<&str, Vec<StyledText>> = BTreeMap::new();
        for seen in &checkup.versions {
            let line = by_agent.entry(&seen.agent).or_default();
            line.push(plain_text(if line.is_empty() { format!("{:<10} ", seen.agent) } else { ", ".to_owned() }));
            line.push(match seen.newer_than {
                Some(tested) => sanitized_text(YELLOW, &format!("{} (newer than tested: {tested})", seen.version)),
                None => sanitized_text(PLAIN, &seen.version),
            });
        }
        by_agent.into_values().collect()
    }

    /// Groups the same error in many files under one line.
    fn troubles(&self, troubles: &[LogReadError]) -> Vec<Vec<StyledText>> {
        let mut kinds: BTreeMap<(&str, &str), Vec<&LogReadError>> = BTreeMap::new();
        for trouble in troubles {
            kinds.entry((&trouble.agent, &trouble.what)).or_default().push(trouble);
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        let times = |found: &[&LogReadError]| found.iter().map(|trouble| trouble.times).sum::<u64>();
        kinds.sort_by_key(|(_, found)| std::cmp::Reverse(times(found)));
        let mut lines = Vec::new();
        for ((agent, what), found) in kinds {
            let often = format!(" · {} in {}", self.times(times(&found)), pluralize(found.len(), "file"));
            lines.push(vec![
                plain_text(format!("{agent:<10} ")),
                sanitized_text(YELLOW, &clip_line(what, 200)),
                sanitized_text(DIM, &often),
            ]);
            let shown = if self.all { found.len() } else { 2 };
            lines.extend(found.iter().take(shown).map(|trouble| self.place(trouble)));
            if found.len() > shown {
                let more = format!("             … and {}", pluralize(found.len() - shown, "more file"));
                lines.push(vec![sanitized_text(DIM, &more)]);
            }
        }
        lines
    }

    fn times(&self, times: u64) -> String {
        if times == 1 { "once".to_owned() } else { format!("{times} times") }
    }

    fn place(&self, trouble: &LogReadError) -> Vec<StyledText> {
        let at = trouble.offset.map(|at| format!(" at byte {at}")).unwrap_or_default();
        vec![plain_text(format!("             {}", self.path(&trouble.path))), sanitized_text(DIM, &at)]
    }

    fn leaving(&self, leaving: &[ExpiringSession]) -> Vec<Vec<StyledText>> {
        let shown = if self.all { leaving.len() } else { MAX_ENTRIES };
        let mut lines: Vec<Vec<StyledText>> = leaving.iter().take(shown).map(|leaving| self.leaves(leaving)).collect();
        if leaving.len() > shown {
            lines.push(vec![sanitized_text(DIM, &format!("… and {} more", leaving.len() - shown))]);
        }
        if !leaving.is_empty() {
            let text = "their text stays in the index; `switchboard logs scan --keep` also keeps the records";
            lines.push(vec![sanitized_text(DIM, text)]);
        }
        lines
    }

    fn leaves(&self, leaving: &ExpiringSession) -> Vec<StyledText> {
        let session = &leaving.session;
        let when = match leaving.days {
            0 => "any time".to_owned(),
            days => format!("in {days} d"),
        };
        let updated = session.facts.updated.map(|at| format_minute(at, &self.zone)).unwrap_or_default();
        let about = format!(" · last used {updated} · {}", clip_line(&short_title(session), 60));
        vec![
            plain_text(format!("{:<10} ", session.agent)),
            sanitized_text(YELLOW, &when),
            sanitized_text(PLAIN, &format!(" {}", session.id)),
            sanitized_text(DIM, &about),
        ]
    }
}

fn damaged_event_lines(checkup: &LogsCheckup) -> Vec<Vec<StyledText>> {
    let line = |(session, events): &(Id, Vec<u64>)| {
        let shown: Vec<_> = events.iter().take(MAX_ENTRIES).map(u64::to_string).collect();
        let more = if events.len() > MAX_ENTRIES {
            format!(" and {} more", events.len() - MAX_ENTRIES)
        } else {
            String::new()
        };
        let text = format!(" · checksum mismatch in events {}{more}", shown.join(", "));
        vec![sanitized_text(PLAIN, session), sanitized_text(YELLOW, &text)]
    };
    checkup.damaged.iter().map(line).collect()
}

/// Returns untrusted text with control characters made visible.
fn sanitized_text(style: Style, text: &str) -> StyledText {
    (style, sanitize_line(text))
}

fn plain_text(text: String) -> StyledText {
    (PLAIN, text)
}
