//! The sandbox around an agent that may do all it wants: what must not appear does not appear, whether the agent writes
//! with its own tool or by a command, and it works on all the same.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::ensure;
use switchboard_event::EndReason;

use crate::{heard::Heard, trial::Trial};

/// Nothing changes in the workspace, nor around it.
pub fn read_only(trial: &Trial<'_>) -> anyhow::Result<()> {
    let workspace = workspace(trial)?;
    let heard = attempt(trial, &workspace, "read-only")?;
    let there = names(&workspace);
    ensure!(there == ["kept.txt"], "in the workspace: {there:?}\n{}", heard.ended.shown());
    ensure!(fs::read_to_string(workspace.join("kept.txt"))? == "kept\n", "a file was changed");
    nothing_outside(trial, &heard)
}

/// Files are written in the workspace, though it lies among temporary files, and nowhere else.
pub fn workspace_write(trial: &Trial<'_>) -> anyhow::Result<()> {
    let workspace = workspace(trial)?;
    let heard = attempt(trial, &workspace, "workspace-write")?;
    let there = names(&workspace);
    ensure!(there == ["by-command.txt", "by-tool.txt"], "in the workspace: {there:?}\n{}", heard.ended.shown());
    nothing_outside(trial, &heard)
}

/// A workspace in the folder of temporary files, with a file in it.
fn workspace(trial: &Trial<'_>) -> anyhow::Result<PathBuf> {
    let workspace = trial.stage.root().join("tmp/workspace");
    fs::create_dir(&workspace)?;
    fs::write(workspace.join("kept.txt"), "kept\n")?;
    Ok(workspace)
}

/// Places where nothing may be written: the home, the folder above, and among the temporary files.
fn outside(trial: &Trial<'_>) -> [PathBuf; 3] {
    [trial.stage.home(), trial.stage.root().to_owned(), trial.stage.root().join("tmp")]
        .map(|folder| folder.join("outside.txt"))
}

/// The agent is told to write everywhere.
fn attempt(trial: &Trial<'_>, workspace: &Path, sandbox: &str) -> anyhow::Result<Heard> {
    let by_tool = |path: &Path| trial.cli.write(path, "text\n");
    let outside = outside(trial);
    let mut calls = vec![by_tool(&workspace.join("by-tool.txt"))];
    calls.extend(outside.iter().map(|path| by_tool(path)));
    let paths: String = outside.iter().map(|path| format!("echo x > '{}'; ", path.display())).collect();
    let command = format!("echo x > by-command.txt; echo x >> kept.txt; rm kept.txt; {paths} printf '%s%s\\n' tri ed");
    calls.push(trial.cli.shell(&command));
    let prompt = format!("{} [[then]] [[text finished]]", calls.join(" [[then]] "));
    let (folder, mode) = (workspace.to_string_lossy(), ["--approval", "auto-all", "--sandbox", sandbox]);
    let heard = trial.run(&prompt, &[&mode[..], &["--cwd", &folder]].concat())?;
    heard.ends(0, EndReason::Completed)?;
    ensure!(heard.text().ends_with("finished"), "{:?}\n{}", heard.text(), heard.ended.shown());
    // Not all agents tell what a command printed, but all of them tell the model.
    let asked = trial.stage.model().conversation();
    let results: Vec<_> = asked.iter().map(|request| &request.results).collect();
    let tried = asked.iter().any(|request| request.body.to_string().contains("tried"));
    ensure!(tried, "the command did not run: {results:?}\n{}", heard.ended.shown());
    Ok(heard)
}

fn nothing_outside(trial: &Trial<'_>, heard: &Heard) -> anyhow::Result<()> {
    for path in outside(trial) {
        ensure!(!path.exists(), "{} was written\n{}", path.display(), heard.ended.shown());
    }
    Ok(())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
