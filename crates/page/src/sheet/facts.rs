//! What is known of a session as a whole: what it used, what it can be told, what it is doing, what it waits for.

use serde::{Deserialize, Serialize};
use switchboard_event::{Body, Command, Context, Details, Event, Id, Info, Item, RequestOpened, TurnCompleted, Usage};

/// Says what a model reply costs, where the agent does not.
pub trait Prices {
    /// In dollars; nothing if it is not known.
    fn cost(&self, usage: &Usage) -> Option<f64>;
}

/// Nothing has a price.
#[derive(Clone, Copy, Debug)]
pub struct Unpriced;

impl Prices for Unpriced {
    fn cost(&self, _: &Usage) -> Option<f64> {
        None
    }
}

/// What was used, and what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sums {
    /// Input that was in no cache.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Input that was read from a cache.
    pub cache_read: u64,
    /// Input that was written to a cache.
    pub cache_write: u64,
    /// What it cost, as far as that is known.
    pub cost: Option<f64>,
}

impl Sums {
    /// All tokens.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.output, self.cache_read, self.cache_write].iter().fold(self.input, |sum, more| sum.saturating_add(*more))
    }

    pub(super) fn add(&mut self, usage: &Usage, prices: &dyn Prices) {
        self.input = self.input.saturating_add(usage.input);
        self.output = self.output.saturating_add(usage.output);
        self.cache_read = self.cache_read.saturating_add(usage.cache_read);
        self.cache_write = self.cache_write.saturating_add(usage.cache_write());
        // Agents say 0 of what a subscription pays for, and of models whose price they do not know.
        let said = usage.cost_usd.filter(|cost| *cost > 0.0);
        self.pay(said.or_else(|| prices.cost(usage)).or(usage.cost_usd));
    }

    fn pay(&mut self, cost: Option<f64>) {
        if let Some(cost) = cost.filter(|cost| cost.is_finite()) {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
    }
}

/// A request that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its id.
    pub request: Id,
    /// One line of it, for people.
    pub title: String,
}

/// What is known of a session as a whole.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The last event that was seen.
    pub seq: u64,
    /// What all turns used that are over.
    over: Sums,
    /// What the turn used that goes on.
    turn: Sums,
    /// The model of the last reply, if the agent says it.
    model: Option<String>,
    /// What waits for an answer, oldest first.
    pub waiting: Vec<Waiting>,
    /// What the agent said about itself in its last run.
    pub info: Info,
    /// What it is doing: the item, and a few words.
    doing: Option<(Id, String)>,
}

/// A few words have at most so many characters.
const FEW: usize = 120;

/// So many requests are remembered.
const MOST_WAITING: usize = 64;

impl Facts {
    /// Takes an event into account.
    pub fn see(&mut self, event: &Event, prices: &dyn Prices) {
        self.seq = event.seq;
        match &event.body {
            Body::Usage(usage) => self.used(usage, prices),
            Body::TurnStarted(_) => self.settle(),
            Body::TurnCompleted(turn) => self.turned(turn),
            Body::RequestOpened(request) => self.asked(request),
            Body::RequestResolved(resolved) => self.waiting.retain(|open| open.request != resolved.request),
            Body::SessionStarted(started) => self.info.learn(&started.info),
            Body::SessionUpdated(updated) => self.info.learn(&updated.info),
            Body::SessionEnded(_) => self.ended(),
            Body::ItemStarted(item) => self.began(event, item),
            Body::ItemCompleted(_) if self.doing.as_ref().map(|(id, _)| id) == event.item.as_ref() => {
                self.doing = None;
            }
            _ => {}
        }
    }

    /// An event that adds nothing was passed over.
    pub fn skip(&mut self, seq: u64) {
        self.seq = seq;
    }

    /// Passes over an event as the log has it, if it adds nothing. False if it must be read.
    pub fn skim(&mut self, seq: u64, json: &str) -> bool {
        let Some((envelope, rest)) = json.split_once(r#","kind":""#) else { return false };
        if rest.starts_with("item.completed\"") {
            let Some(id) = item_of(envelope) else { return false };
            if self.doing.as_ref().is_some_and(|(doing, _)| *doing == *id) {
                self.doing = None;
            }
        } else if !(rest.starts_with("item.delta\"") || rest.starts_with("notice\"")) {
            return false;
        }
        self.seq = seq;
        true
    }

    /// What all of it used.
    #[must_use]
    pub fn sums(&self) -> Sums {
        let (a, b) = (&self.over, &self.turn);
        Sums {
            input: a.input.saturating_add(b.input),
            output: a.output.saturating_add(b.output),
            cache_read: a.cache_read.saturating_add(b.cache_read),
            cache_write: a.cache_write.saturating_add(b.cache_write),
            cost: match (a.cost, b.cost) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            },
        }
    }

    /// The model that it works with.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.info.model.as_deref().or(self.model.as_deref())
    }

    /// How full its context is.
    #[must_use]
    pub fn context(&self) -> Option<Context> {
        self.info.context
    }

    /// What it is doing, in a few words.
    #[must_use]
    pub fn activity(&self) -> Option<&str> {
        self.doing.as_ref().map(|(_, words)| words.as_str())
    }

    fn used(&mut self, usage: &Usage, prices: &dyn Prices) {
        if !usage.cumulative {
            self.turn.add(usage, prices);
        }
        if usage.model.is_some() {
            self.model.clone_from(&usage.model);
        }
    }

    /// What the agent says that a turn cost counts for more than what its replies would.
    fn turned(&mut self, turn: &TurnCompleted) {
        if let Some(cost) = turn.cost_usd.filter(|cost| *cost > 0.0) {
            self.turn.cost = Some(cost);
        }
        self.settle();
        self.doing = None;
    }

    fn settle(&mut self) {
        self.over = self.sums();
        self.turn = Sums::default();
    }

    fn asked(&mut self, request: &RequestOpened) {
        if !request.decided && self.waiting.len() < MOST_WAITING {
            self.waiting.push(Waiting { request: request.request.clone(), title: few(&request.title) });
        }
    }

    fn ended(&mut self) {
        self.settle();
        self.waiting.clear();
        self.doing = None;
    }

    fn began(&mut self, event: &Event, item: &Item) {
        if let (Some(id), Some(words)) = (&event.item, words(item)) {
            self.doing = Some((id.clone(), words));
        }
    }
}

/// The item that an envelope names. An id with something escaped in it is read with care.
pub(super) fn item_of(envelope: &str) -> Option<&str> {
    let (_, rest) = envelope.rsplit_once(r#","item":""#)?;
    let (id, _) = rest.split_once('"')?;
    (!id.contains('\\')).then_some(id)
}

/// What somebody does who works on this.
fn words(item: &Item) -> Option<String> {
    let titled = || item.call.as_ref().map(|call| call.title.as_deref().unwrap_or(&call.name));
    Some(match &item.details {
        Details::Command(Command { command, .. }) => few(&format!("running {command}")),
        Details::FileChange(change) => match change.changes.first() {
            Some(first) => few(&format!("editing {}", first.path.rsplit('/').next().unwrap_or(&first.path))),
            None => "editing".to_owned(),
        },
        Details::AgentMessage(_) => "answering".to_owned(),
        Details::Reasoning(_) => "thinking".to_owned(),
        Details::Plan(_) => "planning".to_owned(),
        Details::WebSearch(_) => "searching the web".to_owned(),
        Details::Subagent(agent) => few(&format!("with a subagent: {}", agent.label)),
        Details::Mcp(mcp) => few(&format!("calling {} of {}", mcp.tool, mcp.server)),
        Details::Tool(_) => few(&format!("using {}", titled()?)),
        Details::UserMessage(_) | Details::Unknown(_) => return None,
    })
}

/// The first line, not too long, without characters that do something instead of being seen.
fn few(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(FEW).collect()
}
