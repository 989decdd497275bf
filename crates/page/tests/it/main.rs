//! The page for typical and for hostile output of agents.

#![cfg(test)]

mod bodies;
mod checker;
mod recordings;
mod safety;
mod typical;
