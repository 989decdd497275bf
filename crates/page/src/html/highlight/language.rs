//! Detects the language of code by the name at a fence or by the file name.

use super::languages::LANGUAGES;

/// A language that can be highlighted.
#[derive(Clone, Copy)]
pub(in crate::html) struct Language(pub(super) &'static LanguageRules);

/// The lexical rules of a language.
pub(super) struct LanguageRules {
    /// Its names, file extensions and special file names, in lower case.
    pub(super) names: &'static str,
    pub(super) shape: SyntaxShape,
    /// The starts of line comments.
    pub(super) comments: &'static [&'static str],
    /// The starts and ends of block comments.
    pub(super) blocks: &'static [(&'static str, &'static str)],
    /// Strings: longer quotes before shorter ones.
    pub(super) strings: &'static [StringSyntax],
    pub(super) keywords: &'static str,
}

/// The kind of syntax.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SyntaxShape {
    /// Words, operators, brackets.
    Code,
    /// The same, with case-insensitive keywords.
    AnyCase,
    /// Names and values: a word before a colon or an equals sign is a name.
    Keys,
    /// Elements.
    Markup,
    /// Added and removed lines.
    Diff,
}

/// A kind of string.
pub(super) struct StringSyntax {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// A backslash escapes the next character.
    pub(super) escapes: bool,
    /// It may span several lines.
    pub(super) is_long: bool,
}

impl Language {
    /// Returns the language named by a fence or a message: `rust`, `rs`, `rust,ignore`, `{.rust}`.
    pub(in crate::html) fn named(name: &str) -> Option<Self> {
        let name = name.trim_start_matches(['{', '.', ' ']);
        let name = name.split([' ', ',', '{', '}', '\t', ':']).next()?;
        Self::find(name)
    }

    /// Returns the language of a file by its name.
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
