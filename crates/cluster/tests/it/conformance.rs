//! The contract of the log, on one NATS server.

use switchboard_log_conformance::log_conformance_tests;

use crate::nats::NatsCluster;

log_conformance_tests!(NatsCluster::single());
