//! What an edit of a path would touch: a file in the workspace or outside, a protected one or not.

use std::path::{Component, Path, PathBuf};

use super::{PathError, resolve_path};
use crate::{git_config::UserGitConfig, protected_paths::ProtectedPatterns};

/// The directory that a session works in, and the home directories that `~` can stand for.
#[derive(Clone, Debug)]
pub struct Workspace {
    directory: PathBuf,
    homes: Vec<PathBuf>,
}

/// What an edit would touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditTarget {
    /// It lies in the workspace.
    pub is_inside: bool,
    /// It is one of the protected paths, or a directory that holds some.
    pub is_protected: bool,
}

impl Workspace {
    /// `directory` is resolved already: links that replace it later lead outside. Without a home directory, the
    /// workspace is taken for one, since its files may be startup files then.
    #[must_use]
    pub fn new(directory: PathBuf, homes: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut homes: Vec<_> = homes.into_iter().filter(|home| home.is_absolute()).collect();
        homes.dedup();
        if homes.is_empty() {
            homes.push(directory.clone());
        }
        Self { directory, homes }
    }

    /// Judges a path that an agent gives, relative to the workspace.
    ///
    /// An agent may or may not expand `~`, may or may not remove blanks around a path, and may or may not shorten `a/..`
    /// before it opens the file. Each reading counts: the target is inside if all of them are, and protected if one of
    /// them is.
    ///
    /// # Errors
    /// If it cannot be told where the path leads, as with a variable or a URI.
    pub fn edit_target(&self, path: &str) -> Result<EditTarget, PathError> {
        let mut target = EditTarget { is_inside: true, is_protected: false };
        for reading in self.readings(path)? {
            let shortened = shorten(&reading);
            let resolved = [resolve_path(&reading)?, resolve_path(&shortened)?];
            target.is_inside &= resolved.iter().all(|path| self.contains(path));
            target.is_protected |= resolved.iter().chain([&shortened]).any(|path| self.protects(path));
        }
        Ok(target)
    }

    /// Resolves a path that an agent gives, in each way that the agent can mean it.
    ///
    /// # Errors
    /// If it cannot be told where the path leads.
    pub fn resolve_readings(&self, path: &str) -> Result<Vec<PathBuf>, PathError> {
        let mut resolved = Vec::new();
        for reading in self.readings(path)? {
            resolved.extend([resolve_path(&reading)?, resolve_path(&shorten(&reading))?]);
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
        // The name of the workspace itself is known.
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

    /// The workspace itself is not a file in it.
    fn contains(&self, path: &Path) -> bool {
        path != self.directory && path.starts_with(&self.directory)
    }

    fn protects(&self, path: &Path) -> bool {
        let homes = self.homes.iter().flat_map(|home| [Some(home.clone()), resolve_path(home).ok()]).flatten();
        homes.into_iter().any(|home| {
            let found = ProtectedPatterns::new(&home).locate(path);
            found.is_protected() || found.can_hold_protected() || is_named_by_git(path, &home)
        })
    }
}

/// The configuration of a repository around the path says that git runs or reads it.
fn is_named_by_git(path: &Path, home: &Path) -> bool {
    let named = UserGitConfig::read(home).named_paths_above(path);
    named.iter().any(|named| path.starts_with(named) || named.starts_with(path))
}

/// `file:///x` and the like. An agent may open the path that is in it.
fn is_uri(path: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    path.split_once(':').is_some_and(|(scheme, rest)| {
        is_scheme(scheme) && (rest.starts_with("//") || scheme.eq_ignore_ascii_case("file"))
    })
}

/// `$NAME`, `${NAME}` or `$(command)`, which a shell on the way to the file would replace.
fn has_variable(path: &str) -> bool {
    let starts_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '{' | '('));
    path.match_indices('$').any(|(at, _)| path.get(at + 1..).is_some_and(starts_name))
}

/// The path without `.` and `..`, by its words alone.
fn shorten(path: &Path) -> PathBuf {
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
    use std::{fs, os::unix::fs::symlink, path::PathBuf};

    use super::Workspace;

    struct Place {
        base: PathBuf,
        workspace: Workspace,
        _directory: tempfile::TempDir,
    }

    fn place() -> Place {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        for name in ["project/src", "project/.git/hooks", "other", "home"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        let workspace = Workspace::new(base.join("project"), [base.join("home")]);
        Place { base, workspace, _directory: directory }
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
        let place = place();
        let project = place.base.join("project");
        fs::write(place.base.join("other/file"), "").unwrap();
        symlink("../other", project.join("directory_link")).unwrap();
        symlink(place.base.join("other/file"), project.join("file_link")).unwrap();
        symlink("../other/not_there", project.join("dangling_link")).unwrap();
        symlink("src", project.join("inner_link")).unwrap();
        symlink("src/deep/er", project.join("inner_dangling")).unwrap();
        symlink("loop", project.join("loop")).unwrap();
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
            // By its words it is `src/x`, by the links `../x`: both readings are possible.
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
            assert_eq!(judge(&place.workspace, path), expected, "{path}");
        }
        assert_eq!(judge(&place.workspace, &project.join("src/x").to_string_lossy()), "inside");
        assert_eq!(judge(&place.workspace, &place.base.join("projects/x").to_string_lossy()), "outside");
    }

    #[test]
    fn protected_paths_are_found_by_either_name() {
        let place = place();
        let project = place.base.join("project");
        symlink(".git/hooks", project.join("harmless")).unwrap();
        symlink("src", project.join(".husky")).unwrap();
        symlink("src/config", project.join(".envrc")).unwrap();
        fs::create_dir_all(project.join("sub/.git")).unwrap();
        fs::write(project.join(".git/config"), "[core]\nhooksPath=.githooks\n[include]\npath=../tools/inc\n").unwrap();
        fs::write(project.join("sub/.git/config"), "[core]\nhooksPath=scripts\n").unwrap();
        for path in [
            ".git/hooks/pre-commit",
            ".git/config",
            ".git",
            "sub/.git/config",
            ".vscode/tasks.json",
            ".vscode",
            ".mcp.json",
            "harmless/pre-commit",
            ".husky/pre-push",
            ".envrc",
            ".GIT/HOOKS/x",
            "src/../.git/config",
            "~/.bashrc",
            "~/.config/fish/config.fish",
            " ~/.bashrc",
            ".mcp.json ",
            ".githooks/pre-commit",
            ".githooks",
            "tools/inc",
            "sub/scripts/pre-push",
        ] {
            assert_eq!(judge(&place.workspace, path), "protected", "{path}");
        }
        for path in [".git/HEAD", "src/config", ".github/workflows/ci.yml", "bashrc", "scripts/x", "tools/other"] {
            assert_eq!(judge(&place.workspace, path), "inside", "{path}");
        }
    }

    #[test]
    fn a_dollar_sign_in_the_name_of_the_workspace_is_no_variable() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap().join("$work");
        fs::create_dir(&base).unwrap();
        let workspace = Workspace::new(base.clone(), ["/home/ada".into()]);
        assert_eq!(judge(&workspace, &base.join("x").to_string_lossy()), "inside");
        assert_eq!(judge(&workspace, &base.join("$X").to_string_lossy()), "unknown");
    }

    #[test]
    fn a_workspace_that_is_replaced_by_a_link_is_outside() {
        let place = place();
        let project = place.base.join("project");
        fs::rename(&project, place.base.join("moved")).unwrap();
        symlink("other", &project).unwrap();
        assert_eq!(judge(&place.workspace, "src/a.rs"), "outside");
    }
}
