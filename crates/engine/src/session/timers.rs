//! What is to happen later in a session, unless something happens before.

use std::{collections::HashMap, time::Duration};

use switchboard_agents::Timer;
use switchboard_event::Id;
use tokio::time::{Instant, sleep_until};

/// What a timer is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Due {
    /// The session has taken too long.
    Total,
    /// The agent has given no sign for too long.
    Idle,
    /// Nobody has wanted anything of the agent for too long.
    Unused,
    /// The agent is not ready yet.
    Handshake,
    /// The beginning has waited long enough for the agent to say who it is.
    Beginning,
    /// The agent does not stop the turn.
    Interrupt,
    /// The next step of stopping the agent.
    Stop,
    /// What the agent still has to say has had its time.
    Drain,
    /// Nobody answered a request.
    Request(Id),
    /// A timer of the driver.
    Driver(Timer),
}

/// All timers of a session.
#[derive(Default)]
pub struct Timers(HashMap<Due, Instant>);

impl Timers {
    /// Sets a timer, or sets it anew.
    pub fn arm(&mut self, due: Due, after: Duration) {
        self.0.insert(due, Instant::now() + after);
    }

    /// Takes a timer away.
    pub fn disarm(&mut self, due: &Due) {
        self.0.remove(due);
    }

    /// A timer is set.
    pub fn is_armed(&self, due: &Due) -> bool {
        self.0.contains_key(due)
    }

    /// Waits for the first timer, and takes it away when its time has come. For ever, if there is none.
    pub async fn next(&mut self) -> Due {
        loop {
            let Some((due, at)) = self.0.iter().min_by_key(|(_, at)| **at).map(|(due, at)| (due.clone(), *at)) else {
                std::future::pending::<()>().await;
                continue;
            };
            sleep_until(at).await;
            self.0.remove(&due);
            return due;
        }
    }
}
