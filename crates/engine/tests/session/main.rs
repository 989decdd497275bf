//! Sessions from the outside: an engine on a log in a temporary directory, with built-in agents.

#![cfg(test)]

mod approvals;
mod fixtures;
mod following;
mod lifecycle;
mod sandbox;
