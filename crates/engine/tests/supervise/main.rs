//! Agents that are started, run, and end in every way there is. What they do is played by the fake agent.

#![cfg(test)]

mod confinement;
mod ends;
mod failures;
mod hostile;
mod killed;
mod left_behind;
mod stage;
mod surroundings;
mod sweeping;
mod working_directory;
