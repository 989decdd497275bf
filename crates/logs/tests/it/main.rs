//! The library on logs with known totals, on broken logs, and after crashes.

#![cfg(test)]

mod access;
mod copies;
mod counting;
mod crash;
mod fixture;
mod growing;
mod hostile;
