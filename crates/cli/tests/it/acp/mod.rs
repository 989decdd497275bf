//! The Agent Client Protocol, held against the types and the client of those who made it.

mod input;
mod messages;
mod sessions;
