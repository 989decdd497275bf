//! Files and directories that git runs, reads or writes. Its configuration names some of them: hooks in another
//! directory (`core.hooksPath`) and further configuration (`include.path`, `includeIf.*.path`), which are equivalent to
//! `.git/hooks` and `.git/config` wherever they are. The configuration is parsed without running git, which would itself
//! run programs that the configuration names.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::paths::{read_bounded_file, resolve_path};

const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The maximum number of configuration files of one repository, including nested ones.
const MAX_CONFIG_FILES: usize = 64;

/// The hooks that git runs. They matter where the hooks directory is the work tree itself.
#[rustfmt::skip]
const HOOK_NAMES: [&str; 28] = [
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "p4-changelist", "p4-post-changelist", "p4-pre-submit",
    "p4-prepare-changelist", "post-applypatch", "post-checkout", "post-commit", "post-index-change", "post-merge",
    "post-receive", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit",
    "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "proc-receive", "push-to-checkout",
    "reference-transaction", "sendemail-validate", "update",
];

/// The user's configuration, which applies to every repository.
#[derive(Clone, Debug, Default)]
pub struct UserGitConfig {
    home: PathBuf,
    config: GitConfig,
}

impl UserGitConfig {
    pub fn read(home: &Path) -> Self {
        let files = [home.join(".config/git/config"), home.join(".gitconfig")];
        Self { home: home.to_owned(), config: GitConfig::read(&files, home) }
    }

    /// Returns the paths that the configuration of a work tree names, resolved. They need not exist. `directory`
    /// contains the `.git` of the work tree, or is the directory of a repository.
    pub fn named_paths(&self, directory: &Path) -> Vec<PathBuf> {
        let Some(repository) = GitRepository::find(directory) else { return Vec::new() };
        let own = GitConfig::read(&repository.files, &self.home);
        let worktree = own.worktree.as_ref().map_or(repository.worktree, |path| repository.directory.join(path));
        let hooks = own.hooks.iter().chain(&self.config.hooks).flat_map(|hooks| {
            let hooks = worktree.join(hooks);
            let is_worktree = resolve_path(&worktree).ok().zip(resolve_path(&hooks).ok());
            match is_worktree.is_some_and(|(worktree, hooks)| worktree.starts_with(hooks)) {
                true => HOOK_NAMES.iter().map(|name| hooks.join(name)).collect(),
                false => vec![hooks],
            }
        });
        let included = own.included.iter().chain(&self.config.included).cloned();
        let named: BTreeSet<_> = hooks.chain(included).filter_map(|path| resolve_path(&path).ok()).collect();
        named.into_iter().collect()
    }

    pub fn named_paths_above(&self, directory: &Path) -> Vec<PathBuf> {
        directory.ancestors().flat_map(|directory| self.named_paths(directory)).collect()
    }
}

/// A repository and the work tree that leads to it.
struct GitRepository {
    directory: PathBuf,
    worktree: PathBuf,
    files: Vec<PathBuf>,
}

impl GitRepository {
    fn find(directory: &Path) -> Option<Self> {
        let link = directory.join(".git");
        let is_repository = |path: &Path| path.join("HEAD").is_file() && path.join("config").is_file();
        let found = fs::metadata(&link).ok();
        let own = match found {
            Some(found) if found.is_dir() => link,
            Some(_) => directory.join(read_path(&link, "gitdir: ")?),
            // A bare repository, or that of a submodule.
            None if is_repository(directory) => directory.to_owned(),
            None => return None,
        };
        let common = read_path(&own.join("commondir"), "").map_or_else(|| own.clone(), |path| own.join(path));
        let files = vec![common.join("config"), own.join("config.worktree")];
        Some(Self { directory: own, worktree: directory.to_owned(), files })
    }
}

/// Returns the path in the first line of a small file that is not a link.
fn read_path(file: &Path, prefix: &str) -> Option<PathBuf> {
    fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file)?;
    let text = String::from_utf8(read_bounded_file(file, 4096).ok()?).ok()?;
    Some(PathBuf::from(text.lines().next()?.strip_prefix(prefix)?.trim()))
}

#[derive(Clone, Debug, Default)]
struct GitConfig {
    hooks: Vec<PathBuf>,
    included: Vec<PathBuf>,
    worktree: Option<PathBuf>,
}

impl GitConfig {
    /// Reads configuration files. Conditions of included files are not evaluated: each may hold later.
    fn read(files: &[PathBuf], home: &Path) -> Self {
        let mut config = Self::default();
        let (mut left, mut seen) = (files.to_vec(), BTreeSet::new());
        while let Some(file) = left.pop().filter(|_| seen.len() < MAX_CONFIG_FILES) {
            if !seen.insert(file.clone()) {
                continue;
            }
            let Ok(bytes) = read_bounded_file(&file, MAX_CONFIG_BYTES) else { continue };
            for (key, value) in parse_variables(&String::from_utf8_lossy(&bytes)) {
                let Some(path) = expand_path(&value, home) else { continue };
                match key.as_str() {
                    "core.hookspath" => config.hooks.push(path),
                    "core.worktree" => config.worktree = Some(path),
                    "include.path" | "includeif.path" => {
                        let path = file.parent().map_or_else(|| path.clone(), |directory| directory.join(&path));
                        config.included.push(path.clone());
                        left.push(path);
                    }
                    _ => {}
                }
            }
        }
        config
    }
}

/// Expands a path as git does. `None` for another user's home directory, and for git's own installation.
fn expand_path(value: &str, home: &Path) -> Option<PathBuf> {
    let value = value.strip_prefix(":(optional)").unwrap_or(value);
    if let Some(in_home) = value.strip_prefix("~/") {
        return Some(home.join(in_home));
    }
    let is_known = !value.is_empty() && !value.starts_with('~') && !value.starts_with("%(");
    is_known.then(|| PathBuf::from(value))
}

/// Parses the variables of a configuration file, as `section.name` in lower case and without subsections.
fn parse_variables(text: &str) -> Vec<(String, String)> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let (mut found, mut section, mut rest) = (Vec::new(), String::new(), text.as_str());
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return found };
        match first {
            '#' | ';' => rest = rest.split_once('\n').map_or("", |(_, rest)| rest),
            '[' => {
                let header = section_header_length(rest);
                let name = rest.get(1..header).unwrap_or_default();
                section = name.split([' ', '\t', '.', '"', ']']).next().unwrap_or_default().to_lowercase();
                rest = rest.get(header..).unwrap_or_default();
            }
            _ => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                let after = after.trim_start_matches([' ', '\t']);
                match after.strip_prefix('=') {
                    Some(given) => {
                        let (value, length) = parse_value(given);
                        found.push((format!("{section}.{}", name.to_lowercase()), value));
                        rest = given.get(length..).unwrap_or_default();
                    }
                    // A variable without a value, or a line that git would refuse.
                    None => rest = after.split_once('\n').map_or("", |(_, rest)| rest),
                }
            }
        }
    }
}

/// Returns the length of a section header, with its brackets. A bracket in a quoted name does not end it.
fn section_header_length(text: &str) -> usize {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ']' if !is_quoted => return at + 1,
            '\n' => return at,
            _ => {}
        }
    }
    text.len()
}

/// Parses a value. Returns it with its length in the text, including the line ending.
fn parse_value(text: &str) -> (String, usize) {
    let (mut value, mut kept, mut is_quoted, mut is_comment) = (String::new(), 0, false, false);
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\n' => {
                value.truncate(kept);
                return (value, at + 1);
            }
            _ if is_comment => {}
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => is_comment = true,
            '\\' => match letters.next() {
                Some((_, '\n')) | None => {}
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, 'b')) => value.push('\u{8}'),
                Some((_, other)) => value.push(other),
            },
            ' ' | '\t' if !is_quoted && value.is_empty() => {}
            other => value.push(other),
        }
        // Trailing blanks count only in quotes.
        if is_quoted || !letter.is_whitespace() && !is_comment {
            kept = value.len();
        }
    }
    value.truncate(kept);
    (value, text.len())
}

const REPOSITORY_FILES: [&str; 4] = ["hooks", "config", "config.worktree", "info/attributes"];

const WORKTREE_FILES: [&str; 3] = ["gitdir", "commondir", "config.worktree"];

/// Returns the directory that git writes for a workspace that is a linked worktree; `None` for others. It lies outside
/// of the workspace.
///
/// The file `.git` is part of the workspace, so an agent may have written it. The repository must name the workspace as
/// one of its worktrees, which only a program with access to the repository can have arranged.
pub fn linked_worktree_repository(workspace: &Path) -> Option<PathBuf> {
    let canonicalize = |base: &Path, path: PathBuf| fs::canonicalize(base.join(path)).ok();
    let link = workspace.join(".git");
    let own = canonicalize(workspace, read_path(&link, "gitdir: ")?)?;
    let common = canonicalize(&own, read_path(&own.join("commondir"), "")?)?;
    let back = read_path(&own.join("gitdir"), "")?;
    let names_workspace = fs::canonicalize(back).ok()? == fs::canonicalize(&link).ok()?;
    let is_repository =
        common.join("HEAD").is_file() && common.join("objects").is_dir() && common.join("refs").is_dir();
    let is_inside = own.starts_with(common.join("worktrees"));
    (names_workspace && is_repository && is_inside).then_some(common)
}

/// Returns the existing files and directories of a repository that run code later or name its location. Its directory
/// may have any name, so they are not recognized by their paths. The directory for hooks is created: otherwise it could
/// be created and filled from inside.
pub fn protected_repository_paths(repository: &Path) -> Vec<PathBuf> {
    drop(fs::create_dir_all(repository.join("hooks")));
    let worktrees = fs::read_dir(repository.join("worktrees")).into_iter().flatten().flatten();
    let worktrees = worktrees.flat_map(|worktree| WORKTREE_FILES.map(|name| worktree.path().join(name)));
    let own = REPOSITORY_FILES.map(|name| repository.join(name)).into_iter().chain(worktrees);
    own.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink())).collect()
}

#[cfg(test)]
mod tests {
    use super::{UserGitConfig, parse_variables};
    use crate::test_tree::TestTree;

    #[test]
    fn variables_are_read_as_git_reads_them() {
        let text = "\u{feff}# comment\n[core]\n\thooksPath = .githooks ; comment\n bare\n[Include \"a]b\"] path=x\r\n\
                    [includeIf \"gitdir:~/w/\"]\n\tpath = \"a b\\\\c # \" # d\n[core] HOOKSPATH=one\\\n  two \n[x]y=\"q\n";
        let expected = [
            ("core.hookspath", ".githooks"),
            ("include.path", "x"),
            ("includeif.path", "a b\\c # "),
            ("core.hookspath", "one  two"),
            ("x.y", "q"),
        ];
        assert_eq!(parse_variables(text), expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        for broken in ["[", "[a", "a", "=", "a=\\", "[\"", "é=1", "]]"] {
            parse_variables(broken);
        }
    }

    #[test]
    fn named_paths_are_relative_as_for_git() {
        let tree = TestTree::new(&[]);
        let write = |path: &str, text: &str| tree.write(path, text);
        write("w/.git/config", "[core]\nhooksPath=.githooks\n[include]\npath=../tools/inc\n");
        write("w/tools/inc", "[core]\nhooksPath=~/hooks\n[includeIf \"x\"]\npath=more\n[include]\npath=inc\n");
        write("w/.git/modules/m/HEAD", "");
        write("w/.git/modules/m/config", "[core]\nworktree=../../../m\nhooksPath=h\n");
        write("w/m/.git", "gitdir: ../.git/modules/m\n");
        write("w/.git/worktrees/t/commondir", "../..\n");
        write("t/.git", &format!("gitdir: {}\n", tree.join("w/.git/worktrees/t").display()));
        write("bare/HEAD", "");
        write("bare/config", "[core]\nhooksPath=x\n");
        let named = |home: &str, directory: &str| -> Vec<_> {
            let named = UserGitConfig::read(&tree.join(home)).named_paths(&tree.join(directory));
            named.iter().map(|path| tree.relative(path)).collect()
        };
        assert_eq!(named("home", "w"), ["home/hooks", "w/.githooks", "w/tools/inc", "w/tools/more"]);
        assert_eq!(named("home", "t"), ["home/hooks", "t/.githooks", "w/tools/inc", "w/tools/more"]);
        for module in ["w/m", "w/.git/modules/m"] {
            assert_eq!(named("home", module), ["w/m/h"], "{module}");
        }
        assert_eq!(named("home", "bare"), ["bare/x"]);
        assert_eq!(named("home", "w/tools"), [""; 0]);
        // The work tree itself has files other than hooks.
        write("other/.gitconfig", "[core]\nhooksPath=.\n");
        let hooks = named("other", "bare");
        assert!(hooks.contains(&"bare/pre-commit".to_owned()) && !hooks.contains(&"bare".to_owned()), "{hooks:?}");
    }
}
