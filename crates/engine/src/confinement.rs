//! The sandbox that a session requests: its mode, the agent's own directories, the protected files of the workspace,
//! and the sockets of this machine that are hidden from it.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    net::SocketAddr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use switchboard_agents::{AgentLaunch, StateDirectory};
use switchboard_event::SandboxMode;

use crate::{
    HostRule, StartError,
    git::{linked_worktree_repository, protected_repository_paths},
    prepare::SessionSetup,
    protected_files::find_existing_files,
    supervise::{Confinement, DirectoryView, IsolatedNetwork},
};

/// Settings that apply to the sandboxes of all sessions.
#[derive(Clone, Debug, Default)]
pub struct SandboxDefaults {
    /// Sessions start even if the kernel cannot enforce all of a sandbox.
    pub best_effort: bool,
    /// Switchboard's own files and directories that confined sessions do not see.
    pub hidden: Vec<PathBuf>,
    /// Switchboard's own directories that confined sessions cannot write, even inside a workspace.
    pub protected: Vec<PathBuf>,
    /// Hosts that every confined session may reach.
    pub allowed_domains: Vec<HostRule>,
    /// Addresses on which this process listens.
    pub own_listeners: Vec<SocketAddr>,
    /// The file of permanently allowed hosts, by project.
    pub network_grants: Option<PathBuf>,
}

pub struct SandboxRequest<'a> {
    pub setup: &'a SessionSetup,
    pub launch: &'a AgentLaunch,
    /// The isolated network, unless the session may use the network of this machine.
    pub network: Option<IsolatedNetwork>,
    pub defaults: &'a SandboxDefaults,
}

impl SandboxRequest<'_> {
    /// Finds the paths to protect, and creates the directories that the agent could not create from inside.
    pub fn confinement(&self, remarks: &mut Vec<String>) -> Result<Confinement, StartError> {
        let private = self.setup.private.path();
        let exceptions = self.exceptions()?;
        let mut writable = self.workspace();
        writable.extend(self.launch.writable.iter().filter(|path| exists_or_created(path)).filter_map(real_path));
        let found = find_existing_files(&writable, &self.setup.host.home, &exceptions);
        if !found.is_complete {
            remarks.push("the workspace is too large to protect all nested files that run code later".to_owned());
        }
        let mut protected = found.paths;
        let repositories = self.repositories().into_iter().flat_map(|git| protected_repository_paths(&git));
        protected.extend(repositories.filter(|path| !exceptions.iter().any(|exception| path.starts_with(exception))));
        let own = self.defaults.protected.iter().filter_map(real_path);
        protected.extend(own.filter(|path| writable.iter().any(|root| path.starts_with(root))));
        writable.push(private.to_owned());
        writable.extend(exceptions.into_iter().filter(|path| path.exists()));
        let views: Vec<_> = self.launch.state.iter().filter_map(directory_view).collect();
        let visible: Vec<_> = writable.iter().chain(views.iter().map(|view| &view.path)).cloned().collect();
        let sockets = sockets_to_hide(private, &visible, self.network.is_some());
        let mut hidden = sockets.map_err(|cause| StartError::Files { path: "/proc/net/unix".into(), cause })?;
        hidden.extend(self.defaults.hidden.iter().filter_map(real_path));
        let best_effort = self.setup.request.sandbox_best_effort || self.defaults.best_effort;
        Ok(Confinement { writable, protected, hidden, views, network: self.network.clone(), best_effort })
    }

    /// Returns the directories of the user that the session may write.
    pub fn workspace(&self) -> Vec<PathBuf> {
        if !self.may_write_workspace() {
            return Vec::new();
        }
        let roots = self.setup.request.config.writable_roots.iter().flatten().map(PathBuf::from);
        let mut workspace: Vec<_> = roots.filter_map(|root| real_path(&root)).collect();
        workspace.push(self.setup.cwd.path().to_owned());
        workspace.extend(linked_worktree_repository(self.setup.cwd.path()));
        workspace
    }

    fn may_write_workspace(&self) -> bool {
        self.setup.request.config.sandbox_mode == Some(SandboxMode::WorkspaceWrite)
    }

    fn repositories(&self) -> Vec<PathBuf> {
        let linked = linked_worktree_repository(self.setup.cwd.path()).filter(|_| self.may_write_workspace());
        let own = self.workspace().into_iter().map(|root| root.join(".git"));
        let own = own.filter(|git| fs::symlink_metadata(git).is_ok_and(|found| found.is_dir()));
        own.chain(linked).collect()
    }

    /// Returns the paths that may be written although they are protected.
    fn exceptions(&self) -> Result<Vec<PathBuf>, StartError> {
        let cwd = self.setup.cwd.path();
        let exception = |given: &String| {
            let path = cwd.join(given);
            // A path that does not exist yet must have a parent directory that does.
            let real = real_path(&path).or_else(|| Some(real_path(path.parent()?)?.join(path.file_name()?)));
            let is_allowed = |real: &PathBuf| Path::new(given).is_absolute() || real.starts_with(cwd);
            let cause = "a path in writablePaths does not exist, or lies outside the working directory".to_owned();
            real.filter(is_allowed).ok_or(StartError::BadDirectory { path, cause })
        };
        self.setup.request.config.writable_paths.iter().flatten().map(exception).collect()
    }
}

/// Returns the view of a state directory, which is created if it is missing.
fn directory_view(state: &StateDirectory) -> Option<DirectoryView> {
    let path = Some(&state.path).filter(|path| exists_or_created(path)).and_then(real_path)?;
    let directories = state.kept_directories.iter().filter(|name| exists_or_created(&path.join(name)));
    let files = state.kept_files.iter().filter(|name| path.join(name).is_file());
    let kept = directories.chain(files).map(Into::into).collect();
    Some(DirectoryView { path, kept })
}

fn exists_or_created(path: &Path) -> bool {
    path.exists() || fs::create_dir_all(path).is_ok()
}

fn real_path(path: impl AsRef<Path>) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// Directories of sockets through which a program can make other programs act for it: session buses, container engines,
/// terminals, keys. Sockets that appear in them later are hidden, too.
#[rustfmt::skip]
const SOCKET_DIRECTORIES: &[&str] = &[
    "/run/user", "/run/dbus", "/run/docker", "/run/containerd", "/run/podman", "/run/crio", "/run/libvirt",
    "/run/lxd", "/run/incus", "/run/screen", "/run/tmux", "/run/cups", "/run/snapd", "/run/systemd/journal",
    "/run/systemd/io.systemd.ManagedOOM", "/run/systemd/private", "/run/docker.sock", "/run/snapd.socket",
    "/tmp/.X11-unix", "/tmp/.ICE-unix", "/tmp/.font-unix",
];

/// Sockets of services that look up users and groups. They only answer queries.
const USER_LOOKUPS: &[&str] = &["/run/nslcd", "/run/systemd/userdb", "/var/lib/sss"];

/// Sockets of services that look up hosts. They query servers on the internet, so a session with a limited network does
/// not see them.
const HOST_LOOKUPS: &[&str] = &["/run/nscd", "/run/systemd/resolve", "/run/avahi-daemon"];

/// Returns the sockets and directories to hide from a session, except for those in its `private` directory. Directories
/// that contain one of the `visible` paths stay visible.
fn sockets_to_hide(private: &Path, visible: &[PathBuf], is_isolated: bool) -> io::Result<Vec<PathBuf>> {
    let table = fs::read("/proc/net/unix")?;
    let host_lookups = HOST_LOOKUPS.iter().filter(|_| is_isolated);
    let mut hidden: BTreeSet<PathBuf> = SOCKET_DIRECTORIES.iter().chain(host_lookups).map(PathBuf::from).collect();
    hidden.extend(table.split(|byte| *byte == b'\n').filter_map(bound_path));
    // A path may lead through links (`/var/run`). A path in a hidden directory is hidden with it.
    let real: BTreeSet<PathBuf> = hidden.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let mut outermost: Vec<PathBuf> = Vec::new();
    for path in real {
        let is_visible = path.starts_with(private) || visible.iter().any(|own| own.starts_with(&path));
        let lookups = USER_LOOKUPS.iter().chain(HOST_LOOKUPS.iter().filter(|_| !is_isolated));
        let is_lookup = lookups.into_iter().any(|service| path.starts_with(service));
        let is_covered = outermost.iter().any(|hidden| path.starts_with(hidden));
        if !is_visible && !is_lookup && !is_covered {
            outermost.push(path);
        }
    }
    Ok(outermost)
}

/// Parses `Num: RefCount Protocol Flags Type St Inode Path`. A path may contain any bytes.
fn bound_path(line: &[u8]) -> Option<PathBuf> {
    let at = line.windows(2).position(|pair| pair == b" /")?;
    Some(PathBuf::from(OsStr::from_bytes(line.get(at + 1..)?)))
}

#[cfg(test)]
mod tests {
    use std::{
        os::{
            linux::net::SocketAddrExt as _,
            unix::net::{SocketAddr, UnixDatagram, UnixListener},
        },
        path::{Path, PathBuf},
    };

    use super::{bound_path, sockets_to_hide};
    use crate::test_tree::TestTree;

    #[test]
    fn bound_sockets_are_read_from_the_table() {
        let line = b"0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/user/1000/a b";
        assert_eq!(bound_path(line), Some(PathBuf::from("/run/user/1000/a b")));
        for other in [
            &b"Num       RefCount Protocol Flags    Type St Inode Path"[..],
            b"0000000000000000: 00000002 00000000 00010000 0001 01 12347 @abstract",
            b"0000000000000000: 00000002 00000000 00010000 0001 01 12348",
        ] {
            assert_eq!(bound_path(other), None);
        }
    }

    #[test]
    fn sockets_are_hidden_unless_they_are_private() {
        let tree = TestTree::new(&[]);
        let path = tree.to_owned();
        let _listener = UnixListener::bind(path.join("stream")).unwrap();
        let _datagrams = UnixDatagram::bind(path.join("datagram")).unwrap();
        // A name that is not UTF-8 hides nothing else.
        let odd = SocketAddr::from_abstract_name(b"\xff\xfe-switchboard-test").unwrap();
        let _odd = UnixListener::bind_addr(&odd).unwrap();
        let hidden = sockets_to_hide(Path::new("/nowhere"), std::slice::from_ref(&path), true).unwrap();
        assert!(hidden.contains(&path.join("stream")) && hidden.contains(&path.join("datagram")));
        assert!(!sockets_to_hide(&path, &[], false).unwrap().iter().any(|hidden| hidden.starts_with(&path)));
    }
}
