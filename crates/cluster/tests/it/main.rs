//! The log on real NATS servers, which the tests start and stop. Their program is named by `SWITCHBOARD_NATS_SERVER`;
//! without it, the tests report that they are not run.

#![cfg(test)]

mod child;
mod conformance;
mod failures;
mod fencing;
mod index;
mod nats;
mod nodes;
mod payloads;
mod replicated;
