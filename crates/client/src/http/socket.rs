//! Unix sockets at paths of any length: a socket address holds 107 bytes, but a data directory may be deeper.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

/// The longest path of a socket address, without the terminating byte.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// A path to a socket that system calls accept. One that is too long goes through an open directory.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// Kept open as long as the path is used.
    _folder: Option<File>,
}

impl SocketPath {
    /// Makes a path of any length usable.
    ///
    /// # Errors
    /// Fails if the path is too long and its directory cannot be opened.
    pub fn new(path: &Path) -> io::Result<Self> {
        let parts = path.parent().zip(path.file_name()).filter(|_| path.as_os_str().len() > MAX_SOCKET_PATH_BYTES);
        let Some((folder, name)) = parts else { return Ok(Self { path: path.to_owned(), _folder: None }) };
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _folder: Some(folder) })
    }

    /// Returns the path to use, valid as long as this value lives.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::net::{UnixListener, UnixStream},
    };

    use super::SocketPath;

    #[test]
    fn a_short_path_is_left_alone_and_a_long_one_works() {
        let folder = tempfile::tempdir().unwrap();
        let short = folder.path().join("x.sock");
        assert_eq!(SocketPath::new(&short).unwrap().as_path(), short);
        let deep = folder.path().join("a-folder-with-a-long-name/".repeat(8));
        fs::create_dir_all(&deep).unwrap();
        let long = deep.join("x.sock");
        assert!(UnixListener::bind(&long).is_err());
        let _listener = UnixListener::bind(SocketPath::new(&long).unwrap().as_path()).unwrap();
        UnixStream::connect(SocketPath::new(&long).unwrap().as_path()).unwrap();
        assert!(SocketPath::new(&folder.path().join("missing/".repeat(20)).join("x.sock")).is_err());
    }
}
