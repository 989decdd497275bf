//! The measured programs, and the sources and dialects to measure with.

use std::path::PathBuf;

use anyhow::ensure;
use serde::Deserialize;

use crate::process::{build_directory, cargo_command, read_output, run_program, testkit_command};

/// Builds the measured programs in one build, so that they share every library and setting.
pub fn build_release() -> anyhow::Result<()> {
    run_program(&mut cargo_command(&[
        "build",
        "--release",
        "--package",
        "switchboard-cli",
        "--package",
        "switchboard-xtask",
    ]))
}

pub fn release_program(name: &str) -> PathBuf {
    build_directory().join("release").join(name)
}

/// The available sources and dialects.
#[derive(Deserialize)]
pub struct TranslationNames {
    pub sources: Vec<String>,
    pub dialects: Vec<String>,
}

impl TranslationNames {
    /// Returns all names, or the selected ones.
    pub fn load_selected(source: Option<&str>, dialect: Option<&str>) -> anyhow::Result<Self> {
        let mut names: Self = serde_json::from_str(&read_output(&mut testkit_command(&["list"])?)?)?;
        let keep =
            |names: &mut Vec<String>, only: Option<&str>| names.retain(|name| only.is_none_or(|only| only == name));
        keep(&mut names.sources, source);
        keep(&mut names.dialects, dialect);
        ensure!(!names.sources.is_empty(), "no such source, or no recordings of it");
        ensure!(!names.dialects.is_empty(), "no such dialect");
        Ok(names)
    }
}
