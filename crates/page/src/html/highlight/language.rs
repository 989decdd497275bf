//! Which language a piece of code is written in: by the name that stands at a fence, or by the name of its file.

use syntect::parsing::SyntaxReference;

use super::SYNTAXES;

/// A language that can be highlighted.
#[derive(Clone, Copy)]
pub(in crate::html) struct Language(pub(super) &'static SyntaxReference);

/// Names that people use, and by what the syntaxes are found.
const ALIASES: &[(&str, &str)] = &[
    ("cjs", "js"),
    ("console", "sh"),
    ("csharp", "cs"),
    ("golang", "go"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("jsonl", "json"),
    ("jsx", "js"),
    ("mjs", "js"),
    ("mts", "ts"),
    ("node", "js"),
    ("objective-c", "m"),
    ("patch", "diff"),
    ("ps1", "powershell"),
    ("py3", "py"),
    ("rustlang", "rs"),
    ("shell-session", "sh"),
    ("terraform", "tf"),
    ("zsh", "sh"),
];

impl Language {
    /// The language that a fence or a message names: `rust`, `rs`, `rust,ignore`, `{.rust}`.
    pub(in crate::html) fn named(name: &str) -> Option<Self> {
        let name = name.trim_start_matches(['{', '.', ' ']);
        let name = name.split([' ', ',', '{', '}', '\t', ':']).next()?.to_ascii_lowercase();
        if name.is_empty() || name.len() > 40 {
            return None;
        }
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, name)| name);
        SYNTAXES.find_syntax_by_token(alias).and_then(Self::real)
    }

    /// The language of a file, by its name.
    pub(in crate::html) fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next()?;
        if name.is_empty() || name.len() > 255 {
            return None;
        }
        let by_name = || SYNTAXES.find_syntax_by_extension(name);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let alias = |ending: String| {
            let alias = ALIASES.iter().find(|(alias, _)| *alias == ending).map(|(_, name)| *name);
            SYNTAXES.find_syntax_by_extension(alias.unwrap_or(&ending))
        };
        by_name().or_else(|| ending.and_then(alias)).and_then(Self::real)
    }

    /// Plain text is no language.
    fn real(syntax: &'static SyntaxReference) -> Option<Self> {
        (syntax.name != "Plain Text").then_some(Self(syntax))
    }
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn languages_are_found() {
        let named = |name: &str| Language::named(name).map(|language| language.0.name.clone());
        for (name, found) in [
            ("rust", "Rust"),
            ("rs", "Rust"),
            ("rust,ignore", "Rust"),
            ("{.python}", "Python"),
            ("JSON", "JSON"),
            ("tsx", "TypeScriptReact"),
            ("console", "Bourne Again Shell (bash)"),
            ("toml", "TOML"),
        ] {
            assert_eq!(named(name).as_deref(), Some(found), "{name}");
        }
        assert_eq!((named("text"), named(""), named("nonsense")), (None, None, None));
    }

    #[test]
    fn files_have_a_language() {
        let of_path = |path: &str| Language::of_path(path).map(|language| language.0.name.clone());
        for (path, found) in [
            ("/src/main.rs", "Rust"),
            ("C:\\x\\app.ts", "TypeScript"),
            ("Makefile", "Makefile"),
            ("deploy/Dockerfile", "Dockerfile"),
            ("A.JSON", "JSON"),
        ] {
            assert_eq!(of_path(path).as_deref(), Some(found), "{path}");
        }
        assert_eq!((of_path("notes.txt"), of_path("/"), of_path("x.unknown")), (None, None, None));
    }
}
