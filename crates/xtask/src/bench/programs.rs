//! The programs that are measured, and what they can be measured with.

use std::path::PathBuf;

use anyhow::ensure;
use serde::Deserialize;

use crate::process::{build_folder, cargo, output, run as run_program, testkit};

/// Builds the programs that are measured. One build for both, so that they share every library and setting.
pub fn build() -> anyhow::Result<()> {
    run_program(&mut cargo(&["build", "--release", "--package", "switchboard-cli", "--package", "switchboard-xtask"]))
}

/// A program of that build.
pub fn built(name: &str) -> PathBuf {
    build_folder().join("release").join(name)
}

/// What there is to translate from and to.
#[derive(Deserialize)]
pub struct Names {
    pub sources: Vec<String>,
    pub dialects: Vec<String>,
}

impl Names {
    /// All names, or those that were asked for.
    pub fn chosen(source: Option<&str>, dialect: Option<&str>) -> anyhow::Result<Self> {
        let mut names: Self = serde_json::from_str(&output(&mut testkit(&["list"])?)?)?;
        let keep =
            |names: &mut Vec<String>, only: Option<&str>| names.retain(|name| only.is_none_or(|only| only == name));
        keep(&mut names.sources, source);
        keep(&mut names.dialects, dialect);
        ensure!(!names.sources.is_empty(), "no such source, or no recordings of it");
        ensure!(!names.dialects.is_empty(), "no such dialect");
        Ok(names)
    }
}
