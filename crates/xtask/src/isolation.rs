//! Running a program where nothing but loopback can be reached: in a network namespace of its own, with none of our
//! environment.

use std::{path::Path, process::Command};

use crate::process::{is_there, program};

/// Where the programs are that everything needs.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Brings loopback up, and goes on as the program.
const BEGIN: &str = "ip link set lo up && exec \"$@\"";

/// A way to leave the network.
pub struct Isolation {
    flag: &'static str,
}

impl Isolation {
    /// The way that works here: as root, or with a user namespace. Otherwise, why there is none.
    pub fn find() -> Result<Self, String> {
        for (name, option) in [("unshare", "--version"), ("ip", "-Version")] {
            if !is_there(program(name, &[option]).env("PATH", PATH)) {
                return Err(format!("{name} is not installed"));
            }
        }
        let works = |way: &Self| is_there(&mut way.program(Path::new("true"), &[]));
        let ways = ["-n", "-rn"].map(|flag| Self { flag });
        let none = || "no network namespace may be made here: `unshare -n` needs root, `unshare -rn` user namespaces";
        ways.into_iter().find(works).ok_or_else(|| none().to_owned())
    }

    /// A program without network, not started yet.
    pub fn program(&self, name: &Path, args: &[&str]) -> Command {
        let mut command = program("unshare", &[self.flag, "sh", "-c", BEGIN, "sh"]);
        command.arg(name).args(args).env_clear().env("PATH", PATH);
        command
    }
}
