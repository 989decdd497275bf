//! Consumers: several who follow and steer one session over WebSocket, and know of each other. What happens in the
//! session comes from its feed; who is there and which prompt waits is the room's.

mod greeting;
mod hearing;
mod prompts;
mod room;
mod socket;
mod waiting;

pub use greeting::{Guest, Invitation};
pub use room::Rooms;
pub use socket::serve;
