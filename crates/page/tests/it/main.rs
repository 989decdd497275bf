//! The page for typical and for hostile output of agents.

#![cfg(test)]

mod bodies;
mod bombs;
mod checker;
mod hostile;
mod nasty;
mod recordings;
mod typical;
