//! Text as it is.

use super::{
    Shown,
    cut::{TEXT, fit},
    writer::Writer,
};

/// Text as it is, in a `<pre>`: escaped, hidden characters shown by number, the middle of what is long left out.
#[must_use]
pub fn plain(text: &str) -> Shown {
    let fit = fit(text, &TEXT);
    let mut out = Writer::default();
    out.open("pre", "");
    for line in &fit.head {
        out.line(line);
        out.raw("\n");
    }
    if let Some(gap) = fit.gap {
        out.gap(gap);
        out.raw("\n");
    }
    for line in &fit.tail {
        out.line(line);
        out.raw("\n");
    }
    out.close("pre");
    out.shown(fit.lines())
}
