//! A transcript for people: the header, then turn by turn, each with its number, so that one can come back to it.

use std::io::{self, Write as _};

use jiff::tz::TimeZone;
use switchboard_event::{Event, EventBody, Timestamp};
use switchboard_logs::{
    LogSession,
    export::{format_minute, story::TurnCounter},
};

use super::{
    Show, about,
    part::{From, Part},
};
use crate::{
    failure::Failure,
    sessions::say,
    terminal::Terminal,
    view::{Detail, Options, Output, Screen, View, clean, paint, style::DIM},
    watch::Look,
};

/// Shows a session, all to standard output.
pub fn show(
    args: &Show,
    session: &LogSession,
    events: &[Event],
    from: From,
    is_running: bool,
    zone: &TimeZone,
) -> Result<(), Failure> {
    let terminal = Terminal::new();
    let colour = terminal.stdout && terminal.colour;
    let part = Part::of(from, args.turns, events)?;
    let mut out = io::stdout().lock();
    out.write_all(about::header(session, events, zone, colour).as_bytes()).map_err(Failure::Output)?;
    let view = View::new(options(args, &terminal));
    let last = Page { view, to: &mut out, zone, colour }.turns(events, part).map_err(Failure::Output)?;
    if is_running && last <= part.last {
        out.write_all(paint(colour, DIM, "\n… still running\n").as_bytes()).map_err(Failure::Output)?;
    }
    if from.is_behind(events) {
        say("all of it happened before that time: this is the last turn");
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
    to: &'a mut dyn io::Write,
    zone: &'a TimeZone,
    colour: bool,
}

impl Page<'_> {
    /// Writes these turns. Gives the number of the last that was looked at.
    ///
    /// The view sees what is before them, too: a prompt may be begun before the turn that it begins, and the view has to
    /// know when that was.
    fn turns(mut self, events: &[Event], part: Part) -> io::Result<u32> {
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
        let mut rest = Output::default();
        self.view.pause(&mut rest);
        if turns.turn_number() >= part.first {
            self.write(&rest)?;
        }
        Ok(turns.turn_number())
    }

    /// What is to be written of an event, below the line of the turn that it begins.
    fn text(&mut self, event: &Event, begins: Option<u32>) -> Output {
        let mut out = Output::default();
        if let Some(number) = begins {
            self.heading(number, event.at, &mut out);
        }
        match &event.body {
            // How it began is said above. A subagent's beginning says nothing about the session.
            EventBody::SessionStarted(_) if event.thread.is_none() => self.view.event(event, &mut Output::default()),
            EventBody::SessionStarted(_) => {}
            // How it ended is a matter of who reads the log.
            EventBody::SessionEnded(_) => {}
            _ => self.view.event(event, &mut out),
        }
        out
    }

    /// The line above a turn.
    fn heading(&mut self, number: u32, at: Timestamp, out: &mut Output) {
        let line = format!("── turn {number} · {} ──", clean::line(&format_minute(at, self.zone)));
        self.view.aside(&format!("\n{}\n", paint(self.colour, DIM, &line)), out);
    }

    fn write(&mut self, out: &Output) -> io::Result<()> {
        out.pieces().try_for_each(|(_, text)| self.to.write_all(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use switchboard_event::Event;
    use switchboard_testkit::{play, recording::load_recordings};

    use super::{Options, Page, Part, Screen, View};

    fn shown(events: &[Event], part: Part) -> (String, u32) {
        let options = Options { screen: Screen::Both, first_prompt: true, stream: false, ..Options::piped() };
        let mut text = Vec::new();
        let page = Page { view: View::new(options), to: &mut text, zone: &TimeZone::UTC, colour: false };
        let last = page.turns(events, part).unwrap();
        (String::from_utf8(text).unwrap(), last)
    }

    #[test]
    fn a_turn_alone_looks_as_it_does_among_all() {
        let mut turns = 0;
        for recording in load_recordings().unwrap().into_iter().filter(|recording| recording.log.is_some()) {
            let events = play::stream_events(recording.source, &recording.bytes);
            let (all, last) = shown(&events, Part { first: 0, last: u32::MAX });
            let begins = |number: u32| all.find(&format!("\n── turn {number} · ")).unwrap_or(all.len());
            for number in 1..=last {
                let (alone, _) = shown(&events, Part { first: number, last: number });
                assert_eq!(Some(&*alone), all.get(begins(number)..begins(number + 1)), "{recording}: turn {number}");
                assert!(alone.contains("\n> "), "{recording}: turn {number} without its prompt: {alone}");
            }
            turns += last;
        }
        assert!(turns > 50, "{turns}");
    }
}
