//! The prompts of an editor that still need an answer, in order, and the turns that answer them.

use std::collections::VecDeque;

use switchboard_event::{Fault, Origin, TurnCompleted, TurnStarted, Usage};
use tokio::sync::oneshot;

pub enum PromptOutcome {
    Turn(Box<TurnCompleted>, Box<Usage>),
    /// The agent ended before there was a turn.
    Lost(Option<Fault>),
}

struct EditorPrompt {
    number: u64,
    text: String,
    cancelled: bool,
    stage: PromptStage,
    outcome: Option<oneshot::Sender<PromptOutcome>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PromptStage {
    /// Earlier prompts come first.
    Waiting,
    /// It is being sent to the agent.
    Sending,
    /// The agent accepted it in this run.
    Accepted(u32),
    /// This turn works on it.
    Turn(u32),
}

/// All prompts that still need an answer. The first is the one that the agent has.
#[derive(Default)]
pub struct EditorPrompts {
    queue: VecDeque<EditorPrompt>,
    next: u64,
    /// The current turn, started by any client.
    pub turn: Option<u32>,
    /// The last run that ended, and its error.
    last_ended: Option<(u32, Option<Fault>)>,
}

impl EditorPrompts {
    pub fn add(&mut self, text: &str) -> u64 {
        self.next += 1;
        let prompt = EditorPrompt {
            number: self.next,
            text: text.trim().to_owned(),
            cancelled: false,
            stage: PromptStage::Waiting,
            outcome: None,
        };
        self.queue.push_back(prompt);
        self.next
    }

    /// Starts to send a prompt to the agent; `None` if it was cancelled.
    pub fn start_sending(&mut self, number: u64) -> Option<oneshot::Receiver<PromptOutcome>> {
        let prompt = self.find(number).filter(|prompt| !prompt.cancelled)?;
        let (sender, receiver) = oneshot::channel();
        (prompt.stage, prompt.outcome) = (PromptStage::Sending, Some(sender));
        Some(receiver)
    }

    /// Marks a prompt as accepted by the agent. With `steered`, it joined the current turn.
    pub fn mark_accepted(&mut self, number: u64, run: u32, steered: bool) {
        let turn = self.turn.filter(|_| steered);
        let ended = self.last_ended.clone().filter(|(ended, _)| *ended >= run);
        let Some(prompt) = self.find(number).filter(|prompt| prompt.stage == PromptStage::Sending) else { return };
        prompt.stage = turn.map_or(PromptStage::Accepted(run), PromptStage::Turn);
        if let (PromptStage::Accepted(_), Some((_, fault))) = (prompt.stage, ended) {
            prompt.end(PromptOutcome::Lost(fault));
        }
    }

    pub fn remove(&mut self, number: u64) {
        self.queue.retain(|prompt| prompt.number != number);
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub fn is_cancelled(&self, number: u64) -> bool {
        self.queue.iter().any(|prompt| prompt.number == number && prompt.cancelled)
    }

    pub fn is_without_turn(&self, number: u64) -> bool {
        let turn = |prompt: &EditorPrompt| matches!(prompt.stage, PromptStage::Turn(_));
        self.queue.iter().any(|prompt| prompt.number == number && !turn(prompt))
    }

    /// Cancels all prompts. Returns whether the agent has one.
    pub fn cancel(&mut self) -> bool {
        self.queue.iter_mut().for_each(|prompt| prompt.cancelled = true);
        self.queue.iter().any(|prompt| prompt.stage != PromptStage::Waiting)
    }

    /// Cancels one prompt. Returns whether the agent never had it; it is removed then.
    pub fn withdraw(&mut self, number: u64) -> bool {
        let Some(prompt) = self.find(number) else { return true };
        prompt.cancelled = true;
        let was_waiting = prompt.stage == PromptStage::Waiting;
        if was_waiting {
            self.remove(number);
        }
        was_waiting
    }

    /// Assigns a turn to its prompt. Returns whether the turn must be stopped, because the prompt was cancelled.
    pub fn turn_started(&mut self, turn: u32, started: &TurnStarted) -> bool {
        self.turn = Some(turn);
        let text = started.prompt.as_deref().map(str::trim);
        let is_with_agent =
            |prompt: &&mut EditorPrompt| matches!(prompt.stage, PromptStage::Sending | PromptStage::Accepted(_));
        let Some(prompt) = self.queue.front_mut().filter(is_with_agent) else { return false };
        // Some agents add text to a prompt, or omit some.
        let is_own = text.is_none_or(|text| text.contains(&prompt.text) || prompt.text.contains(text));
        if started.origin == Origin::Background || !is_own {
            return false;
        }
        prompt.stage = PromptStage::Turn(turn);
        prompt.cancelled
    }

    /// Returns whether a text is part of the prompt of this turn, which the editor shows already.
    pub fn is_own_text(&self, turn: Option<u32>, text: &str) -> bool {
        let text = text.trim();
        let matches = |prompt: &EditorPrompt| prompt.text.contains(text) || text.contains(&prompt.text);
        self.queue.front().is_some_and(|prompt| turn.map(PromptStage::Turn) == Some(prompt.stage) && matches(prompt))
    }

    pub fn turn_completed(&mut self, turn: u32, completed: &TurnCompleted, usage: &Usage) {
        self.turn = None;
        for prompt in self.queue.iter_mut().filter(|prompt| prompt.stage == PromptStage::Turn(turn)) {
            prompt.end(PromptOutcome::Turn(Box::new(completed.clone()), Box::new(usage.clone())));
        }
    }

    pub fn run_ended(&mut self, run: u32, fault: Option<&Fault>) {
        self.turn = None;
        self.last_ended = Some((run, fault.cloned()));
        for prompt in &mut self.queue {
            if matches!(prompt.stage, PromptStage::Accepted(accepted) if accepted <= run)
                || matches!(prompt.stage, PromptStage::Turn(_))
            {
                prompt.end(PromptOutcome::Lost(fault.cloned()));
            }
        }
    }

    fn find(&mut self, number: u64) -> Option<&mut EditorPrompt> {
        self.queue.iter_mut().find(|prompt| prompt.number == number)
    }
}

impl EditorPrompt {
    fn end(&mut self, outcome: PromptOutcome) {
        if let Some(sender) = self.outcome.take() {
            // The request may have been dropped.
            drop(sender.send(outcome));
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_event::{Fault, Origin, TurnCompleted, TurnStarted, Usage};

    use super::{EditorPrompts, PromptOutcome};

    fn started(prompt: Option<&str>) -> TurnStarted {
        TurnStarted { prompt: prompt.map(str::to_owned), ..TurnStarted::default() }
    }

    #[test]
    fn a_prompt_ends_with_its_own_turn() {
        let mut prompts = EditorPrompts::default();
        let number = prompts.add("do it ");
        let mut outcome = prompts.start_sending(number).unwrap();
        assert!(!prompts.turn_started(3, &started(Some("another's"))));
        assert!(!prompts.turn_started(4, &TurnStarted { origin: Origin::Background, ..TurnStarted::default() }));
        prompts.turn_completed(4, &TurnCompleted::default(), &Usage::default());
        prompts.mark_accepted(number, 1, false);
        assert!(!prompts.turn_started(5, &started(Some("do it"))));
        assert!(prompts.is_own_text(Some(5), "do it") && !prompts.is_own_text(Some(4), "do it"));
        assert!(outcome.try_recv().is_err());
        prompts.turn_completed(5, &TurnCompleted::default(), &Usage::default());
        assert!(matches!(outcome.try_recv(), Ok(PromptOutcome::Turn(..))));
    }

    #[test]
    fn a_prompt_that_is_cancelled_before_its_turn_stops_the_turn() {
        let mut prompts = EditorPrompts::default();
        let (first, second) = (prompts.add("one"), prompts.add("two"));
        let _outcome = prompts.start_sending(first).unwrap();
        assert!(prompts.cancel(), "the agent has one");
        assert!(prompts.turn_started(1, &started(None)), "it is stopped");
        assert!(prompts.start_sending(second).is_none(), "it is not even given");
    }

    #[test]
    fn one_prompt_is_withdrawn_and_the_others_stay() {
        let mut prompts = EditorPrompts::default();
        let (first, second, third) = (prompts.add("one"), prompts.add("two"), prompts.add("three"));
        let _outcome = prompts.start_sending(first).unwrap();
        assert!(prompts.withdraw(second) && prompts.start_sending(second).is_none(), "it only waited");
        assert!(!prompts.withdraw(first) && prompts.is_cancelled(first), "the agent has it");
        prompts.remove(first);
        assert!(prompts.start_sending(third).is_some());
    }

    #[test]
    fn a_run_that_ends_loses_its_prompt() {
        for late in [false, true] {
            let mut prompts = EditorPrompts::default();
            let number = prompts.add("do it");
            let mut outcome = prompts.start_sending(number).unwrap();
            prompts.run_ended(1, None);
            assert!(outcome.try_recv().is_err(), "that run never had it");
            if late {
                prompts.run_ended(2, Some(&Fault::default()));
                prompts.mark_accepted(number, 2, false);
            } else {
                prompts.mark_accepted(number, 2, false);
                prompts.run_ended(2, Some(&Fault::default()));
            }
            assert!(matches!(outcome.try_recv(), Ok(PromptOutcome::Lost(Some(_)))));
        }
    }

    #[test]
    fn a_prompt_may_join_the_turn_that_runs() {
        let mut prompts = EditorPrompts::default();
        prompts.turn_started(1, &started(Some("another's")));
        let number = prompts.add("and this");
        let mut outcome = prompts.start_sending(number).unwrap();
        prompts.mark_accepted(number, 1, true);
        prompts.turn_completed(1, &TurnCompleted::default(), &Usage::default());
        assert!(matches!(outcome.try_recv(), Ok(PromptOutcome::Turn(..))));
    }
}
