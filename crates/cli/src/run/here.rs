//! A session of this process, as one who watches sees it: Ctrl-C once interrupts the turn, twice ends the session. Being
//! told to go ends it at once.

use std::{ops::ControlFlow, sync::Arc};

use switchboard_agents::{Abilities, Answer};
use switchboard_engine::{CommandError, Follower, Session};
use switchboard_event::Event;

use crate::{
    failure::Failure,
    watch::{Asked, Feed, Steer},
};

impl Feed for Follower {
    async fn next(&mut self) -> Result<Option<Vec<Arc<Event>>>, Failure> {
        Ok(Follower::next(self).await?)
    }

    /// It is followed from its beginning.
    fn is_behind(&self) -> bool {
        false
    }
}

impl Steer for Session {
    fn abilities(&self) -> &Abilities {
        &self.agent().abilities
    }

    async fn answer(&self, answer: Answer) -> Result<(), String> {
        match Session::answer(self, answer).await {
            Ok(()) | Err(CommandError::NotOpen | CommandError::Ended) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn stop(&self, asked: Asked) -> ControlFlow<()> {
        // A session that ended by itself in the meantime needs no order.
        match asked {
            Asked::Interrupt => drop(self.interrupt().await),
            Asked::End => drop(self.cancel().await),
        }
        ControlFlow::Continue(())
    }
}
