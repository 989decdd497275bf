//! Runs and turns: what runs, what was asked, and at the end one line with what it took.

use std::collections::HashSet;

use switchboard_event::{
    EndReason, ErrorCode, Event, Id, SessionEnded, SessionStarted, SessionUpdated, Stop, Timestamp, TurnCompleted,
    TurnStarted, TurnStatus, Usage, UserMessage,
};

use super::{
    TranscriptView,
    figures::{format_dollars, format_duration, format_tokens},
    renderer::{BlockKind, OutputSink},
    sanitize::TextSanitizer,
    style::{BOLD, CYAN, DIM, PLAIN, RED, YELLOW},
};

/// Lines shown at the beginning and at the end of a prompt.
const PROMPT_LINES: (usize, usize) = (6, 2);

#[derive(Debug, Default)]
pub struct TurnState {
    /// The number of turns so far.
    count: u64,
    began: Option<Timestamp>,
    /// The prompt, if it is known.
    prompt: Option<String>,
    usage: Usage,
    /// The agent's running total, if it reports no amounts to add.
    total: Option<Usage>,
    tokens: u64,
    /// Problems that were shown.
    reported: HashSet<String>,
    /// The turn did not succeed, and that was shown.
    was_reported: bool,
    is_over: bool,
}

impl TurnState {
    pub fn used(&mut self, usage: &Usage) {
        if usage.cumulative {
            self.total = Some(usage.clone());
        } else {
            self.usage.add(usage);
            self.tokens = self.tokens.saturating_add(usage.all_input()).saturating_add(usage.output);
        }
    }

    /// Returns the tokens of the session so far.
    pub fn tokens(&self) -> u64 {
        let total = self.total.as_ref().map_or(0, |total| total.all_input().saturating_add(total.output));
        self.tokens.max(total)
    }

    /// Returns whether a problem was not yet shown in this turn.
    pub fn report_once(&mut self, problem: &str) -> bool {
        self.reported.insert(problem.trim().to_owned())
    }

    /// Returns whether it was shown that the turn did not succeed.
    pub fn was_reported(&self) -> bool {
        self.was_reported
    }

    pub fn has_begun(&self) -> bool {
        self.count > 0
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn begin(&mut self, event: &Event, turn: &TurnStarted) {
        self.count += 1;
        (self.began, self.prompt) = (Some(event.at), turn.prompt.clone());
        (self.usage, self.total) = (Usage::default(), None);
        (self.reported, self.was_reported, self.is_over) = (HashSet::new(), false, false);
    }
}

impl TranscriptView {
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

    /// Shows a message of the user. The prompt of the turn was already shown.
    pub(super) fn user_said(&mut self, event: &Event, message: &UserMessage) {
        let text = message.joined_text();
        if message.synthetic || event.thread.is_some() || text.trim().is_empty() {
            return;
        }
        match &self.turn.prompt {
            Some(prompt) if *prompt == text => {}
            // The first message of a turn is its prompt, even if the turn did not name one.
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
        self.turn.count > 1 || self.renderer.options.first_prompt
    }

    fn show_prompt(&mut self, event: &Event, text: &str) {
        self.begin(event, BlockKind::Prompt);
        let folded = self.fold(text, PROMPT_LINES.0, PROMPT_LINES.1);
        for (number, line) in folded.head.iter().enumerate() {
            self.renderer.rows(0, 3, &[(CYAN, if number == 0 { "> " } else { "  " }), (BOLD, line)]);
        }
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.renderer.rows(2, 3, &[(BOLD, line)]));
    }

    pub(super) fn turn_completed(&mut self, event: &Event, turn: &TurnCompleted) {
        if event.thread.is_some() {
            return;
        }
        self.show_result_text(turn);
        // An interruption is reported below.
        if let Some(fault) = turn.error.as_ref().filter(|fault| fault.code != ErrorCode::Aborted) {
            self.problem(event, fault);
            self.advise(fault.code);
        }
        let (word, why) = (failure_word(turn.status), stop_reason(turn));
        (self.turn.was_reported, self.turn.is_over) = (word.is_some(), true);
        let is_fine = word.is_none() && why.is_none();
        let figures = self.figures(event, turn);
        if is_fine && (self.renderer.options.quiet || figures.is_empty()) {
            return;
        }
        self.begin(event, BlockKind::End);
        let said: Vec<&str> = [word, why].into_iter().flatten().collect();
        let between = if said.is_empty() || figures.is_empty() { "" } else { " · " };
        self.renderer.line(0, &[(DIM, "— "), (YELLOW, &said.join(": ")), (DIM, between), (DIM, &figures)]);
    }

    /// Shows a result that differs from the last message.
    fn show_result_text(&mut self, turn: &TurnCompleted) {
        let Some(result) = turn.result.as_deref().filter(|_| !self.last.is_repeated()) else { return };
        if !self.renderer.options.last_message {
            let id = Id::from("result");
            self.renderer.write_message(&id, &TextSanitizer::whole(result));
            self.renderer.finish(&id, OutputSink::Answer);
        }
    }

    /// Returns tokens, cost and time of a turn.
    fn figures(&self, event: &Event, turn: &TurnCompleted) -> String {
        let usage = if self.turn.usage.is_zero() { self.turn.total.as_ref() } else { Some(&self.turn.usage) };
        let mut figures = Vec::new();
        if let Some(usage) = usage.filter(|usage| !usage.is_zero()) {
            let cached = if usage.cache_read == 0 {
                String::new()
            } else {
                format!(" ({} cached)", format_tokens(usage.cache_read))
            };
            figures.push(format!("{} in{cached}", format_tokens(usage.all_input())));
            figures.push(format!("{} out", format_tokens(usage.output)));
        }
        let cost = turn.cost_usd.or(self.turn.usage.cost_usd).filter(|cost| *cost > 0.0);
        figures.extend(cost.map(format_dollars));
        let took = turn.duration_ms.or_else(|| self.turn.began.map(|began| event.at.millis_since(began)));
        figures.extend(took.filter(|millis| *millis > 0).map(format_duration));
        figures.join(" · ")
    }
}

fn failure_word(status: TurnStatus) -> Option<&'static str> {
    match status {
        TurnStatus::Completed => None,
        TurnStatus::Failed => Some("failed"),
        TurnStatus::Interrupted => Some("interrupted"),
    }
}

/// Returns why the model stopped, unless it simply finished.
fn stop_reason(turn: &TurnCompleted) -> Option<&'static str> {
    match turn.stop {
        Stop::MaxTokens => Some("the reply reached its length limit"),
        Stop::MaxTurns => Some("the turn limit was reached"),
        Stop::Budget => Some("the budget was used up"),
        Stop::Refusal => Some("the model refused"),
        Stop::EndTurn | Stop::Cancelled | Stop::Error => None,
    }
}

impl TranscriptView {
    pub(super) fn session_started(&mut self, event: &Event, started: &SessionStarted) {
        let info = &started.info;
        self.cwd = info.cwd.clone().or_else(|| started.config.working_directory.clone());
        let version = info.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let model = info.model.as_deref().or(started.config.model.as_deref());
        let about: String =
            [model, self.cwd.as_deref()].into_iter().flatten().map(|word| format!(" · {word}")).collect();
        self.begin(event, BlockKind::Note);
        self.renderer.line(0, &[(BOLD, &event.agent), (DIM, &version), (DIM, &about)]);
        // What follows does not belong to this line.
        self.renderer.set_last_block(BlockKind::Prompt);
    }

    pub(super) fn session_updated(&mut self, updated: &SessionUpdated) {
        if updated.info.cwd.is_some() {
            self.cwd.clone_from(&updated.info.cwd);
        }
    }

    pub(super) fn session_ended(&mut self, event: &Event, ended: &SessionEnded) {
        self.show_last_message();
        self.open.clear();
        if let Some(fault) = ended.error.as_ref().filter(|fault| fault.code != ErrorCode::Aborted) {
            self.problem(event, fault);
            self.advise(fault.code);
        }
        let word = match ended.reason {
            EndReason::Completed => None,
            EndReason::Failed => Some((RED, "the session failed")),
            EndReason::Cancelled => Some((YELLOW, "the session was cancelled")),
            EndReason::Timeout => Some((YELLOW, "the session took too long")),
        };
        // The line of the turn has it already, unless there is more to report.
        let adds = !self.turn.was_reported() || ended.exit_code.is_some_and(|code| code != 0) || ended.signal.is_some();
        if let Some((style, word)) = word.filter(|_| adds) {
            self.begin(event, BlockKind::End);
            self.renderer.line(0, &[(DIM, "— "), (style, word), (DIM, &end_details(ended))]);
        }
        if self.renderer.options.resume && !self.renderer.options.quiet {
            self.begin(event, BlockKind::End);
            let command = format!("switchboard run --resume {} \"…\"", event.session);
            self.renderer.line(0, &[(DIM, "  continue with: "), (PLAIN, &command)]);
        }
    }
}

fn end_details(ended: &SessionEnded) -> String {
    let code = ended.exit_code.filter(|code| *code != 0).map(|code| format!("exit code {code}"));
    let signal = ended.signal.map(|signal| format!("signal {signal}"));
    let took = (ended.duration_ms > 0).then(|| format_duration(ended.duration_ms));
    [code, signal, took].into_iter().flatten().map(|word| format!(" · {word}")).collect()
}
