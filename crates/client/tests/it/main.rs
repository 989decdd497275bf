//! The client library against scripted servers, well-behaved and broken.

#![cfg(test)]

mod client;
mod reconnect;
mod server;
