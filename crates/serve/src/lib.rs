//! The server: REST, WebSocket and server-sent events, all on one table of operations.

pub mod guard;
pub mod listen;
mod private;

pub use private::{Private, private};
