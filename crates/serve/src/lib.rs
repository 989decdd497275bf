//! The server: REST, WebSocket and server-sent events, based on one table of operations.
//!
//! * [`Service`] is the state and the operations, independent of the protocol.
//! * `api` is the table of operations over HTTP; [`Service::router`] and [`openapi::document`] are made of it.
//! * [`harness`], [`acp`] and `consumers` are other protocols for clients that run or share sessions.
//! * `nodes` has what the nodes of a cluster do for each other.
//! * `logs` has the session logs of all agents; `page` serves the web page.
//! * [`guard`] is access control, [`listen`] manages connections, and [`PrivateServer`] is the socket that every
//!   process with sessions has.
//! * [`problem`] maps all errors to what clients see.

pub mod acp;
mod agent_inventory;
mod api;
pub mod commands;
mod consumers;
pub mod conversation;
pub mod extract;
pub mod feed;
pub mod guard;
pub mod harness;
pub mod listen;
mod logs;
pub mod metrics;
mod nodes;
pub mod openapi;
mod page;
mod private_socket;
pub mod problem;
mod request_log;
pub mod requests;
mod service;
mod sse;
mod ws;

pub use agent_inventory::{AgentInventory, AgentView};
pub use listen::Drain;
pub use logs::{AdoptError, adopt, adopt_session};
pub use nodes::{NodeUpkeep, SessionPeer, node_view};
pub use private_socket::{PrivateServer, serve_private_socket};
pub use problem::Problem;
pub use service::{Service, ServiceConfig, SessionLocation, read_session_view};
