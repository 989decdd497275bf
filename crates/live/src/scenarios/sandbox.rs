//! The sandbox around an agent with all permissions: forbidden files do not appear, whether the agent writes with its
//! own tool or with a command, and it keeps working.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::ensure;
use switchboard_event::EndReason;

use crate::{
    heard::ObservedRun,
    trial::{LiveTrial, agent_abilities},
};

/// Nothing changes in the workspace or around it.
pub fn enforce_read_only(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let workspace = create_workspace(trial)?;
    let heard = attempt_writes(trial, &workspace, "read-only")?;
    let there = file_names(&workspace);
    ensure!(there == ["kept.txt"], "in the workspace: {there:?}\n{}", heard.ended.describe_output());
    ensure!(fs::read_to_string(workspace.join("kept.txt"))? == "kept\n", "a file was changed");
    check_nothing_outside(trial, &heard)
}

/// Files are written in the workspace, although it lies in the temporary directory, and nowhere else.
pub fn enforce_workspace_write(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let workspace = create_workspace(trial)?;
    let heard = attempt_writes(trial, &workspace, "workspace-write")?;
    let there = file_names(&workspace);
    ensure!(
        there == ["by-command.txt", "by-tool.txt"],
        "in the workspace: {there:?}\n{}",
        heard.ended.describe_output()
    );
    check_nothing_outside(trial, &heard)
}

/// Git works in a confined session, except for settings that would run code later; a notice says how to allow those.
pub fn protect_repository(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let workspace = create_workspace(trial)?;
    let folder = workspace.to_string_lossy().into_owned();
    let git = "git -c user.name=a -c user.email=a@b.example -c init.defaultBranch=main";
    let prepared = trial.stage.run(
        Path::new("/bin/sh"),
        &["-c", &format!("cd '{folder}' && {git} init -q . && {git} add . && {git} commit -qm first")],
        "",
    )?;
    ensure!(prepared.code == Some(0), "{}", prepared.describe_output());
    let config = fs::read_to_string(workspace.join(".git/config"))?;
    let works = format!(
        "echo more >> kept.txt; {git} commit -qam second; git branch other; git clone -q . clone; {git} init -q sub; \
         git worktree add -q tree other; printf '%s%s\\n' tri ed"
    );
    let fails = "git remote add origin https://example.invalid/x.git; echo evil > .git/hooks/pre-commit; \
                 git config core.hooksPath .husky; mv .git .old; printf '%s%s\\n' tri ed";
    let calls = [trial.cli.shell_directive(&works), trial.cli.shell_directive(fails)].join(" [[then]] ");
    let flags = ["--approval", "auto-all", "--sandbox", "workspace-write", "--cwd", &folder];
    let heard = trial.run(&format!("{calls} [[then]] [[text finished]]"), &flags)?;
    heard.check_end(0, EndReason::Completed)?;
    let there = file_names(&workspace);
    ensure!(there == [".git", "clone", "kept.txt", "sub", "tree"], "{there:?}\n{}", heard.ended.describe_output());
    ensure!(fs::read_to_string(workspace.join(".git/config"))? == config, "the configuration was changed");
    ensure!(!workspace.join(".git/hooks/pre-commit").exists(), "a hook was written");
    for made in [".git/refs/heads/other", "clone/.git/HEAD", "sub/.git/HEAD", "tree/.git"] {
        ensure!(workspace.join(made).exists(), "there is no {made}\n{}", heard.ended.describe_output());
    }
    let log = trial.stage.run(Path::new("/usr/bin/env"), &["git", "-C", &folder, "log", "--oneline"], "")?;
    ensure!(log.stdout.contains("second"), "{}", log.describe_output());
    let notices = heard.notice_text();
    ensure!(trial.cli.terse || notices.contains("config.writablePaths"), "{notices}");
    ensure!(notices.contains("sub/.git/config") && notices.contains("clone/.git/config"), "{notices}");
    Ok(())
}

/// Agent settings that run code later stay unchanged, and a confined session can be continued.
pub fn protect_settings(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let home = trial.stage.home_dir();
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
    let calls = trial.cli.shell_directive(&format!("{writes} echo evil >> ~/.bashrc; echo evil > ~/.gitconfig; true"));
    let flags = ["--approval", "auto-all", "--sandbox", "read-only"];
    let heard = trial.run(&format!("{calls} [[then]] [[text finished]]"), &flags)?;
    heard.check_end(0, EndReason::Completed)?;
    let after: Vec<_> = planted.iter().map(|path| fs::read(path.join("settings.json")).ok()).collect();
    ensure!(before == after, "settings were changed\n{}", heard.ended.describe_output());
    for path in planted.iter().map(|path| path.join("planted")).chain([home.join(".bashrc"), home.join(".gitconfig")]) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        ensure!(!text.contains("evil"), "{} was written\n{}", path.display(), heard.ended.describe_output());
    }
    if agent_abilities(trial.cli).resume {
        let heard = trial.resume_last("[[text continued]]", &flags)?;
        heard.check_end(0, EndReason::Completed)?;
        ensure!(heard.agent_text().ends_with("continued"), "{}", heard.ended.describe_output());
        let asked = trial.stage.scripted_model().conversation_requests();
        let remembers = asked.last().is_some_and(|request| request.body.to_string().contains("finished"));
        ensure!(remembers, "the conversation was lost\n{}", heard.ended.describe_output());
    }
    Ok(())
}

/// Creates a workspace with a file in the temporary directory.
fn create_workspace(trial: &LiveTrial<'_>) -> anyhow::Result<PathBuf> {
    let workspace = trial.stage.root_dir().join("tmp/workspace");
    fs::create_dir(&workspace)?;
    fs::write(workspace.join("kept.txt"), "kept\n")?;
    Ok(workspace)
}

/// Files that must not be written: in the home directory, above the workspace, and in the temporary directory.
fn outside_files(trial: &LiveTrial<'_>) -> [PathBuf; 3] {
    [trial.stage.home_dir(), trial.stage.root_dir().to_owned(), trial.stage.root_dir().join("tmp")]
        .map(|folder| folder.join("outside.txt"))
}

/// Has the agent write everywhere.
fn attempt_writes(trial: &LiveTrial<'_>, workspace: &Path, sandbox: &str) -> anyhow::Result<ObservedRun> {
    let by_tool = |path: &Path| trial.cli.write_directive(path, "text\n");
    let outside = outside_files(trial);
    let mut calls = vec![by_tool(&workspace.join("by-tool.txt"))];
    calls.extend(outside.iter().map(|path| by_tool(path)));
    let paths: String = outside.iter().map(|path| format!("echo x > '{}'; ", path.display())).collect();
    let command = format!("echo x > by-command.txt; echo x >> kept.txt; rm kept.txt; {paths} printf '%s%s\\n' tri ed");
    calls.push(trial.cli.shell_directive(&command));
    let prompt = format!("{} [[then]] [[text finished]]", calls.join(" [[then]] "));
    let (folder, mode) = (workspace.to_string_lossy(), ["--approval", "auto-all", "--sandbox", sandbox]);
    let heard = trial.run(&prompt, &[&mode[..], &["--cwd", &folder]].concat())?;
    heard.check_end(0, EndReason::Completed)?;
    ensure!(heard.agent_text().ends_with("finished"), "{:?}\n{}", heard.agent_text(), heard.ended.describe_output());
    // Not all agents report the output of a command, but all of them send it to the model.
    let asked = trial.stage.scripted_model().conversation_requests();
    let results: Vec<_> = asked.iter().map(|request| &request.results).collect();
    let tried = asked.iter().any(|request| request.body.to_string().contains("tried"));
    ensure!(tried, "the command did not run: {results:?}\n{}", heard.ended.describe_output());
    Ok(heard)
}

fn check_nothing_outside(trial: &LiveTrial<'_>, heard: &ObservedRun) -> anyhow::Result<()> {
    for path in outside_files(trial) {
        ensure!(!path.exists(), "{} was written\n{}", path.display(), heard.ended.describe_output());
    }
    Ok(())
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
