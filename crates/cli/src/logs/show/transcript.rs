//! A transcript for people: the header, then turn by turn, each with its number.

use std::io::{self, Write as _};

use jiff::tz::TimeZone;
use switchboard_event::{Event, EventBody, Timestamp};
use switchboard_logs::{
    LogSession,
    export::{format_minute, story::TurnCounter},
};

use super::{ShowLogArgs, transcript_header};
use crate::{
    failure::Failure,
    logs::filter::parse_time_option,
    terminal::{Terminal, print_note},
    view::{
        DetailLevel, ScreenLayout, TranscriptView, ViewOptions, ViewOutput, paint, sanitize::sanitize_line, style::DIM,
    },
    watch::DisplaySettings,
};

pub fn print_transcript(
    args: &ShowLogArgs,
    session: &LogSession,
    events: &[Event],
    from: FirstTurn,
    is_running: bool,
    zone: &TimeZone,
) -> Result<(), Failure> {
    let terminal = Terminal::new();
    let color = terminal.stdout && terminal.color;
    let part = TurnRange::new(from, args.turns, events)?;
    let mut out = io::stdout().lock();
    out.write_all(transcript_header(session, events, zone, color).as_bytes()).map_err(Failure::Output)?;
    let view = TranscriptView::new(view_options(args, &terminal));
    let last = TranscriptPrinter { view, to: &mut out, zone, color }.turns(events, part).map_err(Failure::Output)?;
    if is_running && last <= part.last {
        out.write_all(paint(color, DIM, "\n… still running\n").as_bytes()).map_err(Failure::Output)?;
    }
    if from.is_behind(events) {
        print_note("that time is after the end of the session; showing the last turn");
    }
    Ok(())
}

fn view_options(args: &ShowLogArgs, terminal: &Terminal) -> ViewOptions {
    let look = DisplaySettings { reasoning: !args.no_reasoning, first_prompt: true, ..DisplaySettings::default() };
    let detail = if args.full { DetailLevel::Full } else { DetailLevel::Brief };
    // A pipe has no width limit and no colors.
    let shown = if terminal.stdout { ViewOptions::terminal(terminal.width()) } else { ViewOptions::piped() };
    let (color, width) = (terminal.stdout && terminal.color, shown.width);
    ViewOptions {
        screen: ScreenLayout::Both,
        color,
        width,
        stream: false,
        resume: false,
        detail,
        ..look.options(terminal)
    }
}

struct TranscriptPrinter<'a> {
    view: TranscriptView,
    to: &'a mut dyn io::Write,
    zone: &'a TimeZone,
    color: bool,
}

impl TranscriptPrinter<'_> {
    /// Writes the turns of a range and returns the number of the last turn read.
    ///
    /// The view also gets the events before the range: a prompt may start before its turn, and the view needs to know
    /// when.
    fn turns(mut self, events: &[Event], part: TurnRange) -> io::Result<u32> {
        let mut turns = TurnCounter::default();
        for event in events {
            let begins = turns.begin_turn(event).is_some();
            if turns.turn_number() > part.last {
                break;
            }
            let text = self.text(event, begins.then(|| turns.turn_number()));
            if turns.turn_number() >= part.first {
                self.write(&text)?;
            }
        }
        let mut rest = ViewOutput::default();
        self.view.pause(&mut rest);
        if turns.turn_number() >= part.first {
            self.write(&rest)?;
        }
        Ok(turns.turn_number())
    }

    /// Renders an event, below the heading of the turn that it starts, if any.
    fn text(&mut self, event: &Event, begins: Option<u32>) -> ViewOutput {
        let mut out = ViewOutput::default();
        if let Some(number) = begins {
            self.heading(number, event.at, &mut out);
        }
        match &event.body {
            // The header has the start of the session, and that of a subagent is irrelevant.
            EventBody::SessionStarted(_) if event.thread.is_none() => {
                self.view.event(event, &mut ViewOutput::default())
            }
            EventBody::SessionStarted(_) => {}
            // The end is that of the log.
            EventBody::SessionEnded(_) => {}
            _ => self.view.event(event, &mut out),
        }
        out
    }

    fn heading(&mut self, number: u32, at: Timestamp, out: &mut ViewOutput) {
        let line = format!("── turn {number} · {} ──", sanitize_line(&format_minute(at, self.zone)));
        self.view.aside(&format!("\n{}\n", paint(self.color, DIM, &line)), out);
    }

    fn write(&mut self, out: &ViewOutput) -> io::Result<()> {
        out.pieces().try_for_each(|(_, text)| self.to.write_all(text.as_bytes()))
    }
}

#[derive(Clone, Copy)]
pub enum FirstTurn {
    Start,
    Turn(u32),
    Time(Timestamp),
}

/// The numbers of the turns to show.
#[derive(Clone, Copy)]
struct TurnRange {
    /// 0 includes what comes before all turns.
    pub first: u32,
    pub last: u32,
}

impl FirstTurn {
    pub fn typed(turn: Option<u32>, at: Option<&str>, zone: &TimeZone) -> Result<Self, Failure> {
        let time = at.map(|at| parse_time_option("--at", at, zone)).transpose()?;
        Ok(time.map(Self::Time).or(turn.map(Self::Turn)).unwrap_or(Self::Start))
    }

    /// Returns whether the time is after all events.
    pub fn is_behind(self, events: &[Event]) -> bool {
        matches!(self, Self::Time(at) if events.iter().all(|event| event.at < at))
    }

    fn number(self, events: &[Event]) -> u32 {
        match self {
            Self::Start => 0,
            Self::Turn(number) => number,
            Self::Time(at) => count_turns(events.iter().take_while(|event| event.at <= at)),
        }
    }
}

impl TurnRange {
    /// Selects a number of turns, or all, from the first one. Fails if there is no such turn.
    pub fn new(from: FirstTurn, turns: Option<u32>, events: &[Event]) -> Result<Self, Failure> {
        let (first, all) = (from.number(events), count_turns(events));
        if first > all {
            let cause = format!("there is no turn {first}: this session has {all}");
            return Err(Failure::BadValue { option: "--turn", cause });
        }
        let last = turns.map_or(u32::MAX, |turns| first.max(1).saturating_add(turns).saturating_sub(1));
        Ok(Self { first, last })
    }
}

fn count_turns<'a>(events: impl IntoIterator<Item = &'a Event>) -> u32 {
    let mut turns = TurnCounter::default();
    events.into_iter().for_each(|event| drop(turns.begin_turn(event)));
    turns.turn_number()
}

#[cfg(test)]
mod tests {

    use jiff::tz::TimeZone;
    use switchboard_event::Event;
    use switchboard_testkit::recording::{self, load_recordings};

    use super::{ScreenLayout, TranscriptPrinter, TranscriptView, TurnRange, ViewOptions};

    fn shown(events: &[Event], part: TurnRange) -> (String, u32) {
        let options =
            ViewOptions { screen: ScreenLayout::Both, first_prompt: true, stream: false, ..ViewOptions::piped() };
        let mut text = Vec::new();
        let page =
            TranscriptPrinter { view: TranscriptView::new(options), to: &mut text, zone: &TimeZone::UTC, color: false };
        let last = page.turns(events, part).unwrap();
        (String::from_utf8(text).unwrap(), last)
    }

    #[test]
    fn a_turn_alone_looks_as_it_does_among_all() {
        let mut turns = 0;
        for recording in load_recordings().unwrap().into_iter().filter(|recording| recording.log.is_some()) {
            let events = recording::stream_events(recording.source, &recording.bytes);
            let (all, last) = shown(&events, TurnRange { first: 0, last: u32::MAX });
            let begins = |number: u32| all.find(&format!("\n── turn {number} · ")).unwrap_or(all.len());
            for number in 1..=last {
                let (alone, _) = shown(&events, TurnRange { first: number, last: number });
                assert_eq!(Some(&*alone), all.get(begins(number)..begins(number + 1)), "{recording}: turn {number}");
                assert!(alone.contains("\n> "), "{recording}: turn {number} without its prompt: {alone}");
            }
            turns += last;
        }
        assert!(turns > 50, "{turns}");
    }
}
