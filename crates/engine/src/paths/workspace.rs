//! Judges edits of paths: inside or outside of the workspace, protected or not.

use std::path::{Component, Path, PathBuf};

use super::{PathError, resolve_path};
use crate::{git::UserGitConfig, protected_paths::ProtectedPatterns};

/// The working directory of a session, and the home directories that `~` can stand for.
#[derive(Clone, Debug)]
pub struct Workspace {
    directory: PathBuf,
    homes: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditTarget {
    pub is_inside: bool,
    /// It is a protected path, or a directory that contains some.
    pub is_protected: bool,
}

impl Workspace {
    /// Creates a workspace. `directory` must be resolved: links that replace it later lead outside. Without a home
    /// directory, the workspace is treated as one, since its files may be startup files then.
    pub fn new(directory: PathBuf, homes: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut homes: Vec<_> = homes.into_iter().filter(|home| home.is_absolute()).collect();
        homes.dedup();
        if homes.is_empty() {
            homes.push(directory.clone());
        }
        Self { directory, homes }
    }

    /// Judges a path from an agent, relative to the workspace.
    ///
    /// An agent may or may not expand `~`, may or may not remove blanks around a path, and may or may not shorten
    /// `a/..` before it opens the file. Each reading counts: the target is inside if all of them are, and protected if
    /// one of them is.
    ///
    /// # Errors
    /// If the path cannot be resolved, for example because of a variable or a URI.
    pub fn edit_target(&self, path: &str) -> Result<EditTarget, PathError> {
        let mut target = EditTarget { is_inside: true, is_protected: false };
        for reading in self.readings(path)? {
            let shortened = shorten_path(&reading);
            let resolved = [resolve_path(&reading)?, resolve_path(&shortened)?];
            target.is_inside &= resolved.iter().all(|path| self.contains(path));
            target.is_protected |= resolved.iter().chain([&shortened]).any(|path| self.protects(path));
        }
        Ok(target)
    }

    /// Resolves a path from an agent, in each way that the agent can mean it.
    pub fn resolve_readings(&self, path: &str) -> Result<Vec<PathBuf>, PathError> {
        let mut resolved = Vec::new();
        for reading in self.readings(path)? {
            resolved.extend([resolve_path(&reading)?, resolve_path(&shorten_path(&reading))?]);
        }
        resolved.sort();
        resolved.dedup();
        Ok(resolved)
    }

    fn readings(&self, path: &str) -> Result<Vec<PathBuf>, PathError> {
        let trimmed = path.trim();
        if trimmed.is_empty() {
            return Err(PathError::Empty);
        }
        if is_uri(trimmed) {
            return Err(PathError::Uri);
        }
        // The path of the workspace itself may contain a `$`.
        let named = path.strip_prefix(&*self.directory.to_string_lossy()).unwrap_or(path);
        if has_variable(named) {
            return Err(PathError::Variable);
        }
        let mut readings = vec![self.directory.join(path)];
        if trimmed != path {
            readings.push(self.directory.join(trimmed));
        }
        if let Some(rest) = trimmed.strip_prefix('~') {
            if !rest.is_empty() && !rest.starts_with('/') {
                return Err(PathError::OtherHome);
            }
            let rest = rest.trim_start_matches('/');
            readings.extend(self.homes.iter().map(|home| home.join(rest)));
        }
        Ok(readings)
    }

    /// Returns whether a path lies in the workspace. The workspace itself does not.
    fn contains(&self, path: &Path) -> bool {
        path != self.directory && path.starts_with(&self.directory)
    }

    fn protects(&self, path: &Path) -> bool {
        let homes = self.homes.iter().flat_map(|home| [Some(home.clone()), resolve_path(home).ok()]).flatten();
        homes.into_iter().any(|home| {
            let found = ProtectedPatterns::new(&home).locate(path);
            found.is_protected || found.can_hold_protected || is_named_by_git(path, &home)
        })
    }
}

/// Returns whether the configuration of a repository around the path makes git run or read it.
fn is_named_by_git(path: &Path, home: &Path) -> bool {
    let named = UserGitConfig::read(home).named_paths_above(path);
    named.iter().any(|named| path.starts_with(named) || named.starts_with(path))
}

/// Returns whether a path is a URI such as `file:///x`. An agent may open the path in it.
fn is_uri(path: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    path.split_once(':').is_some_and(|(scheme, rest)| {
        is_scheme(scheme) && (rest.starts_with("//") || scheme.eq_ignore_ascii_case("file"))
    })
}

/// Returns whether a path contains `$NAME`, `${NAME}` or `$(command)`, which a shell would replace.
fn has_variable(path: &str) -> bool {
    let starts_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '{' | '('));
    path.match_indices('$').any(|(at, _)| path.get(at + 1..).is_some_and(starts_name))
}

/// Removes `.` and `..` from a path without looking at the file system.
fn shorten_path(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                short.pop();
            }
            Component::CurDir => {}
            component => short.push(component),
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Workspace;
    use crate::test_tree::TestTree;

    fn project() -> (TestTree, Workspace) {
        let tree = TestTree::new(&["project/src", "project/.git/hooks", "other", "home"]);
        let workspace = Workspace::new(tree.join("project"), [tree.join("home")]);
        (tree, workspace)
    }

    fn judge(workspace: &Workspace, path: &str) -> &'static str {
        match workspace.edit_target(path) {
            Err(_) => "unknown",
            Ok(target) if target.is_protected => "protected",
            Ok(target) if target.is_inside => "inside",
            Ok(_) => "outside",
        }
    }

    #[test]
    fn the_file_system_decides_what_is_inside() {
        let (tree, workspace) = project();
        tree.write("other/file", "");
        for (target, link) in [
            ("../other", "directory_link"),
            (tree.join("other/file").to_str().unwrap(), "file_link"),
            ("../other/not_there", "dangling_link"),
            ("src", "inner_link"),
            ("src/deep/er", "inner_dangling"),
            ("loop", "loop"),
        ] {
            tree.link(target, &format!("project/{link}"));
        }
        for (path, expected) in [
            ("src/new.rs", "inside"),
            ("new/deeper/file", "inside"),
            ("inner_link/new.rs", "inside"),
            ("inner_dangling", "inside"),
            ("src/../src/a", "inside"),
            ("directory_link/x", "outside"),
            ("file_link", "outside"),
            ("dangling_link", "outside"),
            ("../other/x", "outside"),
            // Lexically it is `src/x`, through the link `../x`: both readings are possible.
            ("directory_link/../src/x", "outside"),
            ("..", "outside"),
            (".", "outside"),
            ("~/notes.txt", "outside"),
            ("~", "outside"),
            ("~ada/notes.txt", "unknown"),
            (" ../other/x", "outside"),
            (" /etc/hosts", "outside"),
            ("src/x ", "inside"),
            (" ", "unknown"),
            ("file:///etc/passwd", "unknown"),
            ("FILE:/etc/passwd", "unknown"),
            ("vscode-remote://host/x", "unknown"),
            ("$HOME/x", "unknown"),
            ("src/${HOME}/x", "unknown"),
            ("$(pwd)/x", "unknown"),
            ("src/a$.rs", "inside"),
            ("src/a:b.rs", "inside"),
            ("", "unknown"),
            ("loop", "unknown"),
            ("a\0b", "unknown"),
            ("missing/../src/x", "unknown"),
        ] {
            assert_eq!(judge(&workspace, path), expected, "{path}");
        }
        for (path, expected) in [("project/src/x", "inside"), ("projects/x", "outside")] {
            assert_eq!(judge(&workspace, &tree.join(path).to_string_lossy()), expected, "{path}");
        }
    }

    #[test]
    fn protected_paths_are_found_by_either_name() {
        let (tree, workspace) = project();
        tree.link(".git/hooks", "project/harmless");
        tree.link("src", "project/.husky");
        tree.link("src/config", "project/.envrc");
        tree.write("project/.git/config", "[core]\nhooksPath=.githooks\n[include]\npath=../tools/inc\n");
        tree.write("project/sub/.git/config", "[core]\nhooksPath=scripts\n");
        #[rustfmt::skip]
        let paths = [
            ".git/hooks/pre-commit", ".git/config", ".git", "sub/.git/config", ".vscode/tasks.json", ".vscode",
            ".mcp.json", "harmless/pre-commit", ".husky/pre-push", ".envrc", ".GIT/HOOKS/x", "src/../.git/config",
            "~/.bashrc", "~/.config/fish/config.fish", " ~/.bashrc", ".mcp.json ", ".githooks/pre-commit",
            ".githooks", "tools/inc", "sub/scripts/pre-push",
        ];
        for path in paths {
            assert_eq!(judge(&workspace, path), "protected", "{path}");
        }
        for path in [".git/HEAD", "src/config", ".github/workflows/ci.yml", "bashrc", "scripts/x", "tools/other"] {
            assert_eq!(judge(&workspace, path), "inside", "{path}");
        }
    }

    #[test]
    fn a_dollar_sign_in_the_workspace_name_is_not_expanded() {
        let tree = TestTree::new(&["$work"]);
        let base = tree.join("$work");
        let workspace = Workspace::new(base.clone(), ["/home/ada".into()]);
        assert_eq!(judge(&workspace, &base.join("x").to_string_lossy()), "inside");
        assert_eq!(judge(&workspace, &base.join("$X").to_string_lossy()), "unknown");
    }

    #[test]
    fn a_workspace_that_is_replaced_by_a_link_is_outside() {
        let (tree, workspace) = project();
        fs::rename(tree.join("project"), tree.join("moved")).unwrap();
        tree.link("other", "project");
        assert_eq!(judge(&workspace, "src/a.rs"), "outside");
    }
}
