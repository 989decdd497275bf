//! Sockets in the file system, at paths of any length: an address has room for 107 bytes, a data folder may lie deeper.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

/// The longest path that the address of a socket takes, without the byte for its end.
const LONGEST: usize = 107;

/// A path to a socket, as the system's calls take it. One that is too long goes through an open folder.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// Held as long as the path is used.
    _folder: Option<File>,
}

impl SocketPath {
    /// Makes a path usable, whatever its length.
    ///
    /// # Errors
    /// If the path is too long and its folder cannot be opened.
    pub fn new(path: &Path) -> io::Result<Self> {
        let parts = path.parent().zip(path.file_name()).filter(|_| path.as_os_str().len() > LONGEST);
        let Some((folder, name)) = parts else { return Ok(Self { path: path.to_owned(), _folder: None }) };
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _folder: Some(folder) })
    }

    /// The path to use, for as long as this is held.
    #[must_use]
    pub fn path(&self) -> &Path {
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
        assert_eq!(SocketPath::new(&short).unwrap().path(), short);
        let deep = folder.path().join("a-folder-with-a-long-name/".repeat(8));
        fs::create_dir_all(&deep).unwrap();
        let long = deep.join("x.sock");
        assert!(UnixListener::bind(&long).is_err());
        let _listener = UnixListener::bind(SocketPath::new(&long).unwrap().path()).unwrap();
        UnixStream::connect(SocketPath::new(&long).unwrap().path()).unwrap();
        assert!(SocketPath::new(&folder.path().join("missing/".repeat(20)).join("x.sock")).is_err());
    }
}
