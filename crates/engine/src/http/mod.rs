//! HTTP for an agent's own server on this machine: requests, and streams of server-sent events. Not how clients
//! reach us, and nothing that leaves the machine: no TLS, no redirects, no proxies.

mod client;
mod events;
mod listen;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use listen::SseEvent;
