//! The commands of the test kit, one file each.

pub mod corpus;
pub mod fake;
pub mod fuzz;
pub mod list;
pub mod load;
pub mod model;
pub mod recorded;
pub mod soak;
pub mod stage;
pub mod stream;

use std::io::{self, Write as _};

/// Prints a line. A reader that has seen enough is no failure.
fn say(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
