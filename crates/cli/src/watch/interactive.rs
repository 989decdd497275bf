//! A session for a person: shown as it happens, with requests asked about in place.

use std::{collections::HashSet, io, ops::ControlFlow, time::Duration};

use switchboard_event::{Event, Id, SessionState};
use tokio::time::{Instant, interval};

use super::{EventSource, SessionControl, WatchEnd, WatchedEvents};
use crate::{
    failure::Failure,
    signals::StopSignals,
    terminal::{Keyboard, Terminal},
    view::{OutputSink, PromptStep, RequestPrompt, ScreenLayout, TranscriptView, ViewOptions, ViewOutput},
};

const STATUS_INTERVAL: Duration = Duration::from_millis(100);

/// What is shown of a session.
#[derive(Clone, Debug, Default)]
pub struct DisplaySettings {
    pub reasoning: bool,
    /// Show only the last message, at the end.
    pub last_message: bool,
    /// Show the first prompt, for users who did not just type it.
    pub first_prompt: bool,
    /// The start of the run, if the session is shown from its middle.
    pub opening: Option<Event>,
}

pub async fn show_session(
    source: &mut impl EventSource,
    control: &impl SessionControl,
    settings: &DisplaySettings,
    terminal: &Terminal,
    signals: &mut StopSignals,
) -> Result<WatchEnd, Failure> {
    let mut watcher = InteractiveWatcher::new(control, settings.options(terminal), terminal);
    settings.opening.iter().for_each(|event| watcher.view.event(event, &mut watcher.out));
    let mut tick = interval(STATUS_INTERVAL);
    loop {
        tokio::select! {
            events = source.next_events() => match events? {
                Some(events) => watcher.show_events(&events, source.is_behind())?,
                None => return watcher.finish(WatchEnd::ToItsEnd),
            },
            Some(line) = watcher.next_line() => watcher.handle_line(line).await?,
            signal = signals.next() => match control.stop(signal).await {
                ControlFlow::Continue(()) => watcher.pause()?,
                ControlFlow::Break(()) => return watcher.finish(WatchEnd::Left),
            },
            _ = tick.tick() => watcher.tick()?,
        }
    }
}

impl DisplaySettings {
    pub fn options(&self, terminal: &Terminal) -> ViewOptions {
        let screen = match (terminal.stdout, terminal.stderr) {
            (true, _) => ScreenLayout::Both,
            (false, true) => ScreenLayout::Activity,
            (false, false) => ScreenLayout::None,
        };
        let shown =
            if screen == ScreenLayout::None { ViewOptions::piped() } else { ViewOptions::terminal(terminal.width()) };
        ViewOptions {
            screen,
            color: terminal.color && screen != ScreenLayout::None,
            reasoning: self.reasoning,
            stream: terminal.stdout,
            quiet: self.last_message,
            last_message: self.last_message,
            first_prompt: self.first_prompt,
            ..shown
        }
    }
}

struct InteractiveWatcher<'a, S> {
    control: &'a S,
    options: ViewOptions,
    view: TranscriptView,
    out: ViewOutput,
    began: Instant,
    state: SessionState,
    answered: HashSet<Id>,
    /// The request in question.
    asking: Option<(Id, RequestPrompt)>,
    terminal: &'a Terminal,
    /// The terminal input, opened with the first question.
    keyboard: Option<Keyboard>,
}

impl<'a, S: SessionControl> InteractiveWatcher<'a, S> {
    fn new(control: &'a S, options: ViewOptions, terminal: &'a Terminal) -> Self {
        Self {
            control,
            options,
            view: TranscriptView::new(options),
            out: ViewOutput::default(),
            began: Instant::now(),
            state: SessionState::default(),
            answered: HashSet::new(),
            asking: None,
            terminal,
            keyboard: None,
        }
    }

    fn show_events(&mut self, events: &WatchedEvents, is_behind: bool) -> Result<(), Failure> {
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

    /// Asks about the next request. An unanswered question is repeated below what was shown since.
    fn ask(&mut self) -> Result<(), Failure> {
        let open = self.state.requests.iter().find(|open| !self.answered.contains(&open.request));
        let Some(request) = open.filter(|_| self.terminal.can_ask()) else { return Ok(()) };
        let text = match &self.asking {
            Some((_, asking)) => asking.prompt(),
            None => {
                let asking = RequestPrompt::new(request, self.control.abilities(), &self.options);
                let text = asking.prompt_text();
                self.terminal.set_echo(!asking.is_secret());
                self.asking = Some((request.request.clone(), asking));
                self.keyboard.get_or_insert_with(Keyboard::new).discard_typed(self.terminal);
                text
            }
        };
        self.ask_for_line(&text)
    }

    /// Shows a question and waits for a line.
    fn ask_for_line(&mut self, text: &str) -> Result<(), Failure> {
        self.view.aside(text, &mut self.out);
        if let Some(keyboard) = &mut self.keyboard {
            keyboard.request_line();
        }
        self.flush()
    }

    fn stop_asking(&mut self) {
        if self.asking.take().is_some() {
            self.terminal.set_echo(true);
        }
    }

    /// Returns the next typed line; pending while no question is open.
    async fn next_line(&mut self) -> Option<Option<String>> {
        match &mut self.keyboard {
            Some(keyboard) if self.asking.is_some() => Some(keyboard.next_line().await),
            _ => std::future::pending().await,
        }
    }

    async fn handle_line(&mut self, line: Option<String>) -> Result<(), Failure> {
        let Some((request, asking)) = &mut self.asking else { return Ok(()) };
        // After Ctrl-D and a hidden line, the cursor has not moved.
        if line.is_some() && !asking.is_secret() {
            self.view.entered();
        }
        let answer = match line {
            None => asking.closed(),
            Some(line) => match asking.line(&line) {
                PromptStep::Done(answer) => answer,
                PromptStep::Again(message) => {
                    let text = format!("{message}{}", asking.prompt());
                    self.terminal.set_echo(!asking.is_secret());
                    return self.ask_for_line(&text);
                }
            },
        };
        self.terminal.set_echo(true);
        self.answered.insert(request.clone());
        self.asking = None;
        if let Err(error) = self.control.answer(answer).await {
            self.view.aside(&format!("{error}\n"), &mut self.out);
        }
        self.flush()?;
        self.ask()
    }

    fn pause(&mut self) -> Result<(), Failure> {
        self.view.pause(&mut self.out);
        self.flush()
    }

    fn tick(&mut self) -> Result<(), Failure> {
        if self.asking.is_some() || self.options.screen == ScreenLayout::None {
            return Ok(());
        }
        self.view.resize(self.terminal.width());
        self.view.draw_status(self.began.elapsed(), &mut self.out);
        self.flush()
    }

    fn finish(&mut self, why: WatchEnd) -> Result<WatchEnd, Failure> {
        self.terminal.set_echo(true);
        self.view.pause(&mut self.out);
        self.flush().map(|()| why)
    }

    /// On a terminal both sinks are the same stream, so that the order is kept.
    fn flush(&mut self) -> Result<(), Failure> {
        let written = self.out.pieces().try_for_each(|(sink, text)| match (sink, self.options.screen) {
            (OutputSink::Answer, _) | (_, ScreenLayout::Both) => write_and_flush(&mut io::stdout().lock(), text),
            (OutputSink::Activity, _) => write_and_flush(&mut io::stderr().lock(), text),
        });
        self.out.clear();
        written.map_err(Failure::Output)
    }
}

fn write_and_flush(to: &mut impl io::Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}
