//! What people see, made of what agents write: of what they usually do, and of the worst they can.

#![cfg(test)]

mod bodies;
mod bombs;
mod checker;
mod hostile;
mod nasty;
mod recordings;
mod typical;
