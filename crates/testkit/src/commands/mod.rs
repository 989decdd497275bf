//! The commands of the test kit.

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

/// Prints a line. A closed output is not an error.
fn print_line(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
