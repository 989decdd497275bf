//! Runs a program in its own network namespace with loopback only, without our environment.

use std::{path::Path, process::Command};

use crate::process::{is_available, new_command};

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Brings loopback up and executes the program. The address is `REMOTE_ADDRESS` of the test kit, for servers that are
/// not on loopback.
const NETWORK_SETUP_SCRIPT: &str = "ip link set lo up && ip address add 198.51.100.1/32 dev lo && exec \"$@\"";

/// The `unshare` flags that work on this machine.
pub struct NetworkIsolation {
    flag: &'static str,
}

impl NetworkIsolation {
    /// Finds a way that works: as root, or with a user namespace. Otherwise returns the reason.
    pub fn find() -> Result<Self, String> {
        for (name, option) in [("unshare", "--version"), ("ip", "-Version")] {
            if !is_available(new_command(name, &[option]).env("PATH", SYSTEM_PATH)) {
                return Err(format!("{name} is not installed"));
            }
        }
        let works = |way: &Self| is_available(&mut way.isolated_command(Path::new("true"), &[]));
        let ways = ["-n", "-rn"].map(|flag| Self { flag });
        let none = || "no network namespace may be made here: `unshare -n` needs root, `unshare -rn` user namespaces";
        ways.into_iter().find(works).ok_or_else(|| none().to_owned())
    }

    pub fn isolated_command(&self, name: &Path, args: &[&str]) -> Command {
        let mut command = new_command("unshare", &[self.flag, "sh", "-c", NETWORK_SETUP_SCRIPT, "sh"]);
        command.arg(name).args(args).env_clear().env("PATH", SYSTEM_PATH);
        command
    }
}
