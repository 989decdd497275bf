//! The harness as its clients see it, over both wires: lines as standard input and output have them, and WebSocket.

mod approvals;
mod client;
mod hostile;
mod many;
mod refused;
mod scenarios;
mod settings;
mod threads;
mod turns;
