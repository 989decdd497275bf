//! The few colours and weights there are: the basic sixteen, dim and bold, legible on dark and on light.

use anstyle::{AnsiColor, Style};

/// As it is.
pub const PLAIN: Style = Style::new();
/// What is there to be looked up, not to be read.
pub const DIM: Style = Style::new().dimmed();
/// What the eye should find.
pub const BOLD: Style = Style::new().bold();
/// What failed, and what was removed.
pub const RED: Style = AnsiColor::Red.on_default();
/// What worked, and what was added.
pub const GREEN: Style = AnsiColor::Green.on_default();
/// What is not as it should be.
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
/// Marks.
pub const CYAN: Style = AnsiColor::Cyan.on_default();
