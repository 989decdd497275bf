//! Invisible characters that change the meaning of a text: controls, direction marks, zero-width characters. They are
//! shown as code points, so that nothing can hide in a command or a diff.

/// Returns whether a character between `before` and `after` must be made visible. Line feeds and tabs need not be.
pub(super) fn is_hidden(c: char, before: Option<char>, after: Option<char>) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => false,
        // Joiners are needed in emoji and many scripts; between ASCII characters they only hide.
        '\u{200c}' | '\u{200d}' => !(joins(before) && joins(after)),
        // Selects the text or emoji form of the preceding character.
        '\u{fe0e}' | '\u{fe0f}' => !before.is_some_and(|c| joins(Some(c)) || matches!(c, '0'..='9' | '#' | '*')),
        _ => is_never_seen(c),
    }
}

/// Returns whether a joiner next to the character has an effect.
fn joins(c: Option<char>) -> bool {
    c.is_some_and(|c| {
        c > '\u{a0}' && (matches!(c, '\u{fe0f}') || !is_never_seen(c)) && !matches!(c, '\u{200c}' | '\u{200d}')
    })
}

fn is_never_seen(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}'
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::is_hidden;

    #[test]
    fn what_is_seen_is_left_alone() {
        for c in "aä\n\t 漢🎉é".chars() {
            assert!(!is_hidden(c, Some('a'), Some('b')), "{c:?}");
        }
        assert!(!is_hidden('\u{200d}', Some('👩'), Some('💻')));
        assert!(!is_hidden('\u{200d}', Some('\u{fe0f}'), Some('🔥')));
        assert!(!is_hidden('\u{fe0f}', Some('❤'), None));
        assert!(!is_hidden('\u{fe0f}', Some('1'), None));
        assert!(!is_hidden('\u{200c}', Some('ی'), Some('خ')));
    }

    #[test]
    fn what_hides_is_shown() {
        for c in "\0\u{1b}\r\u{7f}\u{9b}\u{202e}\u{2066}\u{200b}\u{feff}\u{ad}\u{e0041}\u{3164}".chars() {
            assert!(is_hidden(c, Some('a'), Some('b')), "{c:?}");
        }
        assert!(is_hidden('\u{200d}', Some('a'), Some('b')));
        assert!(is_hidden('\u{200d}', Some('👩'), Some('\u{200d}')));
        assert!(is_hidden('\u{fe0f}', Some('a'), None));
    }
}
