//! Opens the files of agents. Anything but a regular file is rejected: reading a pipe named like a log would block
//! forever.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{OFlags, SeekFrom, seek};
use switchboard_agents::HostAccess;

/// Smaller files are read even if they are sparse.
const MIN_SPARSE_BYTES: u64 = 16 << 20;

/// How much longer than its stored data a file may be. Compressed file systems also store less than the length.
const MAX_BYTES_PER_STORED_BYTE: u64 = 64;

/// Opens a file.
///
/// # Errors
/// If it cannot be opened, is not a regular file, or consists nearly only of holes: those take as long to read as data,
/// but cost nothing to create.
pub fn open_log_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let stored = found.blocks().saturating_mul(512).saturating_mul(MAX_BYTES_PER_STORED_BYTE);
    if found.len() >= MIN_SPARSE_BYTES && stored < found.len() && has_holes(&file, found.len())? {
        let text = format!("it is {} bytes long and nearly all holes", found.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(file)
}

/// Returns whether a part of the file is not stored. File systems without support report none.
fn has_holes(file: &File, length: u64) -> io::Result<bool> {
    let hole = seek(file, SeekFrom::Hole(0))?;
    seek(file, SeekFrom::Start(0))?;
    Ok(hole < length)
}

/// Reads a whole file.
///
/// # Errors
/// If it cannot be read, or is not a regular file.
pub fn read_whole_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_log_file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Only the disk: neither the environment nor the user's home affects where a log's own files are.
pub struct DiskOnlyHost;

impl HostAccess for DiskOnlyHost {
    fn env_var(&self, _: &str) -> Option<String> {
        None
    }

    fn home_dir(&self) -> PathBuf {
        PathBuf::new()
    }

    fn read_file(&self, path: &Path) -> Option<String> {
        String::from_utf8(read_whole_file(path).ok()?).ok()
    }

    fn list_dir(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        let mut paths: Vec<_> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        paths.sort();
        paths
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write as _};

    use super::{open_log_file, read_whole_file};

    #[test]
    fn a_file_of_holes_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("big.jsonl");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"{}\n").unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(read_whole_file(&path).unwrap().len(), 1 << 20);
        file.set_len(40 << 30).unwrap();
        let refused = open_log_file(&path).unwrap_err();
        assert!(refused.to_string().contains("nearly all holes"), "{refused}");
    }

    #[test]
    fn a_long_file_is_read_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.jsonl");
        std::fs::write(&path, vec![b'x'; 17 << 20]).unwrap();
        assert_eq!(read_whole_file(&path).unwrap().len(), 17 << 20);
    }
}
