//! Our requests: what each was for, so that its reply can be used.

use serde::Serialize;

use crate::{Effects, Prompt};

/// How many requests are remembered. Some are never answered: an interrupt of a turn that is already interrupted
/// (0.166).
const LIMIT: usize = 64;

/// What a request was for. One whose reply is of no use is not remembered.
pub enum Purpose {
    /// The first words.
    Initialize,
    /// Giving a key.
    LogIn,
    /// Opening the thread.
    Open,
    /// Beginning a turn with a prompt.
    Begin(Prompt),
    /// Adding a prompt to the running turn.
    Steer(Prompt),
    /// One of the slash commands; it may begin a turn.
    Command {
        /// It does.
        turn: bool,
    },
    /// A new thread in place of this one.
    Afresh,
    /// Finding out which models there are.
    Models {
        /// This is not the first page.
        further: bool,
    },
    /// Finding out which modes there are.
    Modes,
    /// Finding what a stopped turn left running, by the items that started it.
    Leftovers(Vec<String>),
    /// Finding out what became of a turn.
    Inquire,
}

/// Our requests that wait for a reply.
#[derive(Default)]
pub struct Calls {
    last: u64,
    waiting: Vec<(u64, Purpose)>,
}

#[derive(Serialize)]
struct Request<'a, P: Serialize> {
    id: u64,
    method: &'a str,
    params: &'a P,
}

impl Calls {
    /// The id of the next request.
    pub fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Makes a request.
    pub fn send(&mut self, method: &str, params: &impl Serialize, effects: &mut Effects) -> u64 {
        let id = self.next();
        effects.send(&Request { id, method, params });
        id
    }

    /// Remembers what a request is for.
    pub fn expect(&mut self, id: u64, purpose: Purpose) {
        if self.waiting.len() >= LIMIT {
            self.waiting.remove(0);
        }
        self.waiting.push((id, purpose));
    }

    /// What the request was for that is replied to.
    pub fn take(&mut self, id: u64) -> Option<Purpose> {
        let index = self.waiting.iter().position(|(known, _)| *known == id)?;
        Some(self.waiting.remove(index).1)
    }
}
