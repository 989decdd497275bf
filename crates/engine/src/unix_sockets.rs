//! Sockets in the file system through which a program can have others act for it: session buses, container engines,
//! terminals, keys. A confined session does not see them.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// Directories of such sockets, also of those that appear later.
const DIRECTORIES: &[&str] = &[
    "/run/user",
    "/run/dbus",
    "/run/docker",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/libvirt",
    "/run/lxd",
    "/run/incus",
    "/run/screen",
    "/run/tmux",
    "/run/cups",
    "/run/snapd",
    "/run/systemd/journal",
    "/run/systemd/io.systemd.ManagedOOM",
    "/run/systemd/private",
    "/run/docker.sock",
    "/run/snapd.socket",
    "/tmp/.X11-unix",
    "/tmp/.ICE-unix",
    "/tmp/.font-unix",
];

/// Where sockets of name services are, which only answer questions.
const NAME_SERVICES: &[&str] =
    &["/run/nscd", "/run/nslcd", "/run/systemd/resolve", "/run/systemd/userdb", "/run/avahi-daemon", "/var/lib/sss"];

/// Files and directories to hide from a session, except for those in its `private` directory. Directories that hold one of
/// the `visible` ones stay.
///
/// # Errors
/// If the kernel's list cannot be read: then nothing is known about the sockets of this machine.
pub fn to_hide(private: &Path, visible: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let table = fs::read("/proc/net/unix")?;
    let mut hidden: BTreeSet<PathBuf> = DIRECTORIES.iter().map(PathBuf::from).collect();
    hidden.extend(table.split(|byte| *byte == b'\n').filter_map(bound_path));
    // A path may lead through links (`/var/run`), and one that lies in a hidden directory is gone with it.
    let real: BTreeSet<PathBuf> = hidden.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let mut outermost: Vec<PathBuf> = Vec::new();
    for path in real {
        let is_visible = path.starts_with(private) || visible.iter().any(|own| own.starts_with(&path));
        let is_name_service = NAME_SERVICES.iter().any(|service| path.starts_with(service));
        let is_covered = outermost.iter().any(|hidden| path.starts_with(hidden));
        if !is_visible && !is_name_service && !is_covered {
            outermost.push(path);
        }
    }
    Ok(outermost)
}

/// `Num: RefCount Protocol Flags Type St Inode Path`. A name may have any bytes in it.
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

    use super::{bound_path, to_hide};

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
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let _listener = UnixListener::bind(path.join("stream")).unwrap();
        let _datagrams = UnixDatagram::bind(path.join("datagram")).unwrap();
        // A name that is not UTF-8 hides nothing else.
        let odd = SocketAddr::from_abstract_name(b"\xff\xfe-switchboard-test").unwrap();
        let _odd = UnixListener::bind_addr(&odd).unwrap();
        let hidden = to_hide(Path::new("/nowhere"), std::slice::from_ref(&path)).unwrap();
        assert!(hidden.contains(&path.join("stream")) && hidden.contains(&path.join("datagram")));
        assert!(!to_hide(&path, &[]).unwrap().iter().any(|hidden| hidden.starts_with(&path)));
    }
}
