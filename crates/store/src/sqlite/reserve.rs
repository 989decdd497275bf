//! A file that keeps some of the disk for what must be possible when the rest is full: opening the log, deleting
//! sessions, and writing down how a session ended. It is removed for that, and made again once there is space.

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

/// The size of the file. A small file system gives a sixteenth of its own.
const RESERVE_BYTES: u64 = 8 << 20;
const FILE_SYSTEM_SHARE: u64 = 16;

/// With less than this share of the reserve free besides it, the disk is full.
const NEARLY_FULL_SHARE: u64 = 8;

/// How often the size is halved where there is not enough space.
const ATTEMPTS: u32 = 5;

const NAME: &str = "reserve";

/// The reserve of one data directory.
#[derive(Clone, Debug)]
pub(super) struct DiskReserve {
    path: PathBuf,
    /// The disk is full, as far as we know: only what is essential may be written.
    is_low: Arc<AtomicBool>,
}

impl DiskReserve {
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join(NAME), is_low: Arc::default() }
    }

    pub fn is_low(&self) -> bool {
        self.is_low.load(Ordering::Relaxed)
    }

    /// Notes that the disk is full.
    pub fn mark_low(&self) {
        self.is_low.store(true, Ordering::Relaxed);
    }

    /// There is space for more besides the reserve. If that can't be told, there is.
    pub fn has_space_for(&self, bytes: u64) -> bool {
        bytes == 0 || free_space(&self.path).is_none_or(|free| free > bytes)
    }

    /// Gives the space back to the disk if there is then space for so many bytes. Returns whether it did.
    pub fn lend(&self, bytes: u64) -> bool {
        let reserved = fs::metadata(&self.path).map_or(0, |found| found.len());
        free_space(&self.path).is_some_and(|free| free + reserved > bytes) && self.release()
    }

    /// Gives the space back to the disk. Returns whether there was any.
    pub fn release(&self) -> bool {
        self.mark_low();
        fs::remove_file(&self.path).is_ok()
    }

    /// Makes the file unless it is there, as large as it can be. If it is smaller than it should be, or there is next to
    /// no space besides it, the disk is full.
    pub fn restore(&self) {
        // Whatever else is in the way, the log can be written without a reserve.
        let is_low = allocate(&self.path).is_ok_and(|is_whole| !is_whole);
        self.is_low.store(is_low, Ordering::Relaxed);
    }
}

/// Makes the file, or makes it larger. Returns whether that is all that it should be.
fn allocate(path: &Path) -> Result<bool, Errno> {
    let wanted = wanted_size(path)?;
    let found = fs::metadata(path).map_or(0, |found| found.len());
    // What is left of a reserve that was used is kept from others, too.
    let sizes = (0..ATTEMPTS).map(|halved| wanted >> halved).take_while(|size| *size > found);
    let reached = sizes.map(|size| extend(path, size).map(|()| size)).find(|reached| *reached != Err(Errno::NOSPC));
    let reached = reached.transpose()?.unwrap_or(found);
    if reached == 0 {
        drop(fs::remove_file(path));
    }
    Ok(reached >= wanted && free_space(path).is_none_or(|free| free >= wanted / NEARLY_FULL_SHARE))
}

fn extend(path: &Path, size: u64) -> Result<(), Errno> {
    let created = file::create(path).map_err(|error| match error {
        StoreError::Full => Errno::NOSPC,
        _ => Errno::IO,
    });
    let mut file = created?;
    match fallocate(&file, FallocateFlags::empty(), 0, size) {
        // Some file systems only know how to write.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => fill(&mut file, size),
        Err(Errno::DQUOT) => Err(Errno::NOSPC),
        extended => extended,
    }
}

fn free_space(path: &Path) -> Option<u64> {
    let found = statvfs(path.parent().unwrap_or(path)).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

fn fill(file: &mut File, size: u64) -> Result<(), Errno> {
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
