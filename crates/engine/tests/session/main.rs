//! Sessions from the outside: an engine on a log in a folder that goes away, with agents that are built in.

#![cfg(test)]

mod approvals;
mod ends;
mod following;
mod in_process;
mod protected;
mod rig;
mod turns;
