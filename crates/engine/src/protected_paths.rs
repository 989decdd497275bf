//! Files that run or permit something without further approval: git hooks, settings of agents and editors, shell
//! startup files. A program that can write one of them can run code later, outside of any sandbox.
//!
//! The list contains files that take effect on their own, when a directory is entered or opened, a git command is run
//! or an agent is started. Code that people build, run or review as part of a project is not on it: sources,
//! `Makefile`, `package.json`, CI workflows (which run elsewhere, after a push) and `.gitmodules` (git itself
//! refuses dangerous values there). A bare repository has no name to recognize it by and is not covered. Paths that a
//! repository's configuration names are found by [`crate::git`].

use std::{
    ffi::OsStr,
    path::{Component, Path},
};

use switchboard_agents::AGENTS;

/// Patterns that apply on every machine, whatever agents are installed. Those of agents are in [`AGENTS`].
///
/// A pattern starts with `~/` (in the home directory), with `/` (absolute), or applies in any directory. `*` stands for
/// any part of a name, `**` for any number of directories. A pattern that ends in `**` covers the directory itself,
/// too.
#[rustfmt::skip]
const GENERAL_PATTERNS: &[&str] = &[
    // Git: hooks, configuration (which names programs), and the files that give their location.
    ".git", ".git/hooks/**", ".git/config", ".git/config.worktree", ".git/commondir", ".git/info/attributes",
    ".git/modules/**/hooks/**", ".git/modules/**/config", ".git/modules/**/config.worktree",
    ".git/modules/**/info/attributes", ".git/worktrees/*/hooks/**", ".git/worktrees/*/config",
    ".git/worktrees/*/config.worktree", ".git/worktrees/*/commondir", ".git/worktrees/*/gitdir", ".husky/**",
    ".pre-commit-config.y*ml", "lefthook*.y*ml", ".lefthook*.y*ml", ".lefthook*/**",
    // MCP servers are programs.
    ".mcp.json",
    // Editors run tasks, and programs that their settings name, when a directory is opened.
    ".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", ".vscode/extensions.json",
    ".vscode/mcp.json", "*.code-workspace", ".idea/workspace.xml", ".idea/tools/**", ".idea/externaltools/**",
    ".idea/watchertasks.xml", ".idea/runconfigurations/**", ".run/*.run.xml", "*.iml", ".zed/tasks.json",
    ".zed/settings.json", ".zed/debug.json", ".cursor/mcp.json", ".cursor/hooks.json", ".cursor/hooks/**",
    ".cursor/rules/**", ".cursor/environment.json", ".devcontainer/**", ".devcontainer.json", ".exrc", ".nvimrc",
    ".nvim.lua", ".lvimrc", ".dir-locals*.el",
    // Tools that read their configuration wherever they are started.
    ".envrc", ".direnv/**", ".npmrc", ".yarnrc*", ".yarn/releases/**", ".yarn/plugins/**", ".pnpmfile.cjs",
    ".cargo/config", ".cargo/config.toml",
    // Shells.
    "~/.bashrc", "~/.bashrc.d/**", "~/.bash_profile", "~/.bash_login", "~/.bash_logout", "~/.bash_aliases",
    "~/.bash_completion", "~/.profile", "~/.zshrc", "~/.zshrc.d/**", "~/.zshenv", "~/.zprofile", "~/.zlogin",
    "~/.zlogout", "~/.zsh/**", "~/.oh-my-zsh/**", "~/.kshrc", "~/.mkshrc", "~/.shrc", "~/.cshrc", "~/.tcshrc",
    "~/.login", "~/.logout", "~/.inputrc", "~/.xonshrc", "~/.config/zsh/**", "~/.config/fish/**",
    "~/.config/nushell/**", "~/.config/powershell/**", "~/.config/elvish/**", "~/.tmux.conf", "~/.config/tmux/**",
    "~/.screenrc",
    // Programs that a shell finds first.
    "~/bin/**", "~/.local/bin/**", "~/.cargo/bin/**", "~/.cargo/env*", "~/.local/lib/python*/site-packages/*.pth",
    "~/.local/lib/python*/site-packages/*customize.py", "~/.pythonrc*",
    // Login, desktop and services.
    "~/.config/environment.d/**", "~/.config/autostart/**", "~/.config/systemd/**", "~/.config/sway/**",
    "~/.config/i3/**", "~/.config/hypr/**", "~/.local/share/systemd/**", "~/.local/share/applications/**",
    "~/.local/share/dbus-1/**", "~/library/launchagents/**", "~/.pam_environment", "~/.xprofile", "~/.xinitrc",
    "~/.xsession*", "~/.xserverrc",
    // Credentials, and configuration that names programs.
    "~/.ssh/**", "~/.gnupg/**", "~/.gitconfig", "~/.config/git/**", "~/.git-templates/**", "~/.aws/config",
    "~/.kube/config", "~/.docker/config.json", "~/.docker/cli-plugins/**", "~/.config/pip/**", "~/.gemrc", "~/.irbrc",
    "~/.psqlrc", "~/.gdbinit", "~/.lldbinit",
    // Editors.
    "~/.vimrc", "~/.gvimrc", "~/.vim/**", "~/.config/nvim/**", "~/.emacs", "~/.emacs.d/**", "~/.config/emacs/**",
    "~/.config/code*/user/**", "~/.config/vscodium/user/**", "~/.config/cursor/user/**", "~/.config/zed/**",
    "~/.vscode*/extensions/**", "~/library/application support/code*/user/**",
    // System-wide files.
    "/etc/cron*/**", "/etc/crontab", "/var/spool/cron/**", "/etc/profile", "/etc/profile.d/**", "/etc/bash*",
    "/etc/zsh*/**", "/etc/environment", "/etc/ld.so.preload", "/etc/ld.so.conf*/**", "/etc/pam.d/**", "/etc/passwd",
    "/etc/shadow", "/etc/ssh/**", "/etc/sudoers*/**", "/etc/systemd/**", "/etc/gitconfig",
];

/// Returns every pattern: the general ones and those of all agents in the table, installed or not: a file that is
/// planted today may be read after the next installation.
pub fn patterns() -> impl Iterator<Item = &'static str> {
    GENERAL_PATTERNS.iter().chain(AGENTS.iter().flat_map(|agent| agent.protected_paths)).copied()
}

/// Returns whether a file with this path is protected. A relative path is compared with the patterns that apply in any
/// directory. Names are compared without regard to case, as some file systems do.
///
/// Only names are compared: a caller that resolves symlinks must check both paths.
pub fn is_protected(path: &Path, home: &Path) -> bool {
    ProtectedPatterns::new(home).locate(path).is_protected
}

/// The patterns for one machine. A path is compared name by name, so that a walk through a directory tree compares each
/// name once, at any depth.
#[derive(Debug)]
pub struct ProtectedPatterns {
    patterns: Vec<PathPattern>,
}

#[derive(Debug)]
struct PathPattern {
    segments: Vec<PatternSegment>,
    /// It applies in any directory, not only below the root.
    is_anywhere: bool,
    /// The number of leading segments that name the home directory.
    home_length: usize,
}

#[derive(Debug)]
enum PatternSegment {
    /// `**`
    Directories,
    /// A name, in which `*` stands for any text.
    Name(String),
}

/// How far each pattern matches a path.
#[derive(Clone, Debug, Default)]
pub struct PathMatch {
    /// Patterns, each with the number of its segments that the whole path matches.
    reached: Vec<(usize, usize)>,
    is_whole: bool,
    pub is_protected: bool,
    /// Everything in this directory is protected, including files that do not exist yet.
    pub is_protected_directory: bool,
    /// A directory that can contain protected files by its name: `.git`, but not a directory that may contain a
    /// repository. Moving or replacing it changes its protected files.
    pub can_hold_protected: bool,
}

impl PathMatch {
    /// Returns the match of a directory that is protected with everything in it, whatever its name.
    pub fn whole() -> Self {
        Self { is_whole: true, is_protected: true, is_protected_directory: true, ..Self::default() }
    }

    /// Returns whether no pattern that matches part of this path continues below it.
    pub fn is_unrelated(&self) -> bool {
        self.reached.is_empty() && !self.is_whole
    }
}

impl ProtectedPatterns {
    pub fn new(home: &Path) -> Self {
        let home = folded_names(home);
        let patterns = patterns().map(|pattern| {
            let (parent, rest, is_anywhere) = match (pattern.strip_prefix("~/"), pattern.strip_prefix('/')) {
                (Some(in_home), _) => (home.as_slice(), in_home, false),
                (_, Some(absolute)) => (&[][..], absolute, false),
                _ => (&[][..], pattern, true),
            };
            let segment =
                |name: &str| if name == "**" { PatternSegment::Directories } else { PatternSegment::Name(fold(name)) };
            let parents = parent.iter().cloned().map(PatternSegment::Name);
            PathPattern {
                segments: parents.chain(rest.split('/').map(segment)).collect(),
                is_anywhere,
                home_length: parent.len(),
            }
        });
        Self { patterns: patterns.collect() }
    }

    pub fn locate(&self, path: &Path) -> PathMatch {
        let start = if path.is_absolute() { self.root() } else { PathMatch::default() };
        folded_names(path).iter().fold(start, |position, name| self.enter_folded(&position, name))
    }

    /// Extends a match by the name of a directory entry.
    pub fn enter(&self, parent: &PathMatch, name: &OsStr) -> PathMatch {
        self.enter_folded(parent, &fold_os(name))
    }

    fn root(&self) -> PathMatch {
        let anchored = self.patterns.iter().enumerate().filter(|(_, pattern)| !pattern.is_anywhere);
        PathMatch { reached: anchored.map(|(index, _)| (index, 0)).collect(), ..PathMatch::default() }
    }

    fn enter_folded(&self, parent: &PathMatch, name: &str) -> PathMatch {
        let mut next = if parent.is_whole { PathMatch::whole() } else { PathMatch::default() };
        let anywhere = self.patterns.iter().enumerate().filter(|(_, pattern)| pattern.is_anywhere);
        for (index, length) in parent.reached.iter().copied().chain(anywhere.map(|(index, _)| (index, 0))) {
            let Some(pattern) = self.patterns.get(index) else { continue };
            // `**` matches any number of names.
            if length > 0 && matches!(pattern.segments.get(length - 1), Some(PatternSegment::Directories)) {
                pattern.reach(index, length, &mut next);
            }
            if let Some(PatternSegment::Name(expected)) = pattern.segments.get(length)
                && matches_name(expected, name)
            {
                pattern.reach(index, length + 1, &mut next);
            }
        }
        next
    }
}

impl PathPattern {
    fn reach(&self, index: usize, mut length: usize, next: &mut PathMatch) {
        loop {
            if !next.reached.contains(&(index, length)) {
                next.reached.push((index, length));
            }
            if length == self.segments.len() {
                next.is_protected = true;
                next.is_protected_directory |= matches!(self.segments.last(), Some(PatternSegment::Directories));
            } else {
                next.can_hold_protected |= length > self.home_length;
            }
            // `**` also matches no name at all.
            match self.segments.get(length) {
                Some(PatternSegment::Directories) => length += 1,
                _ => return,
            }
        }
    }
}

/// Compares one name with a pattern in which `*` stands for any text.
fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => name.strip_prefix(start).is_some_and(|mut rest| {
            loop {
                if matches_name(end, rest) {
                    return true;
                }
                let mut letters = rest.chars();
                if letters.next().is_none() {
                    return false;
                }
                rest = letters.as_str();
            }
        }),
    }
}

/// Returns the names in a path, without `.`. A `..` removes the name before it: callers that care about symlinks have
/// resolved them.
fn folded_names(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(fold_os(name)),
            Component::ParentDir => drop(names.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    names
}

fn fold_os(name: &OsStr) -> String {
    fold(&name.to_string_lossy())
}

/// Folds a name as a case-insensitive file system may compare it. Upper case first: it also unifies letters like the
/// long s. Characters that HFS+ ignores in names are removed, as git does.
fn fold(name: &str) -> String {
    let is_ignored =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    name.chars().filter(|c| !is_ignored(*c)).flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ProtectedPatterns, is_protected, patterns};

    fn protected(path: &str) -> bool {
        is_protected(Path::new(path), Path::new("/home/ada"))
    }

    #[test]
    fn files_that_run_something_are_protected() {
        #[rustfmt::skip]
        let paths = [
            "/w/.git", "/w/.git/hooks", "/w/.git/hooks/pre-commit", "/w/sub/.git/config", ".git/config",
            "/w/.git/modules/a/b/config", "/w/.git/modules/a/hooks/post-checkout",
            "/w/.git/worktrees/x/config.worktree", "/w/.husky/pre-push", "/w/.mcp.json", "/w/.vscode/tasks.json",
            "/w/x.code-workspace", "/w/.idea/runConfigurations/Run.xml", "/w/.devcontainer/devcontainer.json",
            "/w/.envrc", "/home/ada/.bashrc", "/home/ada/.config/fish/conf.d/x.fish",
            "/home/ada/.ssh/authorized_keys", "/home/ada/.config/Code - Insiders/User/settings.json",
            "/home/ada/.local/lib/python3.12/site-packages/x.pth", "/etc/cron.d/x", "/etc/sudoers",
        ];
        for path in paths {
            assert!(protected(path), "{path}");
        }
    }

    #[test]
    fn ordinary_files_are_not() {
        #[rustfmt::skip]
        let paths = [
            "", "/", "/w/src/main.rs", "/w/.git/HEAD", "/w/.git/refs/heads/main", "/w/.git/objects/aa/bb",
            "/w/.git/index", "/w/.github/workflows/ci.yml", "/w/.gitmodules", "/w/git/config", "/w/hooks/pre-commit",
            "/w/.bashrc", "/w/.vscode/notes.md", "/home/ada/project/Makefile", "/home/adam/.bashrc",
            "/home/ada/.config/other/settings.json",
        ];
        for path in paths {
            assert!(!protected(path), "{path}");
        }
    }

    #[test]
    fn case_and_ignored_characters_do_not_hide_a_file() {
        for path in
            ["/w/.GIT/Hooks/x", "/w/.g\u{200c}it/config", "/w/.GIT/CONFIG", "/Home/Ada/.BASHRC", "/w/.hu\u{17f}ky/x"]
        {
            assert!(protected(path), "{path}");
        }
        assert!(protected("/w/src/../.git/config") && protected("/w/./.git/./config"));
    }

    #[test]
    fn a_directory_is_protected_as_a_whole_or_holds_protected_files() {
        let home = Path::new("/home/ada");
        for (path, whole, holds) in [
            ("/w/.git/hooks", true, true),
            ("/w/.git/hooks/sub", true, false),
            ("/w/.git", false, true),
            ("/w/.vscode", false, true),
            ("/w/.husky", true, true),
            ("/w/.git/worktrees", false, true),
            ("/w/src", false, false),
            ("/w", false, false),
            ("/home/ada/.config", false, true),
            ("/w/.config", false, false),
            ("/w/.git/modules/a/a/a", false, true),
            ("/w/.git/modules/a/hooks/x", true, true),
            ("/home/ada", false, false),
            ("/", false, false),
        ] {
            let found = ProtectedPatterns::new(home).locate(Path::new(path));
            assert_eq!(found.is_protected_directory, whole, "{path}");
            // `hooks/**` without its tail is `hooks`: replacing the directory replaces the files in it.
            assert_eq!(found.can_hold_protected, holds, "{path}");
        }
    }

    #[test]
    fn patterns_are_well_formed() {
        for pattern in patterns() {
            let names: Vec<_> = pattern.trim_start_matches("~/").trim_start_matches('/').split('/').collect();
            let well_formed = names.iter().all(|name| !name.is_empty() && (*name == "**" || !name.contains("**")));
            assert!(well_formed && names.first() != Some(&"**"), "{pattern}");
        }
    }
}
