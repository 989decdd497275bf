//! The mounts of a confined session: everything is read-only except for the writable paths, protected paths below those
//! are read-only again, and processes, devices and terminals are the session's own.
//!
//! Paths are opened before anything is mounted, so that a mount never leads to a file other than the intended one.

use std::{
    collections::BTreeSet,
    ffi::{CString, OsString},
    fs::{self, DirBuilder, File},
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{
            ffi::OsStringExt as _,
            fs::{DirBuilderExt as _, symlink},
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, StatVfsMountFlags, openat, statvfs},
    io::Errno,
    mount::{
        MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change,
        mount_remount, unmount,
    },
};

use super::{SandboxFeature, SandboxReport, context, namespaces::enter_mount_namespace};
use crate::supervise::{Confinement, DirectoryView};

/// File systems that are not remounted: accessing one may hang, or mount something. Landlock still guards them.
const SKIPPED_FILE_SYSTEMS: &[&str] = &["autofs", "nfs", "nfs4", "cifs", "smb3", "9p", "ceph"];

/// Devices that programs use.
const COMMON_DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// Enters a new mount namespace and arranges it. Records the enforced features in `report`.
///
/// # Errors
/// If something cannot be arranged after the first mount has changed. The process must not continue then.
pub fn arrange_mounts(confinement: &Confinement, report: &mut SandboxReport) -> io::Result<()> {
    if let Err(error) = separate_mounts() {
        // Nothing has changed yet. The caller decides whether the session can start without it.
        report.add_missing(SandboxFeature::MountNamespace, &error);
        report.add_missing(SandboxFeature::OwnDevices, &error);
        report.add_missing(SandboxFeature::OwnProc, error);
        return Ok(());
    }
    let sources = MountSources::open(confinement)?;
    make_read_only()?;
    for (path, source) in &sources.writable {
        bind_writable(source, path)?;
    }
    arrange_views(&sources.views)?;
    protect_paths(&sources.protected, &confinement.writable)?;
    // Switchboard's data directory may lie in the workspace, with the session's private directory in it.
    let is_below =
        |path: &Path| confinement.protected.iter().any(|protected| path.starts_with(protected) && path != protected);
    for (path, source) in sources.writable.iter().filter(|(path, _)| is_below(path)) {
        bind_writable(source, path)?;
    }
    hide_paths(&sources.hidden)?;
    report.enforced.push(SandboxFeature::MountNamespace);
    report.record(SandboxFeature::OwnDevices, mount_own_devices());
    report.record(SandboxFeature::OwnProc, mount_own_proc());
    Ok(())
}

/// Enters a namespace whose mounts are not visible elsewhere.
fn separate_mounts() -> io::Result<()> {
    enter_mount_namespace()?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .map_err(context("cannot separate the mounts"))
}

/// Files and directories that were opened by their paths, before any of them was covered by a mount.
struct MountSources {
    writable: Vec<(PathBuf, OwnedFd)>,
    protected: Vec<(PathBuf, OwnedFd)>,
    hidden: Vec<(PathBuf, bool)>,
    views: Vec<ViewSources>,
}

impl MountSources {
    fn open(confinement: &Confinement) -> io::Result<Self> {
        // Parents first: a later mount on a parent would cover its child.
        let sorted: BTreeSet<_> = confinement.writable.iter().collect();
        let writable =
            sorted.into_iter().map(|path| Ok((path.clone(), open_path(path)?))).collect::<io::Result<_>>()?;
        let sorted: BTreeSet<_> = confinement.protected.iter().collect();
        let protected = sorted.into_iter().filter_map(|path| Some((path.clone(), open_path(path).ok()?))).collect();
        let existing = |path: &PathBuf| Some((path.clone(), fs::symlink_metadata(path).ok()?.is_dir()));
        let hidden = confinement.hidden.iter().filter_map(existing).collect();
        let mut views: Vec<_> = confinement.views.iter().collect();
        views.sort_by(|a, b| a.path.cmp(&b.path));
        let views = views.into_iter().map(ViewSources::open).collect::<io::Result<_>>()?;
        Ok(Self { writable, protected, hidden, views })
    }
}

/// A directory of which the agent gets a view, with the entries whose changes are kept.
struct ViewSources {
    path: PathBuf,
    directory: OwnedFd,
    kept: Vec<(PathBuf, OwnedFd)>,
}

impl ViewSources {
    fn open(view: &DirectoryView) -> io::Result<Self> {
        let kept = view.kept.iter().map(|name| view.path.join(name));
        // A user may have moved an entry elsewhere, and left a link.
        let kept = kept.map(|path| {
            let source = openat(CWD, &path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
            Ok((path.clone(), source.map_err(context(format!("cannot open {}", path.display())))?))
        });
        Ok(Self { path: view.path.clone(), directory: open_path(&view.path)?, kept: kept.collect::<io::Result<_>>()? })
    }

    /// Mounts the view, with its changes in the directory `layers`.
    fn arrange(&self, layers: &Path) -> io::Result<()> {
        let (upper, work) = (layers.join("upper"), layers.join("work"));
        DirBuilder::new().mode(0o700).create(layers)?;
        DirBuilder::new().mode(0o755).create(&upper)?;
        DirBuilder::new().mode(0o700).create(&work)?;
        let lower = descriptor_path(&self.directory);
        // None of these paths has a character that would have to be escaped.
        let options =
            format!("lowerdir={},upperdir={},workdir={},userxattr", lower.display(), upper.display(), work.display());
        let options = CString::new(options)?;
        mount("overlay", &self.path, "overlay", MountFlags::NODEV | MountFlags::NOSUID, Some(options.as_c_str()))
            .map_err(context(format!("cannot mount a view of {}", self.path.display())))?;
        self.kept.iter().try_for_each(|(path, source)| bind_writable(source, path))
    }
}

/// Mounts the views of directories. Their changes are kept in memory, where no path leads.
fn arrange_views(views: &[ViewSources]) -> io::Result<()> {
    if views.is_empty() {
        return Ok(());
    }
    // Any directory will do: it is covered only for a moment.
    let place = Path::new("/dev");
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    mount("tmpfs", place, "tmpfs", flags, c"mode=700").map_err(context("cannot mount a temporary file system"))?;
    for (number, view) in views.iter().enumerate() {
        view.arrange(&place.join(number.to_string()))?;
    }
    unmount(place, UnmountFlags::DETACH).map_err(context("cannot unmount a temporary file system"))
}

fn open_path(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).map_err(context(format!("cannot open {}", path.display())))
}

/// Returns a path that names an open file, whatever is mounted over it.
fn descriptor_path(file: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Makes every mount of the machine read-only, as far as its file system responds.
fn make_read_only() -> io::Result<()> {
    let table = fs::read("/proc/self/mountinfo")?;
    let mounts: BTreeSet<PathBuf> = table.split(|byte| *byte == b'\n').filter_map(parse_mount_point).collect();
    for path in &mounts {
        match set_read_only(path, true) {
            // A mount that is hidden below another one cannot be reached, and a file system may refuse.
            Err(_) if path != Path::new("/") => {}
            result => result?,
        }
    }
    Ok(())
}

/// Parses `ID PARENT DEVICE ROOT POINT OPTIONS … - TYPE SOURCE OPTIONS`, with spaces in paths as `\040`.
fn parse_mount_point(line: &[u8]) -> Option<PathBuf> {
    let mut fields = line.split(|byte| *byte == b' ');
    let point = fields.nth(4)?;
    let kind = std::str::from_utf8(fields.skip_while(|field| *field != b"-").nth(1)?).ok()?;
    let is_touched = !SKIPPED_FILE_SYSTEMS.contains(&kind) && !kind.starts_with("fuse");
    is_touched.then(|| OsString::from_vec(unescape_octal(point)).into())
}

fn unescape_octal(text: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((first, after)) = rest.split_first() {
        let octal = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
        match after.split_at_checked(3).and_then(|(digits, after)| Some((octal(digits)?, after))) {
            Some((byte, after)) if *first == b'\\' => {
                plain.push(byte);
                rest = after;
            }
            _ => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

/// Changes one mount and keeps its other restrictions, which the kernel refuses to lift.
fn set_read_only(path: &Path, read_only: bool) -> io::Result<()> {
    let has = statvfs(path).map_err(context(format!("cannot inspect {}", path.display())))?.f_flag;
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ];
    let mut flags = MountFlags::BIND;
    flags.set(MountFlags::RDONLY, read_only);
    kept.iter().for_each(|(found, flag)| flags.set(*flag, has.contains(*found)));
    // Terminals and other devices are the session's own, wherever else those of the machine are mounted.
    if read_only && path != Path::new("/") && !path.starts_with("/dev") {
        flags |= MountFlags::NODEV;
    }
    let mode = if read_only { "read-only" } else { "writable" };
    mount_remount(path, flags, c"").map_err(context(format!("cannot make {} {mode}", path.display())))
}

fn bind_mount(source: &OwnedFd, path: &Path) -> io::Result<()> {
    mount_bind_recursive(descriptor_path(source), path).map_err(context(format!("cannot mount {}", path.display())))
}

fn bind_writable(source: &OwnedFd, path: &Path) -> io::Result<()> {
    bind_mount(source, path)?;
    match set_read_only(path, false) {
        // It is read-only on the machine itself, so nothing is lost.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        result => result,
    }
}

fn bind_read_only(source: &OwnedFd, path: &Path) -> io::Result<()> {
    bind_mount(source, path)?;
    set_read_only(path, true)
}

/// Mounts paths read-only. Each directory above them becomes a mount, too: otherwise it could be renamed and replaced
/// by another one.
fn protect_paths(paths: &[(PathBuf, OwnedFd)], writable: &[PathBuf]) -> io::Result<()> {
    let is_below_writable = |path: &&Path| writable.iter().any(|root| path.starts_with(root) && path != root);
    let parents = paths.iter().flat_map(|(path, _)| path.ancestors().skip(1).take_while(is_below_writable));
    for parent in parents.collect::<BTreeSet<_>>() {
        mount_bind_recursive(parent, parent).map_err(context(format!("cannot mount {}", parent.display())))?;
    }
    paths.iter().try_for_each(|(path, source)| bind_read_only(source, path))
}

/// Covers each path with an empty file or directory.
fn hide_paths(paths: &[(PathBuf, bool)]) -> io::Result<()> {
    for (path, is_directory) in paths {
        let hidden = if *is_directory {
            mount(
                "tmpfs",
                path,
                "tmpfs",
                MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV,
                c"mode=755,size=4k",
            )
        } else {
            mount_bind("/dev/null", path)
        };
        match hidden {
            // It was removed since it was listed, like the socket of a process that has ended.
            Err(Errno::NOENT) => {}
            hidden => hidden.map_err(context(format!("cannot hide {}", path.display())))?,
        }
    }
    Ok(())
}

fn mount_own_proc() -> io::Result<()> {
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(context("cannot mount /proc"))
}

/// Mounts the usual devices, with terminals and shared memory of the session alone.
fn mount_own_devices() -> io::Result<()> {
    let device = |name: &'static str| Some((name, open_path(&Path::new("/dev").join(name)).ok()?));
    let devices: Vec<_> = COMMON_DEVICES.iter().copied().filter_map(device).collect();
    let plain = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("tmpfs", "/dev", "tmpfs", plain, c"mode=755,size=64k").map_err(context("cannot mount /dev"))?;
    for (name, source) in &devices {
        let path = Path::new("/dev").join(name);
        File::create(&path)?;
        mount_bind(descriptor_path(source), &path).map_err(context(format!("cannot mount {}", path.display())))?;
    }
    let mut directory = DirBuilder::new();
    directory.mode(0o755);
    directory.create("/dev/pts")?;
    directory.create("/dev/shm")?;
    mount("devpts", "/dev/pts", "devpts", plain, c"newinstance,ptmxmode=0666,mode=0620")
        .map_err(context("cannot mount /dev/pts"))?;
    mount("tmpfs", "/dev/shm", "tmpfs", plain | MountFlags::NODEV, c"mode=1777")
        .map_err(context("cannot mount /dev/shm"))?;
    for (target, name) in [
        ("pts/ptmx", "ptmx"),
        ("/proc/self/fd", "fd"),
        ("/proc/self/fd/0", "stdin"),
        ("/proc/self/fd/1", "stdout"),
        ("/proc/self/fd/2", "stderr"),
    ] {
        symlink(target, Path::new("/dev").join(name))?;
    }
    set_read_only(Path::new("/dev"), true)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::parse_mount_point;

    #[test]
    fn mount_points_are_read() {
        let read = |line: &str| parse_mount_point(line.as_bytes());
        let line = r"36 35 98:0 /mnt1 /mnt/a\040b\134 rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(read(line), Some(PathBuf::from(r"/mnt/a b\")));
        assert_eq!(read("28 27 0:25 / /x ro - tmpfs none ro"), Some(PathBuf::from("/x")));
        for left in ["1 2 0:1 / /home rw - autofs systemd-1 rw", "1 2 0:1 / /s rw - fuse.sshfs x rw", "1 2", ""] {
            assert_eq!(read(left), None, "{left}");
        }
    }
}
