//! A small HTTP client: requests and streams of server-sent events, over TCP or a Unix socket. No TLS, no redirects, no
//! proxies, no connection pool.

mod address;
mod client;
mod events;
mod listen;
mod socket;
#[cfg(test)]
mod tests;

pub use address::{AddressError, ServerAddress, ServerConnection, ServerConnector};
pub use client::{HttpClient, HttpError, HttpLimits};
pub use listen::SseEvent;
pub use socket::SocketPath;
