//! A similar server from the npm registry, measured as closely to ours as it allows. It supports server-sent events
//! only and forwards the lines of an ACP agent, so its fake speaks ACP.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};

use super::{
    ServeBench,
    cases::{DelayFigures, LoadCaseRunner, ReaderCase, ReaderFigures, StartFigures},
};
use crate::print_line;
use crate::process::{build_directory, is_available, new_command, run_program};
use crate::tools::NetworkIsolation;

pub const PEER_NAME: &str = "sandbox-agent";

const PEER_VERSION: &str = "0.4.2";

pub struct PeerServerBench<'a> {
    program: PathBuf,
    isolation: &'a NetworkIsolation,
}

pub struct PeerServerFigures {
    pub cases: Vec<ReaderCase>,
    pub throughput: Option<ReaderFigures>,
    pub delays: Option<DelayFigures>,
    pub starts: Option<StartFigures>,
    pub many: Option<ReaderFigures>,
}

impl<'a> PeerServerBench<'a> {
    /// Installs the peer if necessary. It runs only without network.
    pub fn find_or_install(isolation: &'a Result<NetworkIsolation, String>) -> Result<Self, String> {
        let isolation = isolation.as_ref().map_err(Clone::clone)?;
        let program = install_peer().map_err(|error| format!("{error:#}"))?;
        Ok(Self { program, isolation })
    }

    /// Measures all selected cases that it supports.
    pub fn measure_all(&self, args: &ServeBench) -> anyhow::Result<PeerServerFigures> {
        let (cases, wanted) =
            (LoadCaseRunner::for_peer(&self.program, self.isolation), |name: &str| name.contains(&args.only));
        let (deltas, many) = (args.deltas.to_string(), args.readers.to_string());
        let mut figures =
            PeerServerFigures { cases: Vec::new(), throughput: None, delays: None, starts: None, many: None };
        let readers = |options: &[&str]| {
            cases.measure_case::<ReaderFigures>(&[&["readers", "--deltas", &deltas], options].concat())
        };
        if wanted("throughput") {
            figures.throughput = Some(readers(&[])?);
        }
        if wanted("readers") {
            for (name, options) in
                [("1 reader", vec![]), ("many readers", vec!["--readers", &many]), ("3 s late", vec!["--late", "3"])]
            {
                figures.cases.push((format!("{PEER_NAME}: {name}"), "sse".to_owned(), readers(&options)?));
            }
        }
        if wanted("delays") {
            figures.delays = Some(cases.measure_case(&["delays"])?);
        }
        if wanted("starts") {
            figures.starts = Some(cases.measure_case(&["starts"])?);
        }
        if wanted("returns") {
            figures.many = Some(cases.measure_case(&["readers", "--deltas", &args.many.to_string()])?);
        }
        Ok(figures)
    }
}

fn install_peer() -> anyhow::Result<PathBuf> {
    let folder = build_directory().join("peers").join(format!("{PEER_NAME}-{PEER_VERSION}"));
    if let Ok(program) = find_native_program(&folder) {
        return Ok(program);
    }
    ensure!(is_available(&mut new_command("npm", &["--version"])), "npm is not installed");
    print_line(&format!("installing {PEER_NAME} {PEER_VERSION} into {}", folder.display()));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), "{\"private\":true}\n")?;
    let package = format!("{PEER_NAME}@{PEER_VERSION}");
    let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", &package];
    run_program(new_command("npm", &install).current_dir(&folder))?;
    find_native_program(&folder)
}

/// Returns the native program instead of its wrapper script.
fn find_native_program(folder: &Path) -> anyhow::Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let packages = fs::read_dir(folder.join("node_modules/@sandbox-agent"))?.flatten();
    let found = packages.map(|package| package.path().join("bin").join(PEER_NAME)).find(|program| {
        let is_native = |bytes: Vec<u8>| bytes.starts_with(b"\x7fELF");
        fs::read(program).is_ok_and(is_native)
    });
    let program = found.with_context(|| format!("no program for this machine in {}", folder.display()))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(program)
}
