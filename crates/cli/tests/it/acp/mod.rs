//! The Agent Client Protocol, held against the types and the client of those who made it.

mod messages;
mod sessions;
