//! Detects the language of code by the name at a fence or by the file name.

/// A language that can be highlighted.
#[derive(Clone, Copy)]
pub(in crate::html) struct Language(pub(crate) &'static LanguageRules);

/// The lexical rules of a language.
pub(crate) struct LanguageRules {
    /// Its names, file extensions and special file names, in lower case.
    pub(crate) names: &'static str,
    pub(crate) shape: SyntaxShape,
    /// The starts of line comments.
    pub(crate) comments: &'static [&'static str],
    /// The starts and ends of block comments.
    pub(crate) blocks: &'static [(&'static str, &'static str)],
    /// Strings: longer quotes before shorter ones.
    pub(crate) strings: &'static [StringSyntax],
    pub(crate) keywords: &'static str,
}

/// The kind of syntax.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyntaxShape {
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
pub(crate) struct StringSyntax {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
    /// A backslash escapes the next character.
    pub(crate) escapes: bool,
    /// It may span several lines.
    pub(crate) is_long: bool,
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

const fn short(mark: &'static str) -> StringSyntax {
    StringSyntax { open: mark, close: mark, escapes: true, is_long: false }
}

const fn long(mark: &'static str) -> StringSyntax {
    StringSyntax { open: mark, close: mark, escapes: true, is_long: true }
}

const fn raw(open: &'static str, close: &'static str) -> StringSyntax {
    StringSyntax { open, close, escapes: false, is_long: true }
}

const SLASH_COMMENTS: &[&str] = &["//"];
const HASH_COMMENTS: &[&str] = &["#"];
const STAR_COMMENTS: &[(&str, &str)] = &[("/*", "*/")];
const BOTH_QUOTES: &[StringSyntax] = &[short("\""), short("'")];

/// Creates a language with `//` and `/* */` comments and strings in both quotes.
const fn curly(names: &'static str, keywords: &'static str) -> LanguageRules {
    LanguageRules {
        names,
        shape: SyntaxShape::Code,
        comments: SLASH_COMMENTS,
        blocks: STAR_COMMENTS,
        strings: BOTH_QUOTES,
        keywords,
    }
}

/// Creates a language with `#` comments and strings in both quotes.
const fn hashed(names: &'static str, keywords: &'static str) -> LanguageRules {
    LanguageRules {
        names,
        shape: SyntaxShape::Code,
        comments: HASH_COMMENTS,
        blocks: &[],
        strings: BOTH_QUOTES,
        keywords,
    }
}

/// Creates a language of names and values with `#` comments.
const fn keyed(names: &'static str) -> LanguageRules {
    LanguageRules {
        names,
        shape: SyntaxShape::Keys,
        comments: HASH_COMMENTS,
        blocks: &[],
        strings: BOTH_QUOTES,
        keywords: "true false null yes no on off",
    }
}

const TYPESCRIPT_KEYWORDS: &str = "abstract any as asserts async await boolean break case catch class const constructor continue debugger \
    declare default delete do else enum export extends finally for from function get if implements import in infer \
    instanceof interface is keyof let module namespace never new null number object of override private protected public \
    readonly return satisfies set static string super switch symbol this throw true try type typeof undefined unknown \
    var void while with yield false";

static LANGUAGES: &[LanguageRules] = &[
    LanguageRules {
        strings: &[raw("r##\"", "\"##"), raw("r#\"", "\"#"), raw("r\"", "\""), long("b\""), long("\"")],
        ..curly(
            "rust rs",
            "as async await break const continue crate dyn else enum extern false fn for if impl in let loop macro_rules \
             match mod move mut pub ref return self static struct super trait true type union unsafe use where while yield \
             bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize",
        )
    },
    LanguageRules {
        strings: &[long("`"), short("\""), short("'")],
        ..curly("typescript javascript ts tsx js jsx mjs cjs mts cts node", TYPESCRIPT_KEYWORDS)
    },
    LanguageRules {
        strings: &[long("\"\"\""), long("'''"), raw("r\"", "\""), raw("r'", "'"), short("\""), short("'")],
        ..hashed(
            "python py py3 pyi pyw python3 starlark bzl bazel",
            "and as assert async await break case class continue def del elif else except False finally for from global \
             if import in is lambda match None nonlocal not or pass raise return self True try while with yield",
        )
    },
    LanguageRules {
        shape: SyntaxShape::Keys,
        comments: SLASH_COMMENTS,
        blocks: STAR_COMMENTS,
        strings: &[short("\"")],
        ..hashed("json jsonc json5 jsonl ndjson webmanifest ipynb geojson", "true false null")
    },
    LanguageRules {
        strings: &[raw("'", "'"), long("\""), long("`")],
        ..hashed(
            "bash sh shell zsh ksh fish console shell-session shellsession terminal .bashrc .zshrc .profile",
            "alias case cd do done echo elif else esac eval exec exit export fi for function if in let local read readonly \
             return select set shift source then trap unset until while",
        )
    },
    curly(
        "c c++ cpp cc cxx h hpp hh hxx ino cu objective-c objc m mm glsl hlsl wgsl",
        "alignas alignof and auto bool break case catch char class const consteval constexpr constinit continue co_await \
         co_return co_yield decltype default delete do double else enum explicit export extern false final float for friend \
         goto if inline int long mutable namespace new noexcept nullptr operator or override private protected public \
         register requires return short signed sizeof static struct switch template this throw true try typedef typename \
         union unsigned using virtual void volatile wchar_t while",
    ),
    LanguageRules {
        strings: &[raw("`", "`"), short("\""), short("'")],
        ..curly(
            "go golang",
            "any bool break byte case chan const continue default defer else error fallthrough false float32 float64 for \
             func go goto if import int int8 int16 int32 int64 interface map nil package range return rune select string \
             struct switch true type uint uint8 uint16 uint32 uint64 var",
        )
    },
    LanguageRules {
        strings: &[long("\"\"\""), short("\""), short("'")],
        ..curly(
            "java kotlin kt kts scala sc groovy gradle",
            "abstract as assert boolean break by byte case catch char class companion const continue data def default do \
             double else enum extends false final finally float for fun given if implements implicit import in init inner \
             instanceof int interface internal is lateinit lazy long match native new null object open operator override \
             package private protected public record return sealed short static super suspend switch synchronized this \
             throw throws trait transient true try type val var void volatile when while with yield",
        )
    },
    LanguageRules {
        strings: &[long("\"\"\""), raw("@\"", "\""), short("\""), short("'")],
        ..curly(
            "csharp cs c# fsharp fs swift dart zig",
            "abstract actor any as async await base bool break byte case catch char checked class comptime const continue \
             decimal default defer delegate do double dynamic else enum event explicit export extension extern false \
             fileprivate final finally float fn for foreach func get goto guard if implicit import in init inout int \
             interface internal is late let lock long module mut namespace new nil null object open operator out override \
             params private protected protocol pub public readonly record ref required return sealed self set short sizeof \
             static string struct super switch this throw throws true try type typeof uint union using var virtual void \
             volatile when where while yield",
        )
    },
    LanguageRules {
        comments: &["//", "#"],
        ..curly(
            "php phtml",
            "abstract and array as break callable case catch class clone const continue declare default do echo else elseif \
             empty enum extends false final finally fn for foreach function global if implements include instanceof \
             insteadof interface isset list match namespace new null or print private protected public readonly require \
             require_once return static switch this throw trait true try unset use var while yield",
        )
    },
    LanguageRules {
        blocks: &[("=begin", "=end")],
        ..hashed(
            "ruby rb rake gemspec gemfile rakefile podfile elixir ex exs crystal perl pl pm r jl julia nim tcl",
            "alias and begin break case class cond const def defmodule defp do else elsif end ensure false fn for function \
             if import in include let local macro module my next nil not or our package print proc puts quote raise redo \
             require rescue retry return self struct sub super then true undef unless until use using var when where while \
             with yield",
        )
    },
    LanguageRules {
        shape: SyntaxShape::AnyCase,
        comments: &["--"],
        blocks: STAR_COMMENTS,
        strings: &[raw("'", "'"), raw("\"", "\"")],
        ..hashed(
            "sql mysql postgres postgresql sqlite plsql tsql ddl",
            "add all alter and as asc begin between bigint blob boolean by case cascade check column commit constraint create \
             cross date default delete desc distinct drop else end exists explain false foreign from full function group \
             having if in index inner insert int integer into is join key left like limit not null numeric offset on or order \
             outer pragma primary references replace returning right rollback select serial set table text then timestamp \
             transaction trigger true union unique update using values varchar view when where with without",
        )
    },
    LanguageRules {
        comments: &["--"],
        blocks: &[("--[[", "]]"), ("{-", "-}")],
        strings: &[raw("[[", "]]"), short("\"")],
        ..hashed(
            "lua haskell hs elm purescript",
            "and as break case class data deriving do else elseif end false for foreign forall function goto hiding if import \
             in infix infixl infixr instance let local module newtype nil not of or qualified repeat return then true type \
             until where while",
        )
    },
    LanguageRules {
        comments: &[";"],
        strings: &[long("\"")],
        ..hashed(
            "lisp clojure clj cljs edn scheme scm racket rkt el emacs-lisp fennel",
            "and case cond def defn defmacro defun define do else false fn if import in lambda let letfn loop nil not ns or quote \
             recur require set true when",
        )
    },
    LanguageRules {
        shape: SyntaxShape::Keys,
        comments: &[],
        blocks: STAR_COMMENTS,
        ..curly("css scss sass less pcss", "important")
    },
    LanguageRules {
        shape: SyntaxShape::Keys,
        strings: &[long("\"\"\""), long("'''"), short("\""), raw("'", "'")],
        ..keyed("toml cargo.lock")
    },
    keyed("yaml yml eyaml"),
    LanguageRules {
        comments: &["#", ";"],
        ..keyed(
            "ini cfg conf config properties env .env editorconfig .editorconfig .gitignore .gitattributes desktop service",
        )
    },
    LanguageRules {
        comments: &["#", "//"],
        blocks: STAR_COMMENTS,
        strings: &[short("\"")],
        ..keyed("terraform tf hcl tfvars nix graphql gql proto protobuf thrift prisma bicep")
    },
    LanguageRules {
        shape: SyntaxShape::AnyCase,
        ..hashed(
            "dockerfile docker containerfile",
            "add arg as cmd copy entrypoint env expose from healthcheck label maintainer onbuild run shell stopsignal user \
             volume workdir",
        )
    },
    hashed(
        "makefile make mk gnumakefile cmake cmakelists.txt just justfile ninja meson.build",
        "define else elseif endef endforeach endfunction endif foreach function if ifdef ifeq ifndef ifneq include override \
         export macro endmacro set",
    ),
    LanguageRules {
        shape: SyntaxShape::AnyCase,
        blocks: &[("<#", "#>")],
        ..hashed(
            "powershell ps1 psm1 psd1 pwsh bat cmd batch",
            "begin break catch class continue default do dynamicparam echo else elseif end enum exit filter finally for \
             foreach from function goto if in param process rem return set switch throw trap try until using while",
        )
    },
    LanguageRules {
        shape: SyntaxShape::Markup,
        comments: &[],
        blocks: &[("<!--", "-->"), ("<![CDATA[", "]]>")],
        ..hashed("html htm xml xhtml svg vue svelte astro xsl xslt plist rss jsp erb ejs hbs handlebars csproj", "")
    },
    LanguageRules { shape: SyntaxShape::Diff, comments: &[], strings: &[], ..hashed("diff patch", "") },
];

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
