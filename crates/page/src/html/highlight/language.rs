//! Which language a piece of code is written in: by the name that stands at a fence, or by the name of its file.

use super::languages::LANGUAGES;

/// A language that can be highlighted.
#[derive(Clone, Copy)]
pub(in crate::html) struct Language(pub(super) &'static Rules);

/// How a language is written.
pub(super) struct Rules {
    /// Its names, the endings of its files, and files that are called otherwise, in small letters.
    pub(super) names: &'static str,
    /// What it looks like.
    pub(super) shape: Shape,
    /// What begins a comment that ends with the line.
    pub(super) comments: &'static [&'static str],
    /// What begins and ends other comments.
    pub(super) blocks: &'static [(&'static str, &'static str)],
    /// Strings: the longer marks before the shorter.
    pub(super) strings: &'static [Quote],
    /// Its keywords.
    pub(super) keywords: &'static str,
}

/// The look of a language.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Words, operators, brackets.
    Code,
    /// The same, and the case of keywords does not matter.
    AnyCase,
    /// Names and values: what stands before a colon or an equals sign is a name.
    Keys,
    /// Elements.
    Markup,
    /// Lines that are added and taken away.
    Diff,
}

/// A kind of string.
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// A backslash takes the next character in.
    pub(super) escapes: bool,
    /// It may go over several lines.
    pub(super) is_long: bool,
}

impl Language {
    /// The language that a fence or a message names: `rust`, `rs`, `rust,ignore`, `{.rust}`.
    pub(in crate::html) fn named(name: &str) -> Option<Self> {
        let name = name.trim_start_matches(['{', '.', ' ']);
        let name = name.split([' ', ',', '{', '}', '\t', ':']).next()?;
        Self::find(name)
    }

    /// The language of a file, by its name.
    pub(in crate::html) fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next()?;
        Self::find(name).or_else(|| Self::find(name.rsplit_once('.')?.1))
    }

    fn find(name: &str) -> Option<Self> {
        if name.is_empty() || name.len() > 40 {
            return None;
        }
        let name = name.to_ascii_lowercase();
        LANGUAGES.iter().find(|rules| rules.names.split(' ').any(|known| known == name)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::Language;

    /// The first name of what is found.
    fn first(language: Option<Language>) -> Option<&'static str> {
        language?.0.names.split(' ').next()
    }

    #[test]
    fn languages_are_found() {
        for (name, found) in [
            ("rust", "rust"),
            ("rs", "rust"),
            ("rust,ignore", "rust"),
            ("{.python}", "python"),
            ("JSON", "json"),
            ("tsx", "typescript"),
            ("console", "bash"),
            ("c++", "c"),
        ] {
            assert_eq!(first(Language::named(name)), Some(found), "{name}");
        }
        for name in ["text", "", "nonsense", "{}"] {
            assert_eq!(first(Language::named(name)), None, "{name}");
        }
    }

    #[test]
    fn files_have_a_language() {
        for (path, found) in [
            ("/src/main.rs", "rust"),
            ("C:\\x\\app.ts", "typescript"),
            ("Makefile", "makefile"),
            ("deploy/Dockerfile", "dockerfile"),
            ("A.JSON", "json"),
            (".gitignore", "ini"),
        ] {
            assert_eq!(first(Language::of_path(path)), Some(found), "{path}");
        }
        for path in ["notes.txt", "/", "x.unknown", ""] {
            assert_eq!(first(Language::of_path(path)), None, "{path}");
        }
    }
}
