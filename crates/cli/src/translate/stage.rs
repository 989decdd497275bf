//! From a record to the output.

use std::io::{self, BufWriter, StdoutLock, Write as _};

use switchboard_agents::{Record, RecordSource, RecordTranslator, TranslatorOptions};
use switchboard_dialects::{Dialect, MessageBuffer, Projection};
use switchboard_event::Event;

use super::CHUNK;
use crate::failure::Failure;

/// What some editors put before the first line of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Translates one session after the other.
pub struct Stage {
    source: &'static RecordSource,
    dialect: &'static Dialect,
    options: TranslatorOptions,
    translator: RecordTranslator,
    projection: Box<dyn Projection>,
    events: Vec<Event>,
    messages: MessageBuffer,
    /// Zeros around a line are no part of it.
    pub trims_zeros: bool,
    /// A line came.
    begun: bool,
    out: BufWriter<StdoutLock<'static>>,
    broken: Option<io::Error>,
}

impl Stage {
    /// For one source and one dialect.
    pub fn new(source: &'static RecordSource, dialect: &'static Dialect, options: TranslatorOptions) -> Self {
        Self {
            translator: RecordTranslator::new(source, options.clone()),
            projection: (dialect.projection)(),
            source,
            dialect,
            options,
            events: Vec::new(),
            messages: MessageBuffer::default(),
            trims_zeros: false,
            begun: false,
            out: BufWriter::with_capacity(CHUNK, io::stdout().lock()),
            broken: None,
        }
    }

    /// Translates a line.
    pub fn line(&mut self, line: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        let is_first = !std::mem::replace(&mut self.begun, true);
        let line = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first).unwrap_or(line);
        let line = if self.trims_zeros { trimmed(line) } else { line };
        Record::for_each_in_line(line, |record| {
            if self.translator.starts_other_session(record) {
                self.next();
            }
            self.translator.translate_record(record, &mut self.events);
            self.project();
        });
    }

    /// What follows is another session.
    pub fn next(&mut self) {
        self.translator.finish(&mut self.events);
        self.project();
        self.translator = RecordTranslator::new(self.source, self.options.clone());
        self.projection = (self.dialect.projection)();
    }

    /// Nothing follows.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.translator.finish(&mut self.events);
        self.project();
        self.flush()
    }

    fn project(&mut self) {
        for event in self.events.drain(..) {
            self.projection.project_event(&event, &mut self.messages);
        }
        let written = self.messages.iter().try_for_each(|message| {
            self.out.write_all(message)?;
            self.out.write_all(b"\n")
        });
        self.messages.clear();
        self.broken = self.broken.take().or(written.err());
    }

    /// Flushes the output, so that the reader has everything before more input is awaited.
    pub fn flush(&mut self) -> Result<(), Failure> {
        if let Some(error) = self.broken.take() {
            return Err(Failure::Output(error));
        }
        self.out.flush().map_err(Failure::Output)
    }
}

/// The line without zeros around it; what is nothing else stays.
fn trimmed(line: &[u8]) -> &[u8] {
    let Some(start) = line.iter().position(|byte| *byte != 0) else { return line };
    let end = line.iter().rposition(|byte| *byte != 0).map_or(start, |last| last + 1);
    line.get(start..end).unwrap_or_default()
}
