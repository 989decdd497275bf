//! A transcript for people: the header, then turn by turn, each with its number, so that one can come back to it.

use std::io::{self, Write as _};

use jiff::tz::TimeZone;
use switchboard_event::{Body, Event, Timestamp};
use switchboard_logs::{
    Session,
    export::{minute, story::Turns},
};

use super::{Show, about};
use crate::{
    failure::Failure,
    logs::times,
    sessions::say,
    terminal::Terminal,
    view::{Detail, Options, Output, Screen, View, clean, paint, style::DIM},
    watch::Look,
};

/// Where to begin.
#[derive(Clone, Copy)]
pub enum From {
    /// At the beginning.
    Start,
    /// With a turn.
    Turn(u32),
    /// With the turn of a time.
    Time(Timestamp),
}

impl From {
    /// What was typed.
    pub fn typed(turn: Option<u32>, at: Option<&str>, zone: &TimeZone) -> Result<Self, Failure> {
        let time = at.map(|at| times::at("--at", at, zone)).transpose()?;
        Ok(time.map(Self::Time).or(turn.map(Self::Turn)).unwrap_or(Self::Start))
    }

    /// The number of the turn, given all events.
    fn number(self, events: &[Event]) -> u32 {
        match self {
            Self::Start => 0,
            Self::Turn(number) => number,
            Self::Time(at) => {
                let mut turns = Turns::default();
                let begun = events.iter().take_while(|event| event.at <= at);
                begun.for_each(|event| drop(turns.begins(event)));
                turns.number()
            }
        }
    }
}

/// Shows a session, all to standard output.
pub fn show(args: &Show, session: &Session, events: &[Event], from: From, zone: &TimeZone) -> Result<(), Failure> {
    let terminal = Terminal::new();
    let colour = terminal.stdout && terminal.colour;
    print(&about::header(session, events, zone, colour))?;
    let first = from.number(events);
    let last = args.turns.map_or(u32::MAX, |turns| first.max(1).saturating_add(turns).saturating_sub(1));
    let mut page = Page { view: View::new(options(args, &terminal)), out: Output::default(), zone, colour };
    let mut turns = Turns::default();
    for event in events {
        let begins = turns.begins(event).is_some();
        if turns.number() > last {
            break;
        }
        // How it began is said above; how it ended is a matter of who reads the log.
        let is_frame = matches!(event.body, Body::SessionStarted(_) | Body::SessionEnded(_));
        if turns.number() < first || is_frame {
            page.learn(event);
            continue;
        }
        if begins {
            page.turn(turns.number(), event.at);
        }
        page.event(event)?;
    }
    page.end()?;
    if first > turns.number() {
        say(&format!("there is no turn {first}: this session has {}", turns.number()));
    }
    Ok(())
}

fn options(args: &Show, terminal: &Terminal) -> Options {
    let look = Look { reasoning: !args.no_reasoning, first_prompt: true, ..Look::default() };
    let detail = if args.full { Detail::Full } else { Detail::Brief };
    // In a pipe there is no width to fit into, and no colour.
    let shown = if terminal.stdout { Options::terminal(terminal.width()) } else { Options::piped() };
    let (colour, width) = (terminal.stdout && terminal.colour, shown.width);
    Options { screen: Screen::Both, colour, width, stream: false, resume: false, detail, ..look.options(terminal) }
}

struct Page<'a> {
    view: View,
    out: Output,
    zone: &'a TimeZone,
    colour: bool,
}

impl Page<'_> {
    /// Takes note of what is not shown.
    fn learn(&mut self, event: &Event) {
        let is_own = event.thread.is_none();
        if is_own && matches!(event.body, Body::SessionStarted(_) | Body::SessionUpdated(_)) {
            self.view.event(event, &mut Output::default());
        }
    }

    /// The line above a turn.
    fn turn(&mut self, number: u32, at: Timestamp) {
        let line = format!("── turn {number} · {} ──", clean::line(&minute(at, self.zone)));
        self.view.aside(&format!("\n{}\n", paint(self.colour, DIM, &line)), &mut self.out);
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        self.view.event(event, &mut self.out);
        self.flush()
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.view.pause(&mut self.out);
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.out.pieces().try_for_each(|(_, text)| print(text))?;
        self.out.clear();
        Ok(())
    }
}

fn print(text: &str) -> Result<(), Failure> {
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}
