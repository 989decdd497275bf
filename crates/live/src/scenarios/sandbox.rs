//! The sandbox around an agent that may do all it wants: what must not appear does not appear, whether the agent writes
//! with its own tool or by a command, and it works on all the same.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::ensure;
use switchboard_event::EndReason;

use crate::{
    heard::Heard,
    trial::{Trial, abilities},
};

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

/// Git works in a confined session, except for what would run code later, and a notice says how to allow that.
pub fn repository(trial: &Trial<'_>) -> anyhow::Result<()> {
    let workspace = workspace(trial)?;
    let folder = workspace.to_string_lossy().into_owned();
    let git = "git -c user.name=a -c user.email=a@b.example -c init.defaultBranch=main";
    let prepared = trial.stage.run(
        Path::new("/bin/sh"),
        &["-c", &format!("cd '{folder}' && {git} init -q . && {git} add . && {git} commit -qm first")],
        "",
    )?;
    ensure!(prepared.code == Some(0), "{}", prepared.shown());
    let config = fs::read_to_string(workspace.join(".git/config"))?;
    let works = format!(
        "echo more >> kept.txt; {git} commit -qam second; git branch other; git clone -q . clone; {git} init -q sub; \
         git worktree add -q tree other; printf '%s%s\\n' tri ed"
    );
    let fails = "git remote add origin https://example.invalid/x.git; echo evil > .git/hooks/pre-commit; \
                 git config core.hooksPath .husky; mv .git .old; printf '%s%s\\n' tri ed";
    let calls = [trial.cli.shell(&works), trial.cli.shell(fails)].join(" [[then]] ");
    let flags = ["--approval", "auto-all", "--sandbox", "workspace-write", "--cwd", &folder];
    let heard = trial.run(&format!("{calls} [[then]] [[text finished]]"), &flags)?;
    heard.ends(0, EndReason::Completed)?;
    let there = names(&workspace);
    ensure!(there == [".git", "clone", "kept.txt", "sub", "tree"], "{there:?}\n{}", heard.ended.shown());
    ensure!(fs::read_to_string(workspace.join(".git/config"))? == config, "the configuration was changed");
    ensure!(!workspace.join(".git/hooks/pre-commit").exists(), "a hook was written");
    for made in [".git/refs/heads/other", "clone/.git/HEAD", "sub/.git/HEAD", "tree/.git"] {
        ensure!(workspace.join(made).exists(), "there is no {made}\n{}", heard.ended.shown());
    }
    let log = trial.stage.run(Path::new("/usr/bin/env"), &["git", "-C", &folder, "log", "--oneline"], "")?;
    ensure!(log.stdout.contains("second"), "{}", log.shown());
    let notices = heard.notices();
    ensure!(trial.cli.terse || notices.contains("config.writablePaths"), "{notices}");
    ensure!(notices.contains("sub/.git/config") && notices.contains("clone/.git/config"), "{notices}");
    Ok(())
}

/// Settings of the agent that run code later stay as they are, and a session in a sandbox can be continued.
pub fn settings(trial: &Trial<'_>) -> anyhow::Result<()> {
    let home = trial.stage.home();
    let directories = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let planted: Vec<_> = directories(&home).into_iter().chain(directories(&home.join(".config"))).collect();
    let writes: String = planted
        .iter()
        .map(|path| {
            format!("mkdir -p '{0}'; echo evil > '{0}/settings.json'; echo evil > '{0}/planted'; ", path.display())
        })
        .collect();
    let before: Vec<_> = planted.iter().map(|path| fs::read(path.join("settings.json")).ok()).collect();
    let calls = trial.cli.shell(&format!("{writes} echo evil >> ~/.bashrc; echo evil > ~/.gitconfig; true"));
    let flags = ["--approval", "auto-all", "--sandbox", "read-only"];
    let heard = trial.run(&format!("{calls} [[then]] [[text finished]]"), &flags)?;
    heard.ends(0, EndReason::Completed)?;
    let after: Vec<_> = planted.iter().map(|path| fs::read(path.join("settings.json")).ok()).collect();
    ensure!(before == after, "settings were changed\n{}", heard.ended.shown());
    for path in planted.iter().map(|path| path.join("planted")).chain([home.join(".bashrc"), home.join(".gitconfig")]) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        ensure!(!text.contains("evil"), "{} was written\n{}", path.display(), heard.ended.shown());
    }
    if abilities(trial.cli).resume {
        let heard = trial.resume("[[text continued]]", &flags)?;
        heard.ends(0, EndReason::Completed)?;
        ensure!(heard.text().ends_with("continued"), "{}", heard.ended.shown());
        let asked = trial.stage.model().conversation();
        let remembers = asked.last().is_some_and(|request| request.body.to_string().contains("finished"));
        ensure!(remembers, "the conversation was lost\n{}", heard.ended.shown());
    }
    Ok(())
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
