//! What is to be started, and how far it may reach.

use std::{ffi::OsString, fmt, path::PathBuf};

/// The variable that marks every process of a session, so that what a crash left behind can be found.
pub const SESSION_VARIABLE: &str = "SWITCHBOARD_SESSION";

/// An agent's process, as it is to be started.
#[derive(Clone)]
pub struct Spec {
    /// The program and its arguments. A program without a `/` is looked for on the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// The whole environment. Only [`SESSION_VARIABLE`] is added to it.
    pub env: Vec<(OsString, OsString)>,
    /// The folder it starts in.
    pub cwd: PathBuf,
    /// Whether we will write to it.
    pub stdin: Input,
    /// Where it may write; nothing means everywhere.
    pub confine: Option<Confinement>,
    /// The session it belongs to: the value of [`SESSION_VARIABLE`].
    pub session: String,
}

/// The values of variables may be secret, and stay out of what is written for people.
impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { argv, env, cwd, stdin, confine, session } = self;
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

/// Where a process and all its descendants may write. They may read everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Folders, and single files, that must exist. The usual devices are added.
    pub writable: Vec<PathBuf>,
    /// Start also where the kernel cannot enforce all of it. [`Running`](super::Running) says what came of it.
    pub best_effort: bool,
}

#[cfg(test)]
mod tests {
    use super::{Input, Spec};

    #[test]
    fn secrets_are_not_shown() {
        let env = vec![("KEY".into(), "secret".into())];
        let session = "s".to_owned();
        let spec = Spec { argv: Vec::new(), env, cwd: "/".into(), stdin: Input::Open, confine: None, session };
        let shown = format!("{spec:?}");
        assert!(shown.contains("KEY") && !shown.contains("secret"), "{shown}");
    }
}
