//! What is to be started, and how far it may reach.

use std::{ffi::OsString, fmt, path::PathBuf};

/// The variable that marks every process of a session, so that leftovers of a crash can be found.
pub const SESSION_VARIABLE: &str = "SWITCHBOARD_SESSION";

/// An agent's process, as it is to be started.
#[derive(Clone)]
pub struct Spec {
    /// The program and its arguments. A program without a `/` is looked up on the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// The whole environment. Only [`SESSION_VARIABLE`] is added to it.
    pub env: Vec<(OsString, OsString)>,
    /// The directory it starts in.
    pub cwd: PathBuf,
    /// The device and inode number of that directory. It does not start in another one that has the path by then.
    pub cwd_identity: Option<(u64, u64)>,
    /// Whether we will write to it.
    pub stdin: Input,
    /// The sandbox around it; `None` runs it with all rights of the user.
    pub confine: Option<Confinement>,
    /// The session it belongs to: the value of [`SESSION_VARIABLE`].
    pub session: String,
}

/// The values of variables may be secret, and stay out of what is written for people.
impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { argv, env, cwd, cwd_identity: _, stdin, confine, session } = self;
        let names: Vec<_> = env.iter().map(|(name, _)| name).collect();
        let mut shown = f.debug_struct("Spec");
        shown.field("argv", argv).field("env", &names).field("cwd", cwd).field("stdin", stdin);
        shown.field("confine", confine).field("session", session).finish()
    }
}

/// The agent's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A pipe that we write to.
    Open,
    /// At its end from the beginning.
    Closed,
}

/// The sandbox around a process and all its descendants. They read everything that is not hidden, and write only where
/// it is allowed. All paths are absolute and without symbolic links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Directories and files that may be written. They must exist.
    pub writable: Vec<PathBuf>,
    /// Files and directories below writable ones that stay as they are. Missing ones are skipped.
    pub protected: Vec<PathBuf>,
    /// Files and directories that appear empty. Missing ones are skipped.
    pub hidden: Vec<PathBuf>,
    /// Directories of which the agent gets a view of its own. They must exist.
    pub views: Vec<DirectoryView>,
    /// Start even if the kernel cannot enforce all of it. [`Running`](super::Running) reports what is missing.
    pub best_effort: bool,
}

/// A directory that the agent sees as it is, and that stays as it is: changes go to a layer that is discarded with the
/// session, except for those below some entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectoryView {
    /// The directory.
    pub path: PathBuf,
    /// Names of entries whose changes are kept. They exist.
    pub kept: Vec<OsString>,
}

#[cfg(test)]
mod tests {
    use super::{Input, Spec};

    #[test]
    fn secrets_are_not_shown() {
        let env = vec![("KEY".into(), "secret".into())];
        let session = "s".to_owned();
        let (argv, cwd, cwd_identity) = (Vec::new(), "/".into(), None);
        let spec = Spec { argv, env, cwd, cwd_identity, stdin: Input::Open, confine: None, session };
        let shown = format!("{spec:?}");
        assert!(shown.contains("KEY") && !shown.contains("secret"), "{shown}");
    }
}
