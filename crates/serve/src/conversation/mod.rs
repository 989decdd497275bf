//! Conversations: sessions that stay open between turns, for the surfaces in which a client does more than listen. A
//! conversation outlives the agent's process: when that has ended, the next prompt resumes the session natively.

mod changes;
mod handle;
mod offers;
mod open;
mod watch;

pub use changes::Changes;
pub use handle::Conversation;
pub use offers::Offers;
pub use open::Opening;
pub use watch::{EventWatch, Watch};
