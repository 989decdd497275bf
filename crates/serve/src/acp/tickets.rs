//! The prompts of an editor that are not answered yet, in their order, and which turn answers which.

use std::collections::VecDeque;

use switchboard_event::{Fault, Origin, TurnCompleted, TurnStarted, Usage};
use tokio::sync::oneshot;

/// How a prompt ended.
pub enum Ended {
    /// Its turn ended.
    Turn(Box<TurnCompleted>, Box<Usage>),
    /// The agent ended before there was a turn.
    Lost(Option<Fault>),
}

/// A prompt that is not answered yet.
struct Ticket {
    number: u64,
    text: String,
    cancelled: bool,
    stage: Stage,
    tell: Option<oneshot::Sender<Ended>>,
}

/// How far a prompt got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It waits for those before it.
    Waiting,
    /// The agent is given it.
    Given,
    /// The agent has it, in this run.
    Taken(u32),
    /// This turn works on it.
    Turn(u32),
}

/// All prompts that are not answered yet. The first is the one that the agent has.
#[derive(Default)]
pub struct Tickets {
    queue: VecDeque<Ticket>,
    next: u64,
    /// The turn that runs, whoever began it.
    pub turn: Option<u32>,
    /// The last run that ended, and why.
    ended: Option<(u32, Option<Fault>)>,
}

impl Tickets {
    /// A prompt came in.
    pub fn draw(&mut self, text: &str) -> u64 {
        self.next += 1;
        let ticket = Ticket {
            number: self.next,
            text: text.trim().to_owned(),
            cancelled: false,
            stage: Stage::Waiting,
            tell: None,
        };
        self.queue.push_back(ticket);
        self.next
    }

    /// It is given to the agent. Nothing if it was cancelled before that.
    pub fn give(&mut self, number: u64) -> Option<oneshot::Receiver<Ended>> {
        let ticket = self.find(number).filter(|ticket| !ticket.cancelled)?;
        let (tell, told) = oneshot::channel();
        (ticket.stage, ticket.tell) = (Stage::Given, Some(tell));
        Some(told)
    }

    /// The agent has it, in this run; with `steered` it joined the turn that runs already.
    pub fn taken(&mut self, number: u64, run: u32, steered: bool) {
        let turn = self.turn.filter(|_| steered);
        let ended = self.ended.clone().filter(|(ended, _)| *ended >= run);
        let Some(ticket) = self.find(number).filter(|ticket| ticket.stage == Stage::Given) else { return };
        ticket.stage = turn.map_or(Stage::Taken(run), Stage::Turn);
        if let (Stage::Taken(_), Some((_, fault))) = (ticket.stage, ended) {
            ticket.end(Ended::Lost(fault));
        }
    }

    /// It is answered, or cannot be.
    pub fn put_away(&mut self, number: u64) {
        self.queue.retain(|ticket| ticket.number != number);
    }

    /// Every prompt is answered.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// It was cancelled.
    pub fn is_cancelled(&self, number: u64) -> bool {
        self.queue.iter().any(|ticket| ticket.number == number && ticket.cancelled)
    }

    /// No turn works on it.
    pub fn is_without_turn(&self, number: u64) -> bool {
        let turn = |ticket: &Ticket| matches!(ticket.stage, Stage::Turn(_));
        self.queue.iter().any(|ticket| ticket.number == number && !turn(ticket))
    }

    /// All that wait are cancelled. Says whether the agent has one.
    pub fn cancel(&mut self) -> bool {
        self.queue.iter_mut().for_each(|ticket| ticket.cancelled = true);
        self.queue.iter().any(|ticket| ticket.stage != Stage::Waiting)
    }

    /// One of them is cancelled. True if the agent never had it; then it is put away, too.
    pub fn take_back(&mut self, number: u64) -> bool {
        let Some(ticket) = self.find(number) else { return true };
        ticket.cancelled = true;
        let waited = ticket.stage == Stage::Waiting;
        if waited {
            self.put_away(number);
        }
        waited
    }

    /// A turn began. True if it should not have, because its prompt was cancelled.
    pub fn turn_started(&mut self, turn: u32, started: &TurnStarted) -> bool {
        self.turn = Some(turn);
        let said = started.prompt.as_deref().map(str::trim);
        let asked = |ticket: &&mut Ticket| matches!(ticket.stage, Stage::Given | Stage::Taken(_));
        let Some(ticket) = self.queue.front_mut().filter(asked) else { return false };
        // Some agents add to a prompt, or leave something out.
        let ours = said.is_none_or(|said| said.contains(&ticket.text) || ticket.text.contains(said));
        if started.origin == Origin::Background || !ours {
            return false;
        }
        ticket.stage = Stage::Turn(turn);
        ticket.cancelled
    }

    /// The words are those of the prompt that this turn works on: the editor shows them already.
    pub fn is_own(&self, turn: Option<u32>, said: &str) -> bool {
        let said = said.trim();
        let own = |ticket: &Ticket| ticket.text.contains(said) || said.contains(&ticket.text);
        self.queue.front().is_some_and(|ticket| turn.map(Stage::Turn) == Some(ticket.stage) && own(ticket))
    }

    /// A turn ended.
    pub fn turn_completed(&mut self, turn: u32, completed: &TurnCompleted, usage: &Usage) {
        self.turn = None;
        for ticket in self.queue.iter_mut().filter(|ticket| ticket.stage == Stage::Turn(turn)) {
            ticket.end(Ended::Turn(Box::new(completed.clone()), Box::new(usage.clone())));
        }
    }

    /// A run of the agent ended.
    pub fn run_ended(&mut self, run: u32, fault: Option<&Fault>) {
        self.turn = None;
        self.ended = Some((run, fault.cloned()));
        for ticket in &mut self.queue {
            if matches!(ticket.stage, Stage::Taken(taken) if taken <= run) || matches!(ticket.stage, Stage::Turn(_)) {
                ticket.end(Ended::Lost(fault.cloned()));
            }
        }
    }

    fn find(&mut self, number: u64) -> Option<&mut Ticket> {
        self.queue.iter_mut().find(|ticket| ticket.number == number)
    }
}

impl Ticket {
    fn end(&mut self, ended: Ended) {
        if let Some(tell) = self.tell.take() {
            // Whoever asked may be gone.
            drop(tell.send(ended));
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_event::{Fault, Origin, TurnCompleted, TurnStarted, Usage};

    use super::{Ended, Tickets};

    fn started(prompt: Option<&str>) -> TurnStarted {
        TurnStarted { prompt: prompt.map(str::to_owned), ..TurnStarted::default() }
    }

    #[test]
    fn a_prompt_ends_with_its_own_turn() {
        let mut tickets = Tickets::default();
        let number = tickets.draw("do it ");
        let mut told = tickets.give(number).unwrap();
        assert!(!tickets.turn_started(3, &started(Some("another's"))));
        assert!(!tickets.turn_started(4, &TurnStarted { origin: Origin::Background, ..TurnStarted::default() }));
        tickets.turn_completed(4, &TurnCompleted::default(), &Usage::default());
        tickets.taken(number, 1, false);
        assert!(!tickets.turn_started(5, &started(Some("do it"))));
        assert!(tickets.is_own(Some(5), "do it") && !tickets.is_own(Some(4), "do it"));
        assert!(told.try_recv().is_err());
        tickets.turn_completed(5, &TurnCompleted::default(), &Usage::default());
        assert!(matches!(told.try_recv(), Ok(Ended::Turn(..))));
    }

    #[test]
    fn a_prompt_that_is_cancelled_before_its_turn_stops_the_turn() {
        let mut tickets = Tickets::default();
        let (first, second) = (tickets.draw("one"), tickets.draw("two"));
        let _told = tickets.give(first).unwrap();
        assert!(tickets.cancel(), "the agent has one");
        assert!(tickets.turn_started(1, &started(None)), "it is stopped");
        assert!(tickets.give(second).is_none(), "it is not even given");
    }

    #[test]
    fn one_prompt_is_taken_back_and_the_others_stay() {
        let mut tickets = Tickets::default();
        let (first, second, third) = (tickets.draw("one"), tickets.draw("two"), tickets.draw("three"));
        let _told = tickets.give(first).unwrap();
        assert!(tickets.take_back(second) && tickets.give(second).is_none(), "it only waited");
        assert!(!tickets.take_back(first) && tickets.is_cancelled(first), "the agent has it");
        tickets.put_away(first);
        assert!(tickets.give(third).is_some());
    }

    #[test]
    fn a_run_that_ends_takes_its_prompt_with_it() {
        for late in [false, true] {
            let mut tickets = Tickets::default();
            let number = tickets.draw("do it");
            let mut told = tickets.give(number).unwrap();
            tickets.run_ended(1, None);
            assert!(told.try_recv().is_err(), "that run never had it");
            if late {
                tickets.run_ended(2, Some(&Fault::default()));
                tickets.taken(number, 2, false);
            } else {
                tickets.taken(number, 2, false);
                tickets.run_ended(2, Some(&Fault::default()));
            }
            assert!(matches!(told.try_recv(), Ok(Ended::Lost(Some(_)))));
        }
    }

    #[test]
    fn a_prompt_may_join_the_turn_that_runs() {
        let mut tickets = Tickets::default();
        tickets.turn_started(1, &started(Some("another's")));
        let number = tickets.draw("and this");
        let mut told = tickets.give(number).unwrap();
        tickets.taken(number, 1, true);
        tickets.turn_completed(1, &TurnCompleted::default(), &Usage::default());
        assert!(matches!(told.try_recv(), Ok(Ended::Turn(..))));
    }
}
