//! The host: clock, environment, random IDs, files and terminals. No other module of the program reads these.

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

use crate::{data::check_data_directory, failure::Failure};

/// The maximum size of a configuration file or schema.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// The maximum size of an image.
const MAX_IMAGE_BYTES: u64 = 20 << 20;

#[expect(clippy::disallowed_methods, reason = "this is the one place with a clock")]
pub fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()).unwrap_or_default()
}

/// Returns the system's time zone, or UTC if it is unknown.
pub fn time_zone() -> TimeZone {
    linked_time_zone().unwrap_or_else(TimeZone::system)
}

/// Returns the time zone that `/etc/localtime` links to. `TimeZone::system` lists the whole time zone database first,
/// which takes about a millisecond.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
fn linked_time_zone() -> Option<TimeZone> {
    const LINK: &str = "/etc/localtime";
    if std::env::var_os("TZ").is_some() {
        return None;
    }
    let target = std::fs::read_link(LINK).ok()?;
    let (_, name) = target.to_str()?.rsplit_once("zoneinfo/")?;
    TimeZone::tzif(name, &std::fs::read(LINK).ok()?).ok()
}

/// Returns a new unique ID.
pub fn new_id() -> Id {
    Id::from(uuid::Uuid::now_v7().to_string())
}

/// Opens a file, or standard input if it is `-` or not named.
pub fn open_file_or_stdin(path: Option<&Path>) -> io::Result<File> {
    match path {
        Some(path) if path != Path::new("-") => File::open(path),
        _ => io::stdin().as_fd().try_clone_to_owned().map(File::from),
    }
}

/// Returns what the engine may know of this host.
pub fn host_environment() -> Result<HostEnvironment, Failure> {
    host_environment_with_temp(std::env::temp_dir())
}

/// Like [`host_environment`], with a directory for files that are private to sessions.
pub fn host_environment_with_temp(temp: PathBuf) -> Result<HostEnvironment, Failure> {
    // No agent needs variables that are not text.
    let env =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(HostEnvironment {
        env: env.collect(),
        home: std::env::home_dir().ok_or_else(|| Failure::Machine("there is no home folder: set HOME".to_owned()))?,
        temp,
        // Also valid after an update has replaced the file.
        program: PathBuf::from("/proc/self/exe"),
        is_root: is_root(),
        now,
        new_id,
        new_secret,
    })
}

fn new_secret() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

/// Returns the directory where sessions are stored: the given one, or the platform's. A directory that cannot be
/// trusted is refused, or causes a warning.
pub fn data_directory(said: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let folder = unchecked_data_directory(said)?;
    check_data_directory(&folder)?;
    Ok(folder)
}

/// Like [`data_directory`], without checks.
pub fn unchecked_data_directory(said: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let machine = host_environment()?;
    let path_variable = |name: &str| machine.env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let platform = || path_variable("XDG_DATA_HOME").filter(|folder| folder.is_absolute());
    let local_share = || machine.home.join(".local/share");
    Ok(said
        .or_else(|| path_variable("SWITCHBOARD_DATA"))
        .unwrap_or_else(|| platform().unwrap_or_else(local_share).join("switchboard")))
}

/// Returns the home directory, for display.
pub fn home_directory() -> Option<String> {
    std::env::home_dir().map(|home| home.to_string_lossy().into_owned()).filter(|home| !home.is_empty())
}

/// Builds the runtime for one session. A single worker is enough; the main thread may block on a slow reader of the
/// output.
pub fn build_runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|cause| Failure::Machine(format!("cannot wait: {cause}")))
}

/// Builds the runtime of a server, with up to four workers.
pub fn build_server_runtime() -> Result<Runtime, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread()
        .worker_threads(cores.min(4))
        .enable_all()
        .build()
        .map_err(|cause| Failure::Machine(format!("cannot wait: {cause}")))
}

/// Raises the limit of open files to what a server needs, and no higher: agents inherit the limit, and some programs
/// iterate over all descriptors up to it.
pub fn raise_open_file_limit() {
    const ENOUGH: u64 = 16 << 10;
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(ENOUGH, |most| most.min(ENOUGH));
    if limit.current.is_some_and(|current| current < most) {
        // If this fails, fewer clients can connect.
        setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit }).ok();
    }
}

/// Returns whether the program was started with `nohup` or similar.
pub fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Returns an environment variable that is not empty.
pub fn env_variable(name: &str) -> Option<String> {
    let found = std::env::vars_os().find(|(key, _)| key == name);
    found.and_then(|(_, value)| value.into_string().ok()).filter(|value| !value.is_empty())
}

/// Returns whether the environment permits colors.
pub fn is_color_enabled() -> bool {
    let set = |name: &str| std::env::vars_os().any(|(key, value)| key == name && !value.is_empty());
    let dumb = std::env::vars_os().any(|(key, value)| key == "TERM" && value == "dumb");
    !set("NO_COLOR") && !dumb
}

pub fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

pub fn read_text_file(path: &Path) -> Result<String, Failure> {
    let text =
        read_bounded(path, MAX_CONFIG_BYTES).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    text.map_err(|cause| Failure::Unreadable { path: path.to_owned(), cause })
}

pub fn read_image_base64(path: &Path) -> Result<String, Failure> {
    let bytes = read_bounded(path, MAX_IMAGE_BYTES);
    Ok(BASE64_STANDARD.encode(bytes.map_err(|cause| Failure::Unreadable { path: path.to_owned(), cause })?))
}

/// Reads a regular file or a descriptor that a shell passes (`<(command)`). Other pipes and devices may never end.
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

pub fn absolute_path(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Parses a duration: `90s`, `10m`, `2h`, `30d`, or seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
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
