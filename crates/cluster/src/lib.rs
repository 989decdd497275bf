//! The durable log on NATS JetStream, shared by many nodes. [`ClusterLog`] implements the contract of
//! `switchboard-store`; replication and consensus are those of JetStream.
//!
//! * One stream has a subject per session. A message is a frame: consecutive events and the session's summary. It is
//!   appended only if the subject's last message is the one that the writer knows, so the log itself decides between
//!   writers: a node that takes a session over appends a frame with the next epoch, and the old owner's next frame is
//!   refused.
//! * Leases in a key-value bucket say which nodes seem to be gone.
//! * Processes send each other requests, which those that run a session or serve a node respond to.
//! * Every node keeps an index of the stream in a SQLite file, which can be deleted at any time. Lists come from the
//!   index alone; events are read from the stream.

#![warn(missing_docs)]

mod client;
mod event_stream;
mod feed;
mod frame;
mod identity;
mod index;
mod log;
mod membership;
mod node;
mod options;
mod reader;
mod record;
mod requests;
mod sessions;
mod writer;

pub use client::ClusterClient;
pub use log::ClusterLog;
pub use membership::{NodeState, NodeStatus};
pub use options::{ClusterOptions, NatsCredentials, NatsTls, NodeDescription};
pub use requests::{NodeRequest, NodeResponse, RequestError, RequestHandler, RequestServer, RequestTarget};
