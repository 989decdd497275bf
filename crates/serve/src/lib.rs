//! The server: REST, WebSocket and server-sent events, all on one table of operations.
//!
//! * [`Service`] is the state and what can be done, whatever wire it is asked on.
//! * `api/` is the table of operations over HTTP; [`Service::router`] and [`openapi::document`] are made of it.
//! * [`harness`] is a client's connection on which it runs threads, over any wire that has lines.
//! * `logs/` is what agents left on this machine. `page/` is what people see in a browser.
//! * [`guard`] decides who may ask for what, [`listen`] accepts connections and ends them, [`private`] is the socket that
//!   every process with sessions has.
//! * [`acp`] is another wire: an editor's, over lines.
//! * `problem/` is the one place that says what clients are told when something goes wrong.

pub mod acp;
mod agents;
mod api;
pub mod commands;
mod consumers;
pub mod conversation;
pub mod feed;
mod foreign;
pub mod guard;
pub mod harness;
pub mod input;
pub mod listen;
mod logs;
pub mod metrics;
pub mod openapi;
pub mod order;
mod page;
mod pages;
mod private;
pub mod problem;
mod request_log;
mod service;
mod sse;
pub mod view;
mod ws;

pub use agents::{AgentView, Agents};
pub use listen::Drain;
pub use logs::{AdoptError, adopt, adopt_session};
pub use private::{Private, private};
pub use problem::Problem;
pub use service::{Place, Service, Setup};
