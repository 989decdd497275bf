//! Switchboard's tests over all agents and all dialects, and of the program itself. They go through the tables and
//! the `testdata` folders: a new agent or dialect is tested without a change here.

#![cfg(test)]

mod acp;
mod binary;
mod cli;
mod conformance;
mod consumers;
mod corpus;
mod examples;
mod recordings;
mod snapshots;
mod tidy;
mod verdict;
