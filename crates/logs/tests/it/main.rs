//! The library as others use it, on logs whose truth is known, on broken ones, and after the worst.

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
