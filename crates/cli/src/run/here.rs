//! A session of this process, as one who watches sees it: Ctrl-C once interrupts the turn, twice ends the session. Being
//! told to go ends it at once.

use std::ops::ControlFlow;

use switchboard_agents::{Abilities, RequestAnswer};
use switchboard_engine::{CommandError, SessionHandle};

use crate::watch::{Asked, Steer};

impl Steer for SessionHandle {
    fn abilities(&self) -> &Abilities {
        &self.agent().abilities
    }

    async fn answer(&self, answer: RequestAnswer) -> Result<(), String> {
        match self.answer_request(answer).await {
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
