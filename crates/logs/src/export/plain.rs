//! Makes control characters and bidirectional overrides visible, so that nothing can hide behind them.

/// Appends one character in visible form. Line feeds and tabs stay; carriage returns are dropped.
pub(super) fn push_visible(c: char, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        '\r' => {}
        '\0'..='\x1f' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
        '\x7f' => out.push('\u{2421}'),
        c if is_direction_control(c) || ('\u{80}'..='\u{9f}').contains(&c) => {
            out.push_str(&format!("[U+{:04X}]", u32::from(c)))
        }
        c => out.push(c),
    }
}

/// Returns whether a character changes the text direction or breaks a line.
fn is_direction_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Makes a whole text visible and strips ANSI color sequences.
pub(super) fn visible_text(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("\x1b[") {
        before.chars().for_each(|c| push_visible(c, &mut out));
        // A sequence ends at its final letter; an incomplete one is shown.
        let end = after.find(|c: char| !(' '..='?').contains(&c));
        rest = match end.and_then(|end| after.split_at_checked(end)) {
            Some((_, tail)) if tail.starts_with(|c: char| ('@'..='~').contains(&c)) => {
                tail.get(1..).unwrap_or_default()
            }
            _ => {
                out.push_str("␛[");
                after
            }
        };
    }
    rest.chars().for_each(|c| push_visible(c, &mut out));
    out
}

/// Makes a text visible on a single line.
pub(crate) fn visible_line(given: &str) -> String {
    visible_text(given.trim()).replace(['\n', '\t'], " ")
}
