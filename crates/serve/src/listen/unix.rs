//! Sockets in the file system: ours alone from the first moment, and at paths of any length.

use std::{
    fs, io,
    os::{
        fd::OwnedFd,
        unix::{fs::FileTypeExt as _, net::UnixStream},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, fchmod},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind as bind_to, listen, socket_with},
};
use switchboard_client::http::SocketPath;
use tokio::net::UnixListener;

use super::ListenError;

/// How many connections may wait to be accepted.
const WAITING: i32 = 1024;

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
    match UnixStream::connect(reachable.as_path()) {
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
    bind_to(&socket, &SocketAddrUnix::new(reachable.as_path())?)?;
    listen(&socket, WAITING)?;
    Ok(socket)
}
