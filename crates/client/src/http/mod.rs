//! HTTP, as far as a client of small servers needs it: requests, and streams of server-sent events, over TCP or a unix
//! socket. No TLS, no redirects, no proxies, no pool.

mod address;
mod client;
mod events;
mod listen;
mod socket;
#[cfg(test)]
mod tests;

pub use address::{Address, AddressError, Connection};
pub use client::{Client, HttpError, Limits};
pub use listen::SseEvent;
pub use socket::SocketPath;
