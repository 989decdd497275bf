//! Renders plain text.

use super::{
    HtmlFragment,
    cut::{TEXT_LIMITS, fit},
    writer::HtmlWriter,
};

/// Renders text in a `<pre>`: escaped, with hidden characters as code points and the middle of long text omitted.
#[must_use]
pub fn plain(text: &str) -> HtmlFragment {
    let fit = fit(text, &TEXT_LIMITS);
    let mut out = HtmlWriter::default();
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
