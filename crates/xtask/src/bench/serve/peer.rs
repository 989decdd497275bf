//! Another server of the same kind, from the registry: what it is measured with is as near to ours as it allows. It
//! speaks server-sent events only, and passes on the lines of an agent that speaks ACP; so does its fake.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};

use super::{
    Serve,
    cases::{Case, Cases, Delays, Readers, Starts},
};
use crate::{
    isolation::Isolation,
    process::{build_folder, is_there, program, run as run_program},
    say,
};

/// Its name.
pub const NAME: &str = "sandbox-agent";

/// The version that is measured.
const VERSION: &str = "0.4.2";

/// The peer, ready to be measured.
pub struct Peer<'a> {
    program: PathBuf,
    isolation: &'a Isolation,
}

/// What was measured.
pub struct Figures {
    pub cases: Vec<Case>,
    pub throughput: Option<Readers>,
    pub delays: Option<Delays>,
    pub starts: Option<Starts>,
    pub many: Option<Readers>,
}

impl<'a> Peer<'a> {
    /// Installs it, unless it is there. It never runs where it could reach anybody.
    pub fn find(isolation: &'a Result<Isolation, String>) -> Result<Self, String> {
        let isolation = isolation.as_ref().map_err(Clone::clone)?;
        let program = installed().map_err(|error| format!("{error:#}"))?;
        Ok(Self { program, isolation })
    }

    /// Everything that was asked for and that it can do.
    pub fn all(&self, args: &Serve) -> anyhow::Result<Figures> {
        let (cases, wanted) = (Cases::peer(&self.program, self.isolation), |name: &str| name.contains(&args.only));
        let (deltas, many) = (args.deltas.to_string(), args.readers.to_string());
        let mut figures = Figures { cases: Vec::new(), throughput: None, delays: None, starts: None, many: None };
        let readers =
            |options: &[&str]| cases.measure::<Readers>(&[&["readers", "--deltas", &deltas], options].concat());
        if wanted("throughput") {
            figures.throughput = Some(readers(&[])?);
        }
        if wanted("readers") {
            for (name, options) in
                [("1 reader", vec![]), ("many readers", vec!["--readers", &many]), ("3 s late", vec!["--late", "3"])]
            {
                figures.cases.push((format!("{NAME}: {name}"), "sse".to_owned(), readers(&options)?));
            }
        }
        if wanted("delays") {
            figures.delays = Some(cases.measure(&["delays"])?);
        }
        if wanted("starts") {
            figures.starts = Some(cases.measure(&["starts"])?);
        }
        if wanted("returns") {
            figures.many = Some(cases.measure(&["readers", "--deltas", &args.many.to_string()])?);
        }
        Ok(figures)
    }
}

fn installed() -> anyhow::Result<PathBuf> {
    let folder = build_folder().join("peers").join(format!("{NAME}-{VERSION}"));
    if let Ok(program) = native(&folder) {
        return Ok(program);
    }
    ensure!(is_there(&mut program("npm", &["--version"])), "npm is not installed");
    say(&format!("installing {NAME} {VERSION} into {}", folder.display()));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("package.json"), "{\"private\":true}\n")?;
    let package = format!("{NAME}@{VERSION}");
    let install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", &package];
    run_program(program("npm", &install).current_dir(&folder))?;
    native(&folder)
}

/// The program itself, not the script that starts it.
fn native(folder: &Path) -> anyhow::Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let packages = fs::read_dir(folder.join("node_modules/@sandbox-agent"))?.flatten();
    let found = packages.map(|package| package.path().join("bin").join(NAME)).find(|program| {
        let is_native = |bytes: Vec<u8>| bytes.starts_with(b"\x7fELF");
        fs::read(program).is_ok_and(is_native)
    });
    let program = found.with_context(|| format!("no program for this machine in {}", folder.display()))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(program)
}
