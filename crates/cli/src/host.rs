//! What the machine gives: the clock, fresh ids, files and pipes. The only place that asks for them.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read as _},
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::tz::TimeZone;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use switchboard_engine::{
    HostEnvironment, is_root,
    paths::{LocateError, read_bounded_file},
};
use switchboard_event::{Id, Timestamp};
use tokio::runtime::{Builder, Runtime};

use crate::{data_directory, failure::Failure};

/// The largest configuration file or schema that is read.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// The largest image that is read.
const MAX_IMAGE_BYTES: u64 = 20 << 20;

/// The time now.
#[expect(clippy::disallowed_methods, reason = "this is the one place with a clock")]
pub fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()).unwrap_or_default()
}

/// The system's time zone; UTC if it does not say.
pub fn zone() -> TimeZone {
    linked_zone().unwrap_or_else(TimeZone::system)
}

/// The zone that the system's link leads to. It is read here, since `TimeZone::system` lists the whole database of zones
/// first, which takes about a millisecond.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
fn linked_zone() -> Option<TimeZone> {
    const LINK: &str = "/etc/localtime";
    if std::env::var_os("TZ").is_some() {
        return None;
    }
    let target = std::fs::read_link(LINK).ok()?;
    let (_, name) = target.to_str()?.rsplit_once("zoneinfo/")?;
    TimeZone::tzif(name, &std::fs::read(LINK).ok()?).ok()
}

/// An id that nothing else has.
pub fn fresh_id() -> Id {
    Id::from(uuid::Uuid::now_v7().to_string())
}

/// Opens a file, or standard input if it is `-` or not named.
pub fn open(path: Option<&Path>) -> io::Result<File> {
    match path {
        Some(path) if path != Path::new("-") => File::open(path),
        _ => io::stdin().as_fd().try_clone_to_owned().map(File::from),
    }
}

/// All that the engine may know of this machine.
pub fn machine() -> Result<HostEnvironment, Failure> {
    machine_with(std::env::temp_dir())
}

/// The same, with a folder for what is private to sessions.
pub fn machine_with(temp: PathBuf) -> Result<HostEnvironment, Failure> {
    // Variables that are not text are nothing that an agent asks for.
    let env =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(HostEnvironment {
        env: env.collect(),
        home: std::env::home_dir().ok_or_else(|| Failure::Machine("there is no home folder: set HOME".to_owned()))?,
        temp,
        // Right also after an update has replaced the file.
        program: PathBuf::from("/proc/self/exe"),
        is_root: is_root(),
        now,
        new_id: fresh_id,
        new_secret: secret,
    })
}

/// Returns a random secret.
fn secret() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

/// Where sessions are kept: as it was said, or the platform's data folder. One that is not to be trusted is refused, or
/// warned about.
pub fn data_folder(said: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let folder = unchecked_data_folder(said)?;
    data_directory::check(&folder)?;
    Ok(folder)
}

/// The same, whatever it is.
pub fn unchecked_data_folder(said: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let machine = machine()?;
    let variable = |name: &str| machine.env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let platform = || variable("XDG_DATA_HOME").filter(|folder| folder.is_absolute());
    let home = || machine.home.join(".local/share");
    Ok(said
        .or_else(|| variable("SWITCHBOARD_DATA"))
        .unwrap_or_else(|| platform().unwrap_or_else(home).join("switchboard")))
}

/// The home folder, for what people see.
pub fn home() -> Option<String> {
    std::env::home_dir().map(|home| home.to_string_lossy().into_owned()).filter(|home| !home.is_empty())
}

/// What runs everything that waits. One thread is enough for one session; the one that shows it may have to wait for
/// whoever reads.
pub fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|cause| Failure::Machine(format!("cannot wait: {cause}")))
}

/// What runs a server: a thread for each core, and not too many.
pub fn server_runtime() -> Result<Runtime, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread()
        .worker_threads(cores.min(4))
        .enable_all()
        .build()
        .map_err(|cause| Failure::Machine(format!("cannot wait: {cause}")))
}

/// Asks the system for as many open files as a server needs. Not for all that it would give: agents inherit the limit,
/// and some programs go through every number up to it.
pub fn allow_many_files() {
    const ENOUGH: u64 = 16 << 10;
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(ENOUGH, |most| most.min(ENOUGH));
    if limit.current.is_some_and(|current| current < most) {
        // With fewer, fewer clients are served.
        setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit }).ok();
    }
}

/// We were started to go on when the terminal is gone.
pub fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// A variable of the environment, if it says anything.
pub fn variable(name: &str) -> Option<String> {
    let found = std::env::vars_os().find(|(key, _)| key == name);
    found.and_then(|(_, value)| value.into_string().ok()).filter(|value| !value.is_empty())
}

/// Colours are wanted, as far as the environment says.
pub fn wants_colour() -> bool {
    let set = |name: &str| std::env::vars_os().any(|(key, value)| key == name && !value.is_empty());
    let dumb = std::env::vars_os().any(|(key, value)| key == "TERM" && value == "dumb");
    !set("NO_COLOR") && !dumb
}

/// Returns whether standard input is a terminal.
pub fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// A file's text.
pub fn read(path: &Path) -> Result<String, Failure> {
    let text =
        read_bounded(path, MAX_CONFIG_BYTES).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    text.map_err(|cause| Failure::Unreadable { path: path.to_owned(), cause })
}

/// A file's bytes, as base64.
pub fn read_base64(path: &Path) -> Result<String, Failure> {
    let bytes = read_bounded(path, MAX_IMAGE_BYTES);
    Ok(BASE64_STANDARD.encode(bytes.map_err(|cause| Failure::Unreadable { path: path.to_owned(), cause })?))
}

/// Reads a regular file, or what a shell passes as a descriptor (`<(command)`). Other pipes and devices may never end.
pub fn read_bounded(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    if !["/dev/fd/", "/dev/stdin", "/proc/self/fd/"].iter().any(|name| path.to_string_lossy().starts_with(name)) {
        return read_bounded_file(path, max_bytes).map_err(|error| match error {
            LocateError::Io(cause) => cause,
            other => io::Error::other(other),
        });
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max_bytes} bytes")));
    }
    Ok(bytes)
}

/// A path from the root.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A time as people write it: `90s`, `10m`, `2h`, `30d`, or seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.strip_prefix(number).unwrap_or_default() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err("a number with s, m, h or d".to_owned()),
    };
    let seconds: f64 = number.parse().map_err(|_| "a number with s, m, h or d".to_owned())?;
    Duration::try_from_secs_f64(seconds * unit)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or("more than nothing".to_owned())
}
