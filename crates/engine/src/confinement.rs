//! The sandbox that a session asks for: its mode, the agent's own directories, and what the workspace holds that must stay
//! as it is.

use std::{
    fs,
    path::{Path, PathBuf},
};

use switchboard_agents::{Launch, StateDirectory};
use switchboard_event::{SandboxMode, SessionConfig};

use crate::{
    StartError, git_directories, protected_files,
    supervise::{Confinement, DirectoryView},
    unix_sockets,
};

/// What holds for the sandboxes of all sessions.
#[derive(Clone, Debug, Default)]
pub struct SandboxDefaults {
    /// Sessions start even if the kernel cannot enforce all of a sandbox.
    pub best_effort: bool,
    /// Files and directories of ours that confined sessions do not see.
    pub hidden: Vec<PathBuf>,
    /// Directories of ours that confined sessions do not write to, also if they lie in a workspace.
    pub protected: Vec<PathBuf>,
}

/// The sandbox of a session that is to be confined.
pub struct SandboxOrder<'a> {
    pub config: &'a SessionConfig,
    pub launch: &'a Launch,
    pub cwd: &'a Path,
    pub private: &'a Path,
    pub home: &'a Path,
    pub best_effort: bool,
    pub defaults: &'a SandboxDefaults,
}

impl SandboxOrder<'_> {
    /// Finds what is to be protected, and creates the directories that the agent could not create from inside.
    pub fn confinement(&self, remarks: &mut Vec<String>) -> Result<Confinement, StartError> {
        let exceptions = self.exceptions()?;
        let mut writable = self.workspace();
        writable.extend(self.launch.writable.iter().filter(|path| exists_or_created(path)).filter_map(real));
        let found = protected_files::existing(&writable, self.home, &exceptions);
        if !found.is_complete {
            remarks.push("the workspace is too large to protect all nested files that run code later".to_owned());
        }
        let mut protected = found.paths;
        let repositories = self.repositories().into_iter().flat_map(|git| git_directories::protected(&git));
        protected.extend(repositories.filter(|path| !exceptions.iter().any(|exception| path.starts_with(exception))));
        let own = self.defaults.protected.iter().filter_map(real);
        protected.extend(own.filter(|path| writable.iter().any(|root| path.starts_with(root))));
        writable.push(self.private.to_owned());
        writable.extend(exceptions.into_iter().filter(|path| path.exists()));
        let views: Vec<_> = self.launch.state.iter().filter_map(view).collect();
        let visible: Vec<_> = writable.iter().chain(views.iter().map(|view| &view.path)).cloned().collect();
        let sockets = unix_sockets::to_hide(self.private, &visible);
        let mut hidden = sockets.map_err(|cause| StartError::Files { path: "/proc/net/unix".into(), cause })?;
        hidden.extend(self.defaults.hidden.iter().filter_map(real));
        Ok(Confinement { writable, protected, hidden, views, best_effort: self.best_effort })
    }

    /// The directories of the user that the session may write.
    pub fn workspace(&self) -> Vec<PathBuf> {
        if self.config.sandbox_mode != Some(SandboxMode::WorkspaceWrite) {
            return Vec::new();
        }
        let roots = self.config.writable_roots.iter().flatten().map(PathBuf::from);
        let mut workspace: Vec<_> = roots.filter_map(|root| real(&root)).collect();
        workspace.push(self.cwd.to_owned());
        workspace.extend(git_directories::of_linked_worktree(self.cwd));
        workspace
    }

    /// The git directories of the workspace.
    fn repositories(&self) -> Vec<PathBuf> {
        let linked = git_directories::of_linked_worktree(self.cwd);
        let own = self.workspace().into_iter().map(|root| root.join(".git"));
        own.filter(|git| fs::symlink_metadata(git).is_ok_and(|found| found.is_dir()))
            .chain(linked.into_iter().filter(|_| self.config.sandbox_mode == Some(SandboxMode::WorkspaceWrite)))
            .collect()
    }

    /// Paths that may be written although they are protected.
    fn exceptions(&self) -> Result<Vec<PathBuf>, StartError> {
        let given = self.config.writable_paths.iter().flatten();
        given
            .map(|given| {
                let path = self.cwd.join(given);
                // One that is not there yet has a directory that is.
                let real = real(&path).or_else(|| Some(real(path.parent()?)?.join(path.file_name()?)));
                let is_allowed = |real: &PathBuf| Path::new(given).is_absolute() || real.starts_with(self.cwd);
                let cause =
                    "a path in writablePaths does not exist, or lies outside of the working directory".to_owned();
                real.filter(is_allowed).ok_or(StartError::BadFolder { folder: path, cause })
            })
            .collect()
    }
}

/// The view of a directory that the agent has or gets.
fn view(state: &StateDirectory) -> Option<DirectoryView> {
    let path = Some(&state.path).filter(|path| exists_or_created(path)).and_then(real)?;
    let directories = state.kept_directories.iter().filter(|name| exists_or_created(&path.join(name)));
    let files = state.kept_files.iter().filter(|name| path.join(name).is_file());
    let kept = directories.chain(files).map(Into::into).collect();
    Some(DirectoryView { path, kept })
}

fn exists_or_created(path: &Path) -> bool {
    path.exists() || fs::create_dir_all(path).is_ok()
}

fn real(path: impl AsRef<Path>) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}
