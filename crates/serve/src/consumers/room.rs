//! A room: all consumers of one session in this process. What they see of each other is kept as it is now, not as it
//! came to be: whoever is slow skips what has passed, and costs nothing. Only of prompts that waited the last ones are
//! kept, since whoever said one wants to know what became of it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use switchboard_dialects::consumer::wire::{Consumer, Role};
use switchboard_event::Id;
use tokio::sync::watch;

use super::waiting::{Ended, Given, Waiting};
use crate::{Problem, Service, conversation::Conversation};

/// So many ends of waiting prompts are remembered, for those who did not look meanwhile.
const ENDS: usize = 16;

/// All rooms of this process.
#[derive(Default)]
pub struct Rooms(Mutex<HashMap<Id, Weak<Room>>>);

impl Rooms {
    /// The room of a session.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn enter(&self, service: &Service, session: &str) -> Result<Arc<Room>, Problem> {
        let conversation = service.take_up(session).await?;
        let mut rooms = self.0.lock();
        if let Some(room) = rooms.get(conversation.id()).and_then(Weak::upgrade) {
            return Ok(room);
        }
        rooms.retain(|_, room| room.strong_count() > 0);
        let (id, board, changes) = (conversation.id().clone(), Mutex::default(), watch::Sender::default());
        let room = Arc::new(Room { conversation, board, changes });
        rooms.insert(id, Arc::downgrade(&room));
        Ok(room)
    }

    /// A session was deleted: whoever is in its room is told.
    pub fn deleted(&self, session: &str) {
        let room = self.0.lock().get(session).and_then(Weak::upgrade);
        if let Some(room) = room {
            room.change(|board| board.deleted = true);
        }
    }
}

/// The consumers of a session.
pub struct Room {
    /// The session.
    pub conversation: Conversation,
    board: Mutex<Board>,
    /// Tells that something is different on the board.
    changes: watch::Sender<()>,
}

/// What the consumers of a session see of each other.
#[derive(Clone, Default)]
pub struct Board {
    /// Who is there; one who came twice is there twice.
    present: Vec<Consumer>,
    /// The prompt that waits.
    pub waiting: Option<Arc<Waiting>>,
    /// One that waited is just being given to the agent.
    pub sending: bool,
    /// A prompt of which another process has not told the turn yet.
    pub given: Option<Given>,
    /// The session was deleted.
    pub deleted: bool,
    /// How those ended that waited last.
    pub ends: VecDeque<(Arc<Waiting>, Ended)>,
    /// How many have waited.
    pub waited: u64,
}

impl Board {
    /// Who is there, each once; one who is there under two names or in two roles is told of twice.
    pub fn present(&self) -> Vec<Consumer> {
        let mut present: Vec<Consumer> = Vec::new();
        for one in &self.present {
            if !present.contains(one) {
                present.push(one.clone());
            }
        }
        present
    }

    /// How many no longer wait.
    pub fn passed(&self) -> u64 {
        self.waited - u64::from(self.waiting.is_some())
    }

    /// What waited waits no longer.
    pub fn end(&mut self, how: Ended) {
        if let Some(waiting) = self.waiting.take() {
            self.ends.push_back((waiting.to_remember(), how));
            if self.ends.len() > ENDS {
                self.ends.pop_front();
            }
        }
    }

    /// What was sent did not arrive.
    pub fn failed(&mut self, number: u64, why: String) {
        if let Some((_, how)) = self.ends.iter_mut().find(|(ended, _)| ended.number == number) {
            *how = Ended::Cancelled(Some(why));
        }
    }
}

impl Room {
    /// Tells when something is different.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// What is seen now.
    pub fn look(&self) -> Board {
        self.board.lock().clone()
    }

    /// Changes what is seen.
    pub fn change<T>(&self, change: impl FnOnce(&mut Board) -> T) -> T {
        let given = change(&mut self.board.lock());
        self.changes.send_replace(());
        given
    }
}

/// Somebody in a room, until this is dropped.
pub struct Seat {
    /// The room.
    pub room: Arc<Room>,
    /// Who it is.
    pub consumer: Consumer,
}

impl Seat {
    /// Somebody comes in.
    pub fn in_room(room: Arc<Room>, consumer: Consumer) -> Self {
        room.change(|board| board.present.push(consumer.clone()));
        Self { room, consumer }
    }

    /// It may steer.
    pub fn may_steer(&self) -> bool {
        self.consumer.role == Role::Participant
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.room.change(|board| {
            if let Some(place) = board.present.iter().position(|one| *one == self.consumer) {
                board.present.remove(place);
            }
        });
    }
}
