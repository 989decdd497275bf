//! A session for a person: shown as it goes, and asked about in place.

use std::{collections::HashSet, io, ops::ControlFlow, time::Duration};

use switchboard_engine::{EventSlice, Follower};
use switchboard_event::{Event, Id, SessionState};
use tokio::time::{Instant, interval};

use super::{Signals, Steer, Watched};
use crate::{
    failure::Failure,
    terminal::{Keyboard, Terminal},
    view::{Asking, Options, Output, Screen, Sink, Step, View},
};

/// How often the status line moves.
const TICK: Duration = Duration::from_millis(100);

/// What of a session is shown.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// What the agent thinks.
    pub reasoning: bool,
    /// Only the last message, at the end.
    pub last_message: bool,
    /// Also the first prompt, for users who did not just type it.
    pub first_prompt: bool,
    /// How the run began, if it is shown from its middle.
    pub opening: Option<Event>,
}

/// Shows the session to its end.
pub async fn follow(
    follower: &mut Follower,
    steer: &impl Steer,
    look: &Look,
    terminal: &Terminal,
    signals: &mut Signals,
) -> Result<Watched, Failure> {
    let mut person = Person::new(steer, look.options(terminal), terminal);
    look.opening.iter().for_each(|event| person.view.event(event, &mut person.out));
    let mut tick = interval(TICK);
    loop {
        tokio::select! {
            events = follower.next() => match events? {
                // What is asked in a part of the past may have been answered since.
                Some(events) => person.see(&events, follower.position() < follower.last_seq())?,
                None => return person.leave(Watched::ToItsEnd),
            },
            Some(line) = person.typed() => person.heard(line).await?,
            asked = signals.next() => match steer.stop(asked).await {
                ControlFlow::Continue(()) => person.interrupted()?,
                ControlFlow::Break(()) => return person.leave(Watched::Left),
            },
            _ = tick.tick() => person.tick()?,
        }
    }
}

impl Look {
    /// How that looks on a terminal, or where there is none.
    pub fn options(&self, terminal: &Terminal) -> Options {
        let screen = match (terminal.stdout, terminal.stderr) {
            (true, _) => Screen::Both,
            (false, true) => Screen::Activity,
            (false, false) => Screen::None,
        };
        let shown = if screen == Screen::None { Options::piped() } else { Options::terminal(terminal.width()) };
        Options {
            screen,
            colour: terminal.colour && screen != Screen::None,
            reasoning: self.reasoning,
            stream: terminal.stdout,
            quiet: self.last_message,
            last_message: self.last_message,
            first_prompt: self.first_prompt,
            ..shown
        }
    }
}

/// The state of a session view on a terminal or in a pipe.
struct Person<'a, S> {
    steer: &'a S,
    options: Options,
    view: View,
    out: Output,
    began: Instant,
    state: SessionState,
    /// The requests that were answered here.
    answered: HashSet<Id>,
    /// The request that is being asked about.
    asking: Option<(Id, Asking)>,
    terminal: &'a Terminal,
    /// The terminal input, opened with the first question.
    keyboard: Option<Keyboard>,
}

impl<'a, S: Steer> Person<'a, S> {
    fn new(steer: &'a S, options: Options, terminal: &'a Terminal) -> Self {
        Self {
            steer,
            options,
            view: View::new(options),
            out: Output::default(),
            began: Instant::now(),
            state: SessionState::default(),
            answered: HashSet::new(),
            asking: None,
            terminal,
            keyboard: None,
        }
    }

    fn see(&mut self, events: &EventSlice, is_behind: bool) -> Result<(), Failure> {
        events.for_each(|event| {
            self.state.apply(event);
            self.view.event(event, &mut self.out);
        })?;
        if self.asking.as_ref().is_some_and(|(request, _)| !self.state.is_open(request)) {
            self.stop_asking();
        }
        let is_hidden = self.asking.is_none() || !self.out.is_empty();
        self.flush()?;
        if is_hidden && !is_behind { self.ask() } else { Ok(()) }
    }

    /// Asks about the next request. What was being asked is asked again below whatever was shown since.
    fn ask(&mut self) -> Result<(), Failure> {
        let open = self.state.requests.iter().find(|open| !self.answered.contains(&open.request));
        let Some(request) = open.filter(|_| self.terminal.can_ask()) else { return Ok(()) };
        let text = match &self.asking {
            Some((_, asking)) => asking.prompt(),
            None => {
                let asking = Asking::new(request, self.steer.abilities(), &self.options);
                let text = asking.prompt_text();
                self.terminal.echo(!asking.is_secret());
                self.asking = Some((request.request.clone(), asking));
                self.keyboard.get_or_insert_with(Keyboard::new).forget(self.terminal);
                text
            }
        };
        self.expect(&text)
    }

    /// Shows what is asked, and waits for a line.
    fn expect(&mut self, text: &str) -> Result<(), Failure> {
        self.view.aside(text, &mut self.out);
        if let Some(keyboard) = &mut self.keyboard {
            keyboard.want();
        }
        self.flush()
    }

    fn stop_asking(&mut self) {
        if self.asking.take().is_some() {
            self.terminal.echo(true);
        }
    }

    /// Returns the next typed line; pending while no question is open.
    async fn typed(&mut self) -> Option<Option<String>> {
        match &mut self.keyboard {
            Some(keyboard) if self.asking.is_some() => Some(keyboard.line().await),
            _ => std::future::pending().await,
        }
    }

    async fn heard(&mut self, line: Option<String>) -> Result<(), Failure> {
        let Some((request, asking)) = &mut self.asking else { return Ok(()) };
        // Ctrl-D and a line that was not seen leave the cursor where it was.
        if line.is_some() && !asking.is_secret() {
            self.view.entered();
        }
        let answer = match line {
            None => asking.closed(),
            Some(line) => match asking.line(&line) {
                Step::Done(answer) => answer,
                Step::Again(message) => {
                    let text = format!("{message}{}", asking.prompt());
                    self.terminal.echo(!asking.is_secret());
                    return self.expect(&text);
                }
            },
        };
        self.terminal.echo(true);
        self.answered.insert(request.clone());
        self.asking = None;
        if let Err(error) = self.steer.answer(answer).await {
            self.view.aside(&format!("{error}\n"), &mut self.out);
        }
        self.flush()?;
        self.ask()
    }

    fn interrupted(&mut self) -> Result<(), Failure> {
        self.view.pause(&mut self.out);
        self.flush()
    }

    fn tick(&mut self) -> Result<(), Failure> {
        if self.asking.is_some() || self.options.screen == Screen::None {
            return Ok(());
        }
        self.view.resize(self.terminal.width());
        self.view.draw_status(self.began.elapsed(), &mut self.out);
        self.flush()
    }

    fn leave(&mut self, why: Watched) -> Result<Watched, Failure> {
        self.terminal.echo(true);
        self.view.pause(&mut self.out);
        self.flush().map(|()| why)
    }

    /// On a terminal all goes to the same place, so that it stays in order.
    fn flush(&mut self) -> Result<(), Failure> {
        let written = self.out.pieces().try_for_each(|(sink, text)| match (sink, self.options.screen) {
            (Sink::Answer, _) | (_, Screen::Both) => write(&mut io::stdout().lock(), text),
            (Sink::Activity, _) => write(&mut io::stderr().lock(), text),
        });
        self.out.clear();
        written.map_err(Failure::Output)
    }
}

fn write(to: &mut impl io::Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}
