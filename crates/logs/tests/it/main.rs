//! The library on logs with known totals, on broken logs, and after crashes.

#![cfg(test)]

mod access;
mod child;
mod copies;
mod counting;
mod crash;
mod damaged;
mod forks;
mod full;
mod growing;
mod hostile;
mod place;
mod shared;
mod together;
mod totals;
mod truth;
