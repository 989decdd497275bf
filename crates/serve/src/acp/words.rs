//! The words of a prompt, put together of pieces that know nothing of each other, and files as they are mentioned in it.

/// What a prompt says so far.
#[derive(Default)]
pub struct Words {
    text: String,
    /// What stands between the last piece and the next, unless there is space already.
    gap: &'static str,
}

impl Words {
    /// Something that was typed.
    pub fn typed(&mut self, text: &str) {
        self.add(text);
        // Two texts in a row are two paragraphs, or so they were meant.
        self.gap = "\n";
    }

    /// Something that is mentioned between the words.
    pub fn mention(&mut self, mention: &str) {
        self.gap = " ";
        self.add(mention);
    }

    /// Something that is shown between the words, and not said.
    pub fn show(&mut self) {
        self.gap = " ";
    }

    fn add(&mut self, piece: &str) {
        let apart = |one: char| !one.is_whitespace();
        if self.text.ends_with(apart) && piece.starts_with(apart) {
            self.text.push_str(self.gap);
        }
        self.text.push_str(piece);
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A file or another place, as agents find it in a prompt. One with spaces is quoted, so that it is seen where it ends.
pub fn at(place: &str) -> String {
    if place.contains(char::is_whitespace) {
        return format!("@\"{}\"", place.replace('"', "\\\""));
    }
    format!("@{place}")
}

/// The path of a file's URI.
pub fn path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let here = rest.strip_prefix("localhost").filter(|path| path.starts_with('/'));
    Some(decoded(here.unwrap_or(rest)))
}

/// A path, or the URI of what is no file.
pub fn place(uri: &str) -> String {
    path(uri).unwrap_or_else(|| uri.to_owned())
}

/// Without the escapes of URIs; as it was if that is no text.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.first_chunk::<2>().filter(|_| *first == b'%').and_then(byte);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn byte(digits: &[u8; 2]) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
}

#[cfg(test)]
mod tests {
    use super::{Words, at, path};

    #[test]
    fn a_file_is_found_by_its_path() {
        for (uri, want) in [
            ("file:///w/a.rs", "@/w/a.rs"),
            ("file://localhost/w/a.rs", "@/w/a.rs"),
            ("file:///w/my%20notes/%C3%A9.md#L1", "@\"/w/my notes/é.md#L1\""),
            ("file:///w/100%", "@/w/100%"),
            ("file:///w/%zz%4", "@/w/%zz%4"),
            ("file:///w/%FF", "@/w/%FF"),
        ] {
            assert_eq!(at(&path(uri).unwrap()), want, "{uri}");
        }
        assert_eq!(path("https://w/a"), None);
    }

    #[test]
    fn pieces_stand_apart() {
        let mut words = Words::default();
        words.mention("@a");
        words.mention("@b");
        words.typed("and ");
        words.mention("@c");
        words.typed("");
        words.typed("\tthen");
        words.typed("this");
        words.show();
        words.typed("last");
        assert_eq!(words.finish(), "@a @b and @c\tthen\nthis last");
    }
}
