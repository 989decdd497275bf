//! Sockets in the file system through which a program can have others act for it: session buses, container engines,
//! terminals, keys. A confined session does not see them.

use std::{collections::BTreeSet, fs, path::PathBuf};

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

/// The bit of a socket that accepts connections, in the kernel's list.
const ACCEPTS: u32 = 1 << 16;

/// Files and directories to hide from a session. Those in `visible` directories are its own.
pub fn to_hide(visible: &[PathBuf]) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let mut hidden: BTreeSet<PathBuf> = DIRECTORIES.iter().map(PathBuf::from).collect();
    hidden.extend(table.lines().filter_map(listening_path));
    // A path may lead through links (`/var/run`), and one that lies in a hidden directory is gone with it.
    let real: BTreeSet<PathBuf> = hidden.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let mut outermost: Vec<PathBuf> = Vec::new();
    for path in real {
        let is_visible = visible.iter().any(|own| path.starts_with(own) || own.starts_with(&path));
        let is_name_service = NAME_SERVICES.iter().any(|service| path.starts_with(service));
        let is_covered = outermost.iter().any(|hidden| path.starts_with(hidden));
        if !is_visible && !is_name_service && !is_covered {
            outermost.push(path);
        }
    }
    outermost
}

/// `Num: RefCount Protocol Flags Type St Inode Path`, the flags in hexadecimal digits.
fn listening_path(line: &str) -> Option<PathBuf> {
    let fields: Vec<&str> = line.splitn(8, ' ').filter(|field| !field.is_empty()).collect();
    let flags = u32::from_str_radix(fields.get(3)?, 16).ok()?;
    let path = line.find(" /").and_then(|at| line.get(at + 1..))?;
    (flags & ACCEPTS != 0).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use std::{os::unix::net::UnixListener, path::PathBuf};

    use super::{listening_path, to_hide};

    #[test]
    fn sockets_that_listen_are_read_from_the_table() {
        let line = "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/user/1000/a b";
        assert_eq!(listening_path(line), Some(PathBuf::from("/run/user/1000/a b")));
        for other in [
            "Num       RefCount Protocol Flags    Type St Inode Path",
            "0000000000000000: 00000003 00000000 00000000 0001 03 12346 /run/connected",
            "0000000000000000: 00000002 00000000 00010000 0001 01 12347 @abstract",
            "0000000000000000: 00000002 00000000 00010000 0001 01 12348",
        ] {
            assert_eq!(listening_path(other), None, "{other}");
        }
    }

    #[test]
    fn a_socket_is_hidden_unless_it_lies_in_a_visible_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let _listener = UnixListener::bind(path.join("socket")).unwrap();
        assert!(to_hide(&[]).contains(&path.join("socket")));
        assert!(!to_hide(std::slice::from_ref(&path)).contains(&path.join("socket")));
    }
}
