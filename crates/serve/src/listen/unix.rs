//! Sockets in the file system: ours alone from the first moment, and at paths of any length.

use std::{
    fs, io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{fs::FileTypeExt as _, net::UnixStream},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, fchmod, openat},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind as bind_to, listen, socket_with},
};
use tokio::net::UnixListener;

use super::ListenError;

/// How many connections may wait to be accepted.
const WAITING: i32 = 1024;

/// The longest path that an address of a socket takes, with a byte for its end.
const LONGEST: usize = 107;

/// A path to a socket, as the system's calls take it. One that is too long goes through a descriptor of its folder.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// Held as long as the path is used.
    _folder: Option<OwnedFd>,
}

impl SocketPath {
    /// Makes a path usable, whatever its length.
    ///
    /// # Errors
    /// If the path is too long and its folder cannot be opened.
    pub fn new(path: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Self { path: path.to_owned(), _folder: None });
        };
        if path.as_os_str().len() <= LONGEST {
            return Ok(Self { path: path.to_owned(), _folder: None });
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, folder, flags, Mode::empty())?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _folder: Some(folder) })
    }

    /// The path to use, for as long as this is held.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A socket's file, which goes away with us.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl SocketFile {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If it stays, the next one to listen here finds that nobody does.
        drop(fs::remove_file(&self.0));
    }
}

/// Listens at a path. A file that a dead process left there is replaced.
pub fn bind(path: &Path) -> Result<(UnixListener, SocketFile), ListenError> {
    let failed = |error: io::Error| ListenError::new(&format!("unix:{}", path.display()), error);
    let path = std::path::absolute(path).map_err(failed)?;
    make_room(&path)?;
    let listener = private_socket(&path).and_then(|socket| UnixListener::from_std(socket.into())).map_err(failed)?;
    Ok((listener, SocketFile(path)))
}

/// Removes a socket on which nobody listens.
fn make_room(path: &Path) -> Result<(), ListenError> {
    let place = || format!("unix:{}", path.display());
    let failed = |error: io::Error| ListenError::new(&place(), error);
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(ListenError::NotASocket(path.to_owned()));
    }
    let reachable = SocketPath::new(path).map_err(failed)?;
    match UnixStream::connect(reachable.path()) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(_) => Err(ListenError::InUse(place())),
    }
}

fn private_socket(path: &Path) -> io::Result<OwnedFd> {
    let reachable = SocketPath::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Before it has a name, so that there is no moment at which others can connect.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind_to(&socket, &SocketAddrUnix::new(reachable.path())?)?;
    listen(&socket, WAITING)?;
    Ok(socket)
}
