//! The harness over both transports: lines, as on standard input and output, and WebSocket.

mod approvals;
mod client;
mod hostile;
mod scenarios;
mod settings;
mod threads;
mod turns;
