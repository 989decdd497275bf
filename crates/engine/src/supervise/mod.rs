//! Starts an agent's process so that nothing of it is left when its session ends, whatever happens to the agent, to
//! Switchboard or to the processes in between. Knows nothing about the protocols of agents.
//!
//! ```text
//! engine ── control ──► switchboard __supervise ── parent of ──► switchboard __exec ══ becomes ══► the agent
//!    └────────────── order: argv, environment, directory, stdin ──────────►┘
//! ```
//! The supervisor adopts every orphan among the agent's descendants. When the agent ends, on command, or when the
//! control channel closes (Switchboard ended or was killed), it kills them all and ends. If the supervisor itself is
//! stopped or killed, Switchboard adopts its descendants ([`adopt_orphans`]) and kills them.
//!
//! A confined agent has a sandbox around it (`sandbox`). The sandbox has a PID namespace, whose first process is
//! `__init`, between the supervisor and `__exec`.

mod cgroup;
mod control;
mod hidden;
mod process;
mod protocol;
mod sandbox;
mod session_ancestry;
mod session_network;
mod start;
mod sweep;

use std::{
    ffi::OsString,
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use cgroup::{remove_abandoned_cgroups, remove_all_abandoned_cgroups};
pub use control::{AgentControl, ProcessExit, RunningAgent, StopSignal};
pub use hidden::{DETACH_MODE, run_hidden_mode};
pub use process::{ProcessRef, process_start_time};
pub use sandbox::{SandboxFeature, SandboxReport, SandboxShortfall, probe_sandbox, sandbox_refusal_hint};
pub use session_ancestry::{
    SessionSockets, TcpConnections, belongs_to_session, has_other_users_inside, scan_session_sockets,
};
pub use session_network::{SessionConnector, SessionNetwork};
pub use start::{LaunchError, start_agent};
pub use sweep::{SweepResult, adopt_orphans, sweep_session};

/// The variable that marks every process of a session, by which leftovers of a crash are found.
pub const SESSION_VARIABLE: &str = "SWITCHBOARD_SESSION";

/// The specification of an agent's process. It is also the order that `__exec` gets.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSpec {
    /// The program and its arguments. A program without a `/` is looked up on the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// The whole environment. Only [`SESSION_VARIABLE`] is added to it.
    pub env: Vec<(OsString, OsString)>,
    /// The directory it starts in.
    #[serde(with = "os_path")]
    pub cwd: PathBuf,
    /// The device and inode number of that directory. The process does not start in another one that has the path by
    /// then.
    pub cwd_identity: Option<(u64, u64)>,
    /// The engine writes to its standard input, which is at its end from the start otherwise.
    pub has_stdin: bool,
    /// The sandbox around it; `None` runs it with all rights of the user.
    pub confinement: Option<Confinement>,
    /// The session it belongs to: the value of [`SESSION_VARIABLE`].
    pub session: String,
}

/// The values of variables may be secret, and are not shown.
impl fmt::Debug for ProcessSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { argv, env, cwd, cwd_identity: _, has_stdin, confinement, session } = self;
        let names: Vec<_> = env.iter().map(|(name, _)| name).collect();
        let mut debug = f.debug_struct("ProcessSpec");
        debug.field("argv", argv).field("env", &names).field("cwd", cwd).field("has_stdin", has_stdin);
        debug.field("confinement", confinement).field("session", session).finish()
    }
}

/// The sandbox around a process and all its descendants. They can read everything that is not hidden, and write only to
/// the writable paths. All paths are absolute and without symbolic links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Directories and files that may be written. They must exist.
    #[serde(with = "os_paths")]
    pub writable: Vec<PathBuf>,
    /// Files and directories below writable ones that cannot be changed. Missing ones are skipped.
    #[serde(with = "os_paths")]
    pub protected: Vec<PathBuf>,
    /// Files and directories that appear empty. Missing ones are skipped.
    #[serde(with = "os_paths")]
    pub hidden: Vec<PathBuf>,
    /// Directories of which the agent gets a private view. They must exist.
    pub views: Vec<DirectoryView>,
    /// An isolated network; `None` for the network of this machine.
    pub network: Option<IsolatedNetwork>,
    /// Start even if the kernel cannot enforce all of it. [`RunningAgent`] reports the missing features.
    pub best_effort: bool,
}

/// A network with no interface but loopback.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsolatedNetwork {
    /// Loopback addresses to listen on inside of it, see [`RunningAgent`].
    pub listeners: Vec<SocketAddr>,
    /// Variables that lead programs to those listeners. They are set only if the network could be isolated.
    pub env: Vec<(OsString, OsString)>,
}

/// A directory that the agent can read and seemingly change: changes go to a layer that is discarded with the session,
/// except for those below some entries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryView {
    #[serde(with = "os_path")]
    pub path: PathBuf,
    /// Names of entries whose changes are kept. They exist.
    pub kept: Vec<OsString>,
}

/// Paths as bytes: serde's own form is text, and a path need not be UTF-8.
mod os_path {
    use super::{Deserialize, Deserializer, OsString, Path, PathBuf, Serialize, Serializer};

    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(deserializer).map(PathBuf::from)
    }
}

mod os_paths {
    use super::{Deserialize, Deserializer, OsString, PathBuf, Serializer};

    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| path.as_os_str()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<OsString>::deserialize(deserializer)?;
        Ok(paths.into_iter().map(PathBuf::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

    use super::{Confinement, DirectoryView, IsolatedNetwork, ProcessSpec};

    fn spec() -> ProcessSpec {
        let odd = OsStr::from_bytes(b"\xff=\n\"").to_owned();
        ProcessSpec {
            argv: vec!["agent".into(), "".into(), odd.clone()],
            env: vec![("EMPTY".into(), "".into()), ("ODD".into(), odd.clone()), ("KEY".into(), "secret".into())],
            cwd: odd.clone().into(),
            cwd_identity: Some((7, u64::MAX)),
            has_stdin: false,
            confinement: Some(Confinement {
                writable: vec!["/a b".into()],
                protected: vec!["/a b/.git/hooks".into()],
                hidden: vec!["/run/user".into(), odd.into()],
                views: vec![DirectoryView { path: "/home/.agent".into(), kept: vec!["sessions".into()] }],
                network: Some(IsolatedNetwork {
                    listeners: vec!["127.0.0.1:3128".parse().unwrap(), "[::1]:80".parse().unwrap()],
                    env: vec![("HTTP_PROXY".into(), "http://127.0.0.1:3128".into())],
                }),
                best_effort: true,
            }),
            session: "s-1".to_owned(),
        }
    }

    #[test]
    fn an_order_arrives_unchanged() {
        let bytes = serde_json::to_vec(&spec()).unwrap();
        assert_eq!(serde_json::from_slice::<ProcessSpec>(&bytes).unwrap(), spec());
        assert!(serde_json::from_slice::<ProcessSpec>(bytes.get(..bytes.len() - 1).unwrap()).is_err());
    }

    #[test]
    fn secrets_are_not_shown() {
        let debug = format!("{:?}", spec());
        assert!(debug.contains("KEY") && !debug.contains("secret"), "{debug}");
    }
}
