//! The client library against servers that are made up: what they promise, and what they break.

#![cfg(test)]

mod client;
mod reconnect;
mod server;
