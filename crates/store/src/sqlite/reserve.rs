//! A file that reserves disk space for operations that must work on a full disk: opening the log, deleting sessions,
//! and recording the end of a session. It is removed for that, and restored once there is space.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::{
    fs::{FallocateFlags, fallocate, statvfs},
    io::Errno,
};

use super::file;
use crate::StoreError;

/// The size of the file. On a small file system it is a sixteenth of the total size.
const RESERVE_BYTES: u64 = 8 << 20;
const FILE_SYSTEM_SHARE: u64 = 16;

/// The disk counts as full if less than this share of the reserve is free in addition to it.
const NEARLY_FULL_SHARE: u64 = 8;

/// The number of times that the size is halved if there is not enough space.
const MAX_ALLOCATION_ATTEMPTS: u32 = 5;

const RESERVE_FILE_NAME: &str = "reserve";

/// The reserve of one data directory.
#[derive(Clone, Debug)]
pub(super) struct DiskReserve {
    path: PathBuf,
    /// The disk was full at the last check: only essential data may be written.
    is_low: Arc<AtomicBool>,
}

impl DiskReserve {
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join(RESERVE_FILE_NAME), is_low: Arc::default() }
    }

    pub fn is_low(&self) -> bool {
        self.is_low.load(Ordering::Relaxed)
    }

    /// Records that the disk is full.
    pub fn mark_low(&self) {
        self.is_low.store(true, Ordering::Relaxed);
    }

    /// Returns whether there is space in addition to the reserve. In doubt, there is.
    pub fn has_space_for(&self, bytes: u64) -> bool {
        bytes == 0 || free_space(&self.path).is_none_or(|free| free > bytes)
    }

    /// Releases the reserve if that makes space for a number of bytes. Returns whether it did.
    pub fn release_if_sufficient(&self, bytes: u64) -> bool {
        let reserved = fs::metadata(&self.path).map_or(0, |found| found.len());
        free_space(&self.path).is_some_and(|free| free + reserved > bytes) && self.release()
    }

    /// Releases the reserve. Returns whether there was one.
    pub fn release(&self) -> bool {
        self.mark_low();
        fs::remove_file(&self.path).is_ok()
    }

    /// Creates the file unless it exists, as large as possible. The disk counts as full if the file is smaller than
    /// intended or there is hardly any space left.
    pub fn restore(&self) {
        // Other errors are ignored: the log can be written without a reserve.
        let is_low = allocate_reserve(&self.path).is_ok_and(|is_whole| !is_whole);
        self.is_low.store(is_low, Ordering::Relaxed);
    }
}

/// Creates or extends the file. Returns whether it has the intended size.
fn allocate_reserve(path: &Path) -> Result<bool, Errno> {
    let wanted = wanted_size(path)?;
    let found = fs::metadata(path).map_or(0, |found| found.len());
    // A smaller reserve that already exists is kept.
    let sizes = (0..MAX_ALLOCATION_ATTEMPTS).map(|halved| wanted >> halved).take_while(|size| *size > found);
    let reached =
        sizes.map(|size| extend_file(path, size).map(|()| size)).find(|reached| *reached != Err(Errno::NOSPC));
    let reached = reached.transpose()?.unwrap_or(found);
    if reached == 0 {
        drop(fs::remove_file(path));
    }
    Ok(reached >= wanted && free_space(path).is_none_or(|free| free >= wanted / NEARLY_FULL_SHARE))
}

fn extend_file(path: &Path, size: u64) -> Result<(), Errno> {
    let created = file::create_private_file(path).map_err(|error| match error {
        StoreError::Full => Errno::NOSPC,
        _ => Errno::IO,
    });
    let mut file = created?;
    match fallocate(&file, FallocateFlags::empty(), 0, size) {
        // Some file systems do not support `fallocate`.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => fill_with_zeros(&mut file, size),
        Err(Errno::DQUOT) => Err(Errno::NOSPC),
        extended => extended,
    }
}

fn free_space(path: &Path) -> Option<u64> {
    let found = statvfs(path.parent().unwrap_or(path)).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

fn fill_with_zeros(file: &mut File, size: u64) -> Result<(), Errno> {
    let zeros = vec![0; 1 << 16];
    for _ in 0..size.div_ceil(1 << 16) {
        file.write_all(&zeros).map_err(|_| Errno::NOSPC)?;
    }
    Ok(())
}

fn wanted_size(path: &Path) -> Result<u64, Errno> {
    let found = statvfs(path.parent().unwrap_or(path))?;
    let total = found.f_blocks.saturating_mul(found.f_frsize);
    Ok(RESERVE_BYTES.min(total / FILE_SYSTEM_SHARE))
}
