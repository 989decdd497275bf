//! Characters that do something instead of being seen: control characters, and those that turn text around. On a page
//! they are shown, so that nothing can hide behind them.

/// Adds one character in a form that only shows. Line feeds and tabs stay; a carriage return before nothing is dropped.
pub(super) fn push(c: char, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        '\r' => {}
        '\0'..='\x1f' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
        '\x7f' => out.push('\u{2421}'),
        c if turns(c) || ('\u{80}'..='\u{9f}').contains(&c) => out.push_str(&format!("[U+{:04X}]", u32::from(c))),
        c => out.push(c),
    }
}

/// Characters that change the direction of the text around them, or end a line where none ends.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A whole text, without the sequences with which programs colour what they print.
pub(super) fn text(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("\x1b[") {
        before.chars().for_each(|c| push(c, &mut out));
        // Up to the letter that ends the sequence; what is no sequence is shown.
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
    rest.chars().for_each(|c| push(c, &mut out));
    out
}

/// One line of it.
pub(crate) fn line(given: &str) -> String {
    text(given.trim()).replace(['\n', '\t'], " ")
}
