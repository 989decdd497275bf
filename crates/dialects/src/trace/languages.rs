//! Detects the language of a file by its name.

/// Returns the language of a file, if its name is known.
pub fn file_language(path: &str) -> Option<&'static str> {
    let name = path.rsplit(['/', '\\']).next()?;
    find_language(LANGUAGES_BY_NAME, name)
        .or_else(|| find_language(LANGUAGES_BY_EXTENSION, &name.rsplit_once('.')?.1.to_ascii_lowercase()))
}

type LanguageTable = &'static [(&'static str, &'static [&'static str])];

/// Languages by complete file name.
const LANGUAGES_BY_NAME: LanguageTable = &[
    ("makefile", &["Makefile", "makefile", "GNUmakefile"]),
    ("dockerfile", &["Dockerfile", "Containerfile"]),
    ("cmake", &["CMakeLists.txt"]),
    ("ruby", &["Gemfile", "Rakefile"]),
    ("groovy", &["Jenkinsfile"]),
    ("just", &["justfile", "Justfile"]),
    ("shell", &[".bashrc", ".profile", ".zshrc"]),
];

/// Languages by file extension.
const LANGUAGES_BY_EXTENSION: LanguageTable = &[
    ("rust", &["rs"]),
    ("typescript", &["ts", "tsx", "mts", "cts"]),
    ("javascript", &["js", "jsx", "mjs", "cjs"]),
    ("python", &["py", "pyi"]),
    ("go", &["go"]),
    ("java", &["java"]),
    ("kotlin", &["kt", "kts"]),
    ("swift", &["swift"]),
    ("c", &["c", "h"]),
    ("cpp", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"]),
    ("csharp", &["cs"]),
    ("fsharp", &["fs", "fsx"]),
    ("objective-c", &["m", "mm"]),
    ("ruby", &["rb"]),
    ("php", &["php"]),
    ("perl", &["pl", "pm"]),
    ("lua", &["lua"]),
    ("r", &["r"]),
    ("julia", &["jl"]),
    ("scala", &["scala", "sc"]),
    ("clojure", &["clj", "cljs", "cljc"]),
    ("elixir", &["ex", "exs"]),
    ("erlang", &["erl", "hrl"]),
    ("haskell", &["hs"]),
    ("ocaml", &["ml", "mli"]),
    ("dart", &["dart"]),
    ("zig", &["zig"]),
    ("nim", &["nim"]),
    ("groovy", &["groovy", "gradle"]),
    ("shell", &["sh", "bash", "zsh", "fish"]),
    ("powershell", &["ps1", "psm1"]),
    ("batch", &["bat", "cmd"]),
    ("sql", &["sql"]),
    ("html", &["html", "htm"]),
    ("css", &["css"]),
    ("scss", &["scss", "sass"]),
    ("less", &["less"]),
    ("vue", &["vue"]),
    ("svelte", &["svelte"]),
    ("json", &["json", "jsonl", "json5", "jsonc"]),
    ("yaml", &["yaml", "yml"]),
    ("toml", &["toml"]),
    ("xml", &["xml", "xsd", "xsl", "svg"]),
    ("ini", &["ini", "cfg", "conf"]),
    ("markdown", &["md", "markdown", "mdx"]),
    ("restructuredtext", &["rst"]),
    ("latex", &["tex"]),
    ("protobuf", &["proto"]),
    ("graphql", &["graphql", "gql"]),
    ("hcl", &["tf", "tfvars", "hcl"]),
    ("nix", &["nix"]),
    ("cmake", &["cmake"]),
    ("makefile", &["mk"]),
    ("dockerfile", &["dockerfile"]),
    ("jupyter", &["ipynb"]),
    ("text", &["txt", "log"]),
    ("csv", &["csv"]),
    ("diff", &["diff", "patch"]),
];

fn find_language(table: LanguageTable, word: &str) -> Option<&'static str> {
    table.iter().find(|(_, words)| words.contains(&word)).map(|(language, _)| *language)
}

#[cfg(test)]
mod tests {
    use super::file_language;

    #[test]
    fn names_tell_the_language() {
        for (path, language) in [
            ("/w/src/main.rs", Some("rust")),
            ("App.TSX", Some("typescript")),
            ("C:\\w\\a.py", Some("python")),
            ("/w.d/Makefile", Some("makefile")),
            ("CMakeLists.txt", Some("cmake")),
            ("/w/noext", None),
            ("/w/odd.xyz", None),
            ("", None),
        ] {
            assert_eq!(file_language(path), language, "{path}");
        }
    }
}
