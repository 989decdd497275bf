//! Sanitizes text from agents. A terminal executes control sequences: they move the cursor, change the title, write to
//! the clipboard and reverse text. None of them may come from an agent or from a command that it ran.
//!
//! In messages and in what would run, control characters are *shown*, so that nothing can hide there. The output of
//! programs is full of colors, so its sequences are *removed*.

/// Adds a character in visible form: a control character as its picture, an invisible or direction-changing one as its
/// code point. Line feeds and tabs are kept.
fn push_sanitized(c: char, out: &mut String) {
    push_sanitized_after(out.chars().next_back(), c, out);
}

/// Like [`push_sanitized`], after a character that may be in another text.
fn push_sanitized_after(previous: Option<char>, c: char, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        '\0'..='\x1f' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
        '\x7f' => out.push('\u{2421}'),
        c if is_part_of_character(previous, c) => out.push(c),
        c if changes_direction(c)
            || is_invisible(c)
            || is_variation_selector(c)
            || ('\u{80}'..='\u{9f}').contains(&c) =>
        {
            push_code_point(c, out)
        }
        c => out.push(c),
    }
}

/// Like [`push_sanitized`], but shows joiners as code points, too: for text that a person has to approve.
fn push_revealed(c: char, out: &mut String) {
    if is_invisible(c) { push_code_point(c, out) } else { push_sanitized(c, out) }
}

fn push_code_point(c: char, out: &mut String) {
    out.push_str(&format!("<U+{:04X}>", u32::from(c)));
}

/// Characters that change the direction of text or act as line ends.
fn changes_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Characters that select a variant of the one before them.
fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// Returns whether a character is a joiner within a word of a script that uses them or within an emoji, or the only
/// selector after a symbol. A series of them could hide text.
fn is_part_of_character(previous: Option<char>, c: char) -> bool {
    let Some(previous) = previous else { return false };
    // From Hebrew on: no earlier script uses joiners.
    let joins = previous >= '\u{590}' && !is_invisible(previous) && !changes_direction(previous);
    match c {
        '\u{200c}' | '\u{200d}' => joins,
        c if is_variation_selector(c) => {
            let is_keycap = previous.is_ascii_digit() || matches!(previous, '#' | '*' | '©' | '®');
            is_keycap || (joins && !is_variation_selector(previous))
        }
        _ => false,
    }
}

/// Sanitizes the text of one line; line feeds become spaces.
pub fn sanitize_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.trim_end_matches(['\n', '\r'])
        .chars()
        .for_each(|c| if c == '\n' { out.push(' ') } else { push_sanitized(c, &mut out) });
    out
}

/// Makes every hidden character of a text visible: for text that a person has to approve.
pub fn reveal_hidden(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_revealed(c, &mut out));
    out
}

/// Sanitizes text that arrives in pieces; the result does not depend on where they are cut.
#[derive(Clone, Debug, Default)]
pub struct TextSanitizer {
    /// The last character was a carriage return; the next one decides whether it ends a line.
    returned: bool,
    /// The last character that was shown.
    last: Option<char>,
}

impl TextSanitizer {
    pub fn push(&mut self, piece: &str, out: &mut String) {
        for c in piece.chars() {
            if std::mem::take(&mut self.returned) && c != '\n' {
                self.push_shown('\r', out);
            }
            if c == '\r' {
                self.returned = true;
            } else {
                self.push_shown(c, out);
            }
        }
    }

    fn push_shown(&mut self, c: char, out: &mut String) {
        push_sanitized_after(self.last, c, out);
        self.last = out.chars().next_back();
    }

    /// Sanitizes a complete text.
    pub fn whole(text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        Self::default().push(text, &mut out);
        out
    }
}

/// Sanitizes a line of program output: what overwrote the line last, without control sequences.
pub fn sanitize_printed_line(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or(line);
    let (mut out, mut state) = (String::with_capacity(line.len()), EscapeState::None);
    for c in line.chars() {
        state = state.next(c, &mut out);
    }
    out
}

/// The position in a control sequence.
#[derive(Clone, Copy)]
enum EscapeState {
    None,
    /// After the escape character.
    Begun,
    /// Before the final letter of a color or cursor sequence.
    Control,
    /// Before the bell or escape that ends a title, link or clipboard sequence.
    Text,
    /// After the escape at the end of such a sequence.
    Ending,
}

impl EscapeState {
    fn next(self, c: char, out: &mut String) -> Self {
        match (self, c) {
            (Self::Text, '\x07' | '\u{9c}') | (Self::Control, '\x40'..='\x7e') | (Self::Ending, '\\') => Self::None,
            (Self::Text | Self::Ending, '\x1b') => Self::Ending,
            (Self::Text | Self::Ending, _) => Self::Text,
            (_, '\x1b') => Self::Begun,
            (Self::Begun, '[') | (Self::None, '\u{9b}') => Self::Control,
            (Self::Begun, ']' | 'P' | 'X' | '^' | '_') | (Self::None, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => {
                Self::Text
            }
            // Intermediate characters may come before the final one: `ESC ( B`.
            (Self::Begun, ' '..='/') => Self::Begun,
            (Self::Begun, _) => Self::None,
            (Self::Control, ' '..='?') => Self::Control,
            (Self::Control | Self::None, c) => {
                // Other control characters in output are only noise.
                if c == '\t' || !c.is_control() {
                    push_sanitized(c, out);
                }
                Self::None
            }
        }
    }
}

#[cfg(test)]
mod tests {

    use super::{TextSanitizer, reveal_hidden, sanitize_line, sanitize_printed_line};

    #[test]
    fn control_characters_are_shown() {
        let text = "a\x1b[31mred\x07\0\x7f\u{9b}2J\u{202e}txt.exe";
        assert_eq!(sanitize_line(text), "a␛[31mred␇␀␡<U+009B>2J<U+202E>txt.exe");
        assert_eq!(sanitize_line("two\nlines\r\n"), "two lines");
        assert_eq!(reveal_hidden("rm\u{200b} -rf\u{e0041}\n"), "rm<U+200B> -rf<U+E0041>\n");
    }

    #[test]
    fn scripts_and_emoji_stay_as_they_are() {
        for text in ["שלום", "می‌خواهم", "👩‍👩‍👧 ok", "日本語\ttab\n", "naïve"] {
            assert_eq!(TextSanitizer::whole(text), text);
        }
    }

    #[test]
    fn what_cannot_be_seen_is_shown_by_its_number() {
        for (given, shown) in [
            ("a\u{200b}b", "a<U+200B>b"),
            ("a\u{200d}b", "a<U+200D>b"),
            ("\u{feff}x\u{ad}y\u{2060}", "<U+FEFF>x<U+00AD>y<U+2060>"),
            ("\u{e0041}\u{e007f}", "<U+E0041><U+E007F>"),
            ("A\u{fe0f}", "A<U+FE0F>"),
            ("❤\u{fe0f}\u{fe01}\u{fe02}", "❤\u{fe0f}<U+FE01><U+FE02>"),
            ("👩\u{200d}\u{200d}👩", "👩\u{200d}<U+200D>👩"),
        ] {
            assert_eq!(
                (sanitize_line(given), TextSanitizer::whole(given)),
                (shown.to_owned(), shown.to_owned()),
                "{given:?}"
            );
        }
        for text in ["❤\u{fe0f}\u{200d}🔥", "1\u{fe0f}\u{20e3}", "क्\u{200d}ष"] {
            assert_eq!(sanitize_line(text), text);
        }
    }

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let text = "a\r\nb\rc\r\r\nd\x1b]0;title\x07é❤\u{fe0f}\u{200d}🔥\u{200b}\r";
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (mut flow, mut out, (head, tail)) = (TextSanitizer::default(), String::new(), text.split_at(at));
            flow.push(head, &mut out);
            flow.push(tail, &mut out);
            assert_eq!(out, TextSanitizer::whole(text), "cut at {at}");
        }
        assert_eq!(TextSanitizer::whole(text), "a\nb␍c␍\nd␛]0;title␇é❤\u{fe0f}\u{200d}🔥<U+200B>");
    }

    #[test]
    fn what_programs_print_loses_its_sequences() {
        for (given, shown) in [
            ("\x1b[1;32mok\x1b[0m done", "ok done"),
            ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x07!", "link!"),
            ("10%\r50%\r100%\r", "100%"),
            ("\x1b(Bplain\x1b[?25l\x1b7", "plain"),
            ("\u{9b}31mred\x08\x07", "red"),
            ("\x1b]0;never ends", ""),
            ("\x1b[31", ""),
            ("a\tb", "a\tb"),
            ("\x1bPq\x1b[31mstill inside\x1b\\out", "out"),
        ] {
            assert_eq!(sanitize_printed_line(given), shown, "{given:?}");
        }
    }
}
