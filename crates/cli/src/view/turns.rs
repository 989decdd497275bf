//! Turns: what was asked, and at the end one line with what it took.

use std::collections::HashSet;

use switchboard_event::{
    ErrorCode, Event, Id, Stop, Timestamp, TurnCompleted, TurnStarted, TurnStatus, Usage, UserMessage,
};

use super::{
    clean::Flow,
    figures::{dollars, duration, tokens},
    output::Sink,
    paper::Block,
    style::{BOLD, CYAN, DIM, YELLOW},
    viewer::View,
};

/// Lines of a prompt that are shown.
const PROMPT: (usize, usize) = (6, 2);

/// What is remembered of a turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// How many began.
    count: u64,
    began: Option<Timestamp>,
    /// What it was begun with, and whether that is known.
    prompt: Option<String>,
    usage: Usage,
    /// A total that the agent gave, in place of figures to add.
    total: Option<Usage>,
    /// Tokens of the whole session.
    tokens: u64,
    /// Problems that were told.
    told: HashSet<String>,
    /// It ended, not well, and that was told.
    is_told: bool,
    is_over: bool,
}

impl Turn {
    /// Adds what a reply used.
    pub fn used(&mut self, usage: &Usage) {
        if usage.cumulative {
            self.total = Some(usage.clone());
        } else {
            self.usage.add(usage);
            self.tokens = self.tokens.saturating_add(usage.all_input()).saturating_add(usage.output);
        }
    }

    /// Tokens of the session so far.
    pub fn tokens(&self) -> u64 {
        let total = self.total.as_ref().map_or(0, |total| total.all_input().saturating_add(total.output));
        self.tokens.max(total)
    }

    /// This is worth telling: it was not told in this turn.
    pub fn tells(&mut self, problem: &str) -> bool {
        self.told.insert(problem.trim().to_owned())
    }

    /// It was told that it did not end well.
    pub fn is_told(&self) -> bool {
        self.is_told
    }

    /// A turn began.
    pub fn has_begun(&self) -> bool {
        self.count > 0
    }

    /// The last turn ended.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn begin(&mut self, event: &Event, turn: &TurnStarted) {
        self.count += 1;
        (self.began, self.prompt) = (Some(event.at), turn.prompt.clone());
        (self.usage, self.total) = (Usage::default(), None);
        (self.told, self.is_told, self.is_over) = (HashSet::new(), false, false);
    }
}

impl View {
    pub(super) fn turn_started(&mut self, event: &Event, turn: &TurnStarted) {
        if event.thread.is_some() {
            return;
        }
        self.turn.begin(event, turn);
        self.requests.forget();
        if let (true, Some(prompt)) = (self.shows_prompt(), &turn.prompt) {
            self.show_prompt(event, prompt);
        }
    }

    /// Something the user said. The prompt of the turn was shown when it began.
    pub(super) fn user_said(&mut self, event: &Event, message: &UserMessage) {
        let text = message.joined_text();
        if message.synthetic || event.thread.is_some() || text.trim().is_empty() {
            return;
        }
        match &self.turn.prompt {
            Some(prompt) if *prompt == text => {}
            // What begins a turn is its prompt, also where the turn did not say so.
            None if !message.queued => {
                self.turn.prompt = Some(text.clone());
                if self.shows_prompt() {
                    self.show_prompt(event, &text);
                }
            }
            _ => self.show_prompt(event, &text),
        }
    }

    /// The first prompt is skipped for the user who has just typed it.
    fn shows_prompt(&self) -> bool {
        self.turn.count > 1 || self.paper.options.first_prompt
    }

    fn show_prompt(&mut self, event: &Event, text: &str) {
        self.begin(event, Block::Prompt);
        let folded = self.fold(text, PROMPT.0, PROMPT.1);
        for (number, line) in folded.head.iter().enumerate() {
            self.paper.rows(0, 3, &[(CYAN, if number == 0 { "> " } else { "  " }), (BOLD, line)]);
        }
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.paper.rows(2, 3, &[(BOLD, line)]));
    }

    pub(super) fn turn_completed(&mut self, event: &Event, turn: &TurnCompleted) {
        if event.thread.is_some() {
            return;
        }
        self.tell_result(turn);
        // An interruption is reported below.
        if let Some(fault) = turn.error.as_ref().filter(|fault| fault.code != ErrorCode::Aborted) {
            self.problem(event, fault);
            self.advise(fault.code);
        }
        let (word, why) = (ending(turn.status), stopping(turn));
        (self.turn.is_told, self.turn.is_over) = (word.is_some(), true);
        let is_fine = word.is_none() && why.is_none();
        let figures = self.figures(event, turn);
        if is_fine && (self.paper.options.quiet || figures.is_empty()) {
            return;
        }
        self.begin(event, Block::End);
        let said: Vec<&str> = [word, why].into_iter().flatten().collect();
        let between = if said.is_empty() || figures.is_empty() { "" } else { " · " };
        self.paper.line(0, &[(DIM, "— "), (YELLOW, &said.join(": ")), (DIM, between), (DIM, &figures)]);
    }

    /// Shows a result that differs from the last message.
    fn tell_result(&mut self, turn: &TurnCompleted) {
        let Some(result) = turn.result.as_deref().filter(|_| !self.last.is_said_twice()) else { return };
        if !self.paper.options.last_message {
            let id = Id::from("result");
            self.paper.say(&id, &Flow::whole(result));
            self.paper.finish(&id, Sink::Answer);
        }
    }

    /// Tokens, cost and time.
    fn figures(&self, event: &Event, turn: &TurnCompleted) -> String {
        let usage = if self.turn.usage.is_zero() { self.turn.total.as_ref() } else { Some(&self.turn.usage) };
        let mut figures = Vec::new();
        if let Some(usage) = usage.filter(|usage| !usage.is_zero()) {
            let cached =
                if usage.cache_read == 0 { String::new() } else { format!(" ({} cached)", tokens(usage.cache_read)) };
            figures.push(format!("{} in{cached}", tokens(usage.all_input())));
            figures.push(format!("{} out", tokens(usage.output)));
        }
        let cost = turn.cost_usd.or(self.turn.usage.cost_usd).filter(|cost| *cost > 0.0);
        figures.extend(cost.map(dollars));
        let took = turn.duration_ms.or_else(|| self.turn.began.map(|began| event.at.millis_since(began)));
        figures.extend(took.filter(|millis| *millis > 0).map(duration));
        figures.join(" · ")
    }
}

fn ending(status: TurnStatus) -> Option<&'static str> {
    match status {
        TurnStatus::Completed => None,
        TurnStatus::Failed => Some("failed"),
        TurnStatus::Interrupted => Some("interrupted"),
    }
}

/// Why the model stopped, where that is not plain.
fn stopping(turn: &TurnCompleted) -> Option<&'static str> {
    match turn.stop {
        Stop::MaxTokens => Some("the reply reached its length limit"),
        Stop::MaxTurns => Some("the turn limit was reached"),
        Stop::Budget => Some("the budget was used up"),
        Stop::Refusal => Some("the model refused"),
        Stop::EndTurn | Stop::Cancelled | Stop::Error => None,
    }
}
