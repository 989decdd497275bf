//! `switchboard translate`: a filter from an agent's records to a dialect.

use std::{
    io::{self, BufWriter, StdoutLock, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use switchboard_agents::{Lines, Options, Record, SOURCES, Source, Start, Translator, source};
use switchboard_dialects::{Dialect, Messages, Projection};
use switchboard_event::{Event, Id};

use crate::{
    args, dialects,
    failure::{Failure, names},
    host,
    input::{Input, Read},
};

/// How much is read at once: large enough to be fast, small enough to be prompt.
const CHUNK: usize = 128 << 10;

/// The exit code of what was stopped.
const STOPPED: u8 = 130;

/// What some editors put before the first line of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Runs the command.
pub fn run(args: &args::Translate) -> Result<ExitCode, Failure> {
    let source = find_source(&args.from)?;
    let dialect = dialects::find(&args.to)?;
    let unreadable = |cause| Failure::Unreadable {
        path: args.file.clone().unwrap_or_else(|| PathBuf::from("standard input")),
        cause,
    };
    let mut input = host::open(args.file.as_deref()).and_then(Input::new).map_err(unreadable)?;
    let options = Options {
        session: args.session.as_deref().map(Id::from),
        made_up: host::fresh_id(),
        arrival: host::now(),
        run: 1,
        start: start(args)?,
        ..Options::default()
    };
    let mut filter = Filter::new(source, dialect, options);
    let mut chunk = vec![0; CHUNK];
    loop {
        match input.read(&mut chunk) {
            Ok(Read::Some(length)) => filter.push(chunk.get(..length).unwrap_or_default())?,
            Ok(Read::End) => return filter.finish().map(|()| ExitCode::SUCCESS),
            // It is closed like any other stream that stops, and whoever waits hears that it was stopped.
            Ok(Read::Stopped) => return filter.finish().map(|()| ExitCode::from(STOPPED)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                // What was read is worth having, and it must be closed like any other stream that stops.
                filter.finish()?;
                return Err(unreadable(error));
            }
        }
    }
}

fn start(args: &args::Translate) -> Result<Start, Failure> {
    let base = args.usage_base.as_deref().map(serde_json::from_str).transpose();
    Ok(Start {
        resumed: args.resumed.as_deref().map(Id::from),
        usage_base: base.map_err(|cause| Failure::BadValue { option: "--usage-base", cause: cause.to_string() })?,
        ..Start::default()
    })
}

fn find_source(name: &str) -> Result<&'static Source, Failure> {
    source(name).ok_or_else(|| Failure::UnknownName {
        what: "source",
        given: name.to_owned(),
        known: names(SOURCES.iter().copied().flatten().map(|s| (s.name, s.title))),
    })
}

/// Bytes in, messages out.
struct Filter {
    lines: Lines,
    stage: Stage,
}

/// From a line to the output. Apart from the lines, since they lend their bytes while it works.
struct Stage {
    translator: Translator,
    projection: Box<dyn Projection>,
    events: Vec<Event>,
    messages: Messages,
    /// A line came.
    begun: bool,
    out: BufWriter<StdoutLock<'static>>,
    broken: Option<io::Error>,
}

impl Filter {
    fn new(source: &Source, dialect: &Dialect, options: Options) -> Self {
        let stage = Stage {
            translator: Translator::new(source, options),
            projection: (dialect.projection)(),
            events: Vec::new(),
            messages: Messages::default(),
            begun: false,
            out: BufWriter::with_capacity(CHUNK, io::stdout().lock()),
            broken: None,
        };
        Self { lines: Lines::default(), stage }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.lines.push(bytes, |line| self.stage.line(line));
        self.stage.flush()
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.lines.finish(|line| self.stage.line(line));
        self.stage.translator.end(&mut self.stage.events);
        self.stage.project();
        self.stage.flush()
    }
}

impl Stage {
    fn line(&mut self, line: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        let is_first = !std::mem::replace(&mut self.begun, true);
        let line = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first).unwrap_or(line);
        if let Some(record) = Record::from_line(line) {
            self.translator.record(&record, &mut self.events);
            self.project();
        }
    }

    fn project(&mut self) {
        for event in self.events.drain(..) {
            self.projection.event(&event, &mut self.messages);
        }
        let written = self.messages.iter().try_for_each(|message| {
            self.out.write_all(message)?;
            self.out.write_all(b"\n")
        });
        self.messages.clear();
        self.broken = written.err();
    }

    /// Whoever reads us sees what came so far, before we wait for more.
    fn flush(&mut self) -> Result<(), Failure> {
        if let Some(error) = self.broken.take() {
            return Err(Failure::Output(error));
        }
        self.out.flush().map_err(Failure::Output)
    }
}
