//! URLs: which are safe to link, and how to find them in text.

/// Returns whether a URL may be linked: only `http`, `https` and `mailto`.
pub(crate) fn is_safe(address: &str) -> bool {
    let begins = |scheme: &str| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let is_known = ["http://", "https://", "mailto:"].into_iter().any(begins);
    is_known && address.len() <= 4_000 && !address.chars().any(|c| c.is_control()) && !has_user(address)
}

/// Returns whether user info precedes the host, where it can be mistaken for it: `https://bank.example@other.example`.
fn has_user(address: &str) -> bool {
    let host = address.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#', '\\']).next().unwrap_or_default());
    host.is_some_and(|host| host.contains('@'))
}

/// Returns whether a link text looks like a URL, so that users take it for the target.
pub(super) fn looks_like_address(text: &str) -> bool {
    let text = text.trim();
    text.contains("://") || text.starts_with("www.") || text.starts_with("mailto:") || is_host(text)
}

/// Returns whether a text starts with a possible host name.
fn is_host(text: &str) -> bool {
    let host = text.split(['/', ':', '?', '#']).next().unwrap_or_default();
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '@');
    let end = host.rsplit_once('.').map(|(_, end)| end);
    host.chars().all(is_letter) && end.is_some_and(|end| end.len() > 1 && end.chars().all(char::is_alphabetic))
}

/// Returns whether a link text names the actual target.
pub(super) fn says_where(text: &str, address: &str) -> bool {
    let bare = |address: &str| {
        let address = address.trim().trim_end_matches('/');
        let address = address.strip_prefix("mailto:").or_else(|| address.split_once("://").map(|(_, rest)| rest));
        address.map(str::to_owned)
    };
    let text = text.trim().trim_end_matches('/');
    let address = address.trim().trim_end_matches('/');
    text == address || bare(address).is_some_and(|bare| bare == text || Some(bare) == self::bare(text))
}

fn bare(text: &str) -> Option<String> {
    text.split_once("://").map(|(_, rest)| rest.to_owned())
}

/// Returns the start and end of the first URL in a text.
pub(super) fn find(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(text.as_bytes().get(from..)?, b"http") {
        let start = from + at;
        let length = length(text.get(start..)?);
        let stands_alone = !text.get(..start)?.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if length > "https://".len() && stands_alone {
            return Some((start, start + length));
        }
        from = start + "http".len();
    }
    None
}

/// Returns the length of the URL at the start of a text.
fn length(text: &str) -> usize {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return 0;
    }
    let ends = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '`' | '|' | '\\' | '^' | '{' | '}')
    };
    let whole = text.split(ends).next().unwrap_or_default();
    let mut address = whole;
    loop {
        let trimmed = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~']);
        // A bracket at the end belongs to the URL only if it was opened in it.
        let closes = |open: char, close: char| {
            trimmed.ends_with(close) && trimmed.matches(close).count() > trimmed.matches(open).count()
        };
        let shorter = if closes('(', ')') || closes('[', ']') { trimmed.get(..trimmed.len() - 1) } else { None };
        match shorter {
            Some(shorter) => address = shorter,
            None => return trimmed.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{find, is_safe, looks_like_address, says_where};

    #[test]
    fn only_the_web_is_safe() {
        for address in ["http://a", "HTTPS://a/b?c=d&e", "mailto:a@b"] {
            assert!(is_safe(address), "{address}");
        }
        for address in [
            "javascript:alert(1)",
            "JaVaScRiPt:1",
            " https://a",
            "java\nscript:1",
            "data:text/html,x",
            "vbscript:x",
            "//a",
            "/a",
            "#a",
            "https:a",
            "\u{1}javascript:1",
            "https://a\nb",
            "file:///etc/passwd",
            "https://bank.example@other.example/",
            "ftp://a",
            "",
        ] {
            assert!(!is_safe(address), "{address}");
        }
    }

    #[test]
    fn addresses_in_text_are_found() {
        let found = |text: &str| find(text).map(|(start, end)| text.get(start..end).unwrap().to_owned());
        assert_eq!(found("see https://a.b/c_d, and").as_deref(), Some("https://a.b/c_d"));
        assert_eq!(found("(https://a.b/(c))").as_deref(), Some("https://a.b/(c)"));
        assert_eq!(found("http:// xhttp://a https://").as_deref(), None);
        assert_eq!(found("nothing"), None);
    }

    #[test]
    fn a_text_says_where_it_leads() {
        assert!(says_where("https://a.b/", "https://a.b"));
        assert!(says_where("a.b", "https://a.b"));
        assert!(says_where("x@y.z", "mailto:x@y.z"));
        assert!(!says_where("https://good.example", "https://bad.example"));
        assert!(
            ["bank.example", "www.bank.example/login", "a.b.example:80/x", "x@bank.example"]
                .iter()
                .all(|text| looks_like_address(text))
        );
        assert!(!["the bank", "v1.2", "e.g.", "a.b c", "…"].iter().any(|text| looks_like_address(text)));
    }
}
