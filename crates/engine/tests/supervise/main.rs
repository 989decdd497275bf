//! Starts, runs and ends agents in every possible way. The fake agent plays their behavior.

#![cfg(test)]

mod confinement;
mod ends;
mod fixtures;
mod hostile;
mod leftover_processes;
mod starting;
