//! The commands of the test kit.

pub mod fuzz;
pub mod load;
pub mod print;
pub mod soak;
pub mod stage;

use std::io::{self, Write as _};

/// Prints a line. A closed output is not an error.
fn print_line(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}
