//! What agents say, made harmless. A terminal obeys what is written to it: moves its cursor, changes its title, fills
//! the clipboard, turns text around. Nothing of that may come from an agent or from a command that it ran.
//!
//! What is said or would be done is *shown*, control characters and all, so that nothing can hide in it. What programs
//! print is full of colours, so there the sequences are *removed*.

/// Adds one character in a form that only shows: a control character as its picture, one that turns text around or
/// can't be seen by its number. Line feeds and tabs stay.
fn push(c: char, out: &mut String) {
    push_after(out.chars().next_back(), c, out);
}

/// The same behind a character that may be in another text.
fn push_after(previous: Option<char>, c: char, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        '\0'..='\x1f' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
        '\x7f' => out.push('\u{2421}'),
        c if is_part_of_character(previous, c) => out.push(c),
        c if turns(c) || hides(c) || selects_variant(c) || ('\u{80}'..='\u{9f}').contains(&c) => push_number(c, out),
        c => out.push(c),
    }
}

/// The same, and joiners are shown by their number too: for what a person has to agree to.
fn push_exactly(c: char, out: &mut String) {
    if hides(c) { push_number(c, out) } else { push(c, out) }
}

fn push_number(c: char, out: &mut String) {
    out.push_str(&format!("<U+{:04X}>", u32::from(c)));
}

/// Characters that change the direction of the text around them, or end a line where none ends.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that cannot be seen.
fn hides(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Characters that select a form of the one before them, and are nothing alone.
fn selects_variant(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// A joiner within a word of a script that has them or within an emoji, or the one selector behind a symbol. A row of
/// them would be a hidden text.
fn is_part_of_character(previous: Option<char>, c: char) -> bool {
    let Some(previous) = previous else { return false };
    // From Hebrew on: no script before it joins.
    let joins = previous >= '\u{590}' && !hides(previous) && !turns(previous);
    match c {
        '\u{200c}' | '\u{200d}' => joins,
        c if selects_variant(c) => {
            let is_keycap = previous.is_ascii_digit() || matches!(previous, '#' | '*' | '©' | '®');
            is_keycap || (joins && !selects_variant(previous))
        }
        _ => false,
    }
}

/// The text of one line: what would end it is a space.
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.trim_end_matches(['\n', '\r']).chars().for_each(|c| if c == '\n' { out.push(' ') } else { push(c, &mut out) });
    out
}

/// A text of any number of lines in which nothing hides: for what a person has to agree to.
pub fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_exactly(c, &mut out));
    out
}

/// Text that comes in pieces. However it is cut, it comes out the same.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// A carriage return came last; the next character decides whether it ends a line.
    returned: bool,
    /// The last character, as it was shown.
    last: Option<char>,
}

impl Flow {
    /// Adds a piece.
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
        push_after(self.last, c, out);
        self.last = out.chars().next_back();
    }

    /// A whole text.
    pub fn whole(text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        Self::default().push(text, &mut out);
        out
    }
}

/// One line that a program printed: what it wrote last over itself, without the sequences for the terminal.
pub fn printed(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    let line = line.rsplit('\r').next().unwrap_or(line);
    let (mut out, mut state) = (String::with_capacity(line.len()), Sequence::None);
    for c in line.chars() {
        state = state.next(c, &mut out);
    }
    out
}

/// Where in a sequence for the terminal we are.
#[derive(Clone, Copy)]
enum Sequence {
    /// In none.
    None,
    /// After the escape character.
    Begun,
    /// Before the letter that ends it: colours, cursor movements.
    Control,
    /// Before the bell or the escape that ends it: titles, links, the clipboard.
    Text,
    /// After the escape that ends such a text.
    Ending,
}

impl Sequence {
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
            // Two characters may stand between the escape and the end: `ESC ( B`.
            (Self::Begun, ' '..='/') => Self::Begun,
            (Self::Begun, _) => Self::None,
            (Self::Control, ' '..='?') => Self::Control,
            (Self::Control | Self::None, c) => {
                // A bell or a step back would be heard or seen; a picture of it would only be noise.
                if c == '\t' || !c.is_control() {
                    push(c, out);
                }
                Self::None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flow, exact, line, printed};

    #[test]
    fn control_characters_are_shown() {
        let text = "a\x1b[31mred\x07\0\x7f\u{9b}2J\u{202e}txt.exe";
        assert_eq!(line(text), "a␛[31mred␇␀␡<U+009B>2J<U+202E>txt.exe");
        assert_eq!(line("two\nlines\r\n"), "two lines");
        assert_eq!(exact("rm\u{200b} -rf\u{e0041}\n"), "rm<U+200B> -rf<U+E0041>\n");
    }

    #[test]
    fn scripts_and_emoji_stay_as_they_are() {
        for text in ["שלום", "می‌خواهم", "👩‍👩‍👧 ok", "日本語\ttab\n", "naïve"] {
            assert_eq!(Flow::whole(text), text);
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
            assert_eq!((line(given), Flow::whole(given)), (shown.to_owned(), shown.to_owned()), "{given:?}");
        }
        for text in ["❤\u{fe0f}\u{200d}🔥", "1\u{fe0f}\u{20e3}", "क्\u{200d}ष"] {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let text = "a\r\nb\rc\r\r\nd\x1b]0;title\x07é❤\u{fe0f}\u{200d}🔥\u{200b}\r";
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (mut flow, mut out, (head, tail)) = (Flow::default(), String::new(), text.split_at(at));
            flow.push(head, &mut out);
            flow.push(tail, &mut out);
            assert_eq!(out, Flow::whole(text), "cut at {at}");
        }
        assert_eq!(Flow::whole(text), "a\nb␍c␍\nd␛]0;title␇é❤\u{fe0f}\u{200d}🔥<U+200B>");
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
            assert_eq!(printed(given), shown, "{given:?}");
        }
    }
}
