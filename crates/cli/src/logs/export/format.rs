//! The formats, and how a session is written in each.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use clap::ValueEnum;
use jiff::tz::TimeZone;
use switchboard_agents::agent_names;
use switchboard_dialects::{Dialect, DialectSurface, MessageBuffer, default_dialect};
use switchboard_event::Event;
use switchboard_logs::{
    LogSession,
    export::{Redactor, TranscriptDocument, csv, html, markdown},
};

use crate::logs::show::about;

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// agtrace.event.v1, one JSON object a line
    Trace,
    /// The same as a table, without the agent's own records
    Csv,
    /// Text to read
    Markdown,
    /// A page of its own: no script, nothing from elsewhere
    Html,
}

impl Format {
    /// How names of such files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Trace => "jsonl",
            Self::Csv => "csv",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }

    /// Several sessions fit into one file.
    pub fn takes_several(self) -> bool {
        self != Self::Html
    }
}

/// Writes sessions.
pub struct Pen<'a> {
    format: Format,
    redactor: Option<&'a Redactor>,
    no_raw: bool,
    zone: TimeZone,
    dialect: &'static Dialect,
    columns: Vec<String>,
}

impl<'a> Pen<'a> {
    /// One for a format.
    pub fn new(format: Format, redactor: Option<&'a Redactor>, no_raw: bool, zone: TimeZone) -> Self {
        let dialect = default_dialect(DialectSurface::Log);
        let no_raw = no_raw || format == Format::Csv;
        Self { format, redactor, no_raw, zone, dialect, columns: columns(dialect) }
    }

    /// Its figures are there to be added up over all sessions. A page is read by itself.
    pub fn adds_up(&self) -> bool {
        matches!(self.format, Format::Trace | Format::Csv)
    }

    /// Writes a session, the first of its file or one behind others.
    pub fn session(
        &self,
        session: &LogSession,
        events: Vec<Event>,
        is_first: bool,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self.format {
            Format::Trace => self.messages(events, &mut |message| {
                out.write_all(message.as_bytes())?;
                out.write_all(b"\n")
            }),
            Format::Csv => {
                if is_first {
                    out.write_all(csv::header_row(&self.columns).as_bytes())?;
                }
                self.messages(events, &mut |message| {
                    let row = csv::object_row(&self.columns, message.as_bytes());
                    row.map_or(Ok(()), |row| out.write_all(row.as_bytes()))
                })
            }
            Format::Markdown => {
                if !is_first {
                    out.write_all(b"\n---\n\n")?;
                }
                out.write_all(markdown::render_markdown(&self.story(session, &events), &self.zone).as_bytes())
            }
            Format::Html => out.write_all(html::render_html(&self.story(session, &events), &self.zone).as_bytes()),
        }
    }

    fn messages(&self, events: Vec<Event>, each: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        let (mut projection, mut messages) = ((self.dialect.projection)(), MessageBuffer::default());
        for mut event in events {
            if self.no_raw {
                event.native = None;
            }
            projection.project_event(&event, &mut messages);
            for message in messages.iter() {
                // Checked at once where nothing is wrong, which is everywhere.
                let message = str::from_utf8(message).map_or_else(|_| String::from_utf8_lossy(message), Cow::Borrowed);
                each(&self.redactor.map_or(Cow::Borrowed(&*message), |redactor| redactor.redact_json(&message)))?;
            }
            messages.clear();
        }
        Ok(())
    }

    fn story(&self, session: &LogSession, events: &[Event]) -> TranscriptDocument {
        // A title is cut where its secrets are out already, so that no part of one is left.
        let title = about::whole_title(session);
        let title = about::cut(&self.redactor.map_or(Cow::Borrowed(title), |redactor| redactor.redact_text(title)));
        let about = about::facts(session, &self.zone);
        let mut story = TranscriptDocument { title, about, ..TranscriptDocument::from_events(events) };
        if let Some(redactor) = self.redactor {
            story.redact(redactor);
        }
        story
    }
}

/// The columns of a table: the properties of a message in their order, but for the record itself.
fn columns(dialect: &Dialect) -> Vec<String> {
    let schema = (dialect.schema)(&agent_names());
    let properties = schema.get("properties").and_then(|properties| properties.as_object());
    let names = properties.into_iter().flat_map(|properties| properties.keys());
    names.filter(|name| *name != "raw").cloned().collect()
}
