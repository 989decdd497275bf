//! Approval requests: declined without a client, allowed by a rule, answered by a user.

use anyhow::{Context as _, ensure};
use switchboard_event::{Decider, EndReason, Outcome};

use crate::trial::LiveTrial;

/// Without a client, requests are declined. The agent and the log both get the decision.
pub fn decline_without_client(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = trial.run(&format!("{} go", trial.cli.shell_directive("touch made.txt")), &["--approval", "ask"])?;
    observed.session_end()?;
    observed.check_closed()?;
    ensure!(!trial.stage.project_dir().join("made.txt").exists(), "it ran\n{}", observed.ended.describe_output());
    let resolutions = observed.request_resolutions();
    let [resolved] = resolutions.as_slice() else {
        anyhow::bail!("{resolutions:?}\n{}", observed.ended.describe_output())
    };
    ensure!(resolved.outcome == Outcome::Declined && resolved.by == Decider::Policy, "{resolved:?}");
    ensure!(observed.notice_text().contains("no client can answer"), "{:?}", observed.notice_text());
    observed.check_end(0, EndReason::Completed)?;
    Ok(())
}

/// A tool allowed by kind runs without a request; another one does not.
pub fn allow_by_rule(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let file = trial.stage.project_dir().join("written.txt");
    let calls =
        [trial.cli.shell_directive("touch made.txt"), trial.cli.write_directive(&file, "text\n")].join(" [[then]] ");
    let observed = trial.run(&format!("{calls} go"), &["--approval", "ask", "--allow-tool", "command"])?;
    observed.check_end(0, EndReason::Completed)?;
    trial.check_written("made.txt").with_context(|| observed.ended.describe_output())?;
    ensure!(!file.exists(), "it was written\n{}", observed.ended.describe_output());
    let declined =
        observed.request_resolutions().iter().filter(|resolved| resolved.outcome == Outcome::Declined).count();
    ensure!(declined == 1, "{:?}", observed.request_resolutions());
    Ok(())
}

/// A tool blocked by kind does not run, whatever else is allowed.
pub fn block_tool(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let flags = ["--approval", "auto-all", "--block-tool", "command"];
    let observed = trial.run(&format!("{} go", trial.cli.shell_directive("touch made.txt")), &flags)?;
    ensure!(!trial.stage.project_dir().join("made.txt").exists(), "it ran\n{}", observed.ended.describe_output());
    observed.check_closed()
}

/// A user on a terminal allows and declines.
pub fn answer_on_terminal(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (yes, no) = (trial.cli.shell_directive("touch allowed.txt"), trial.cli.shell_directive("touch declined.txt"));
    let prompt = format!("{yes} [[then]] {no} [[then]] [[text finished]]");
    let made = |file: &str| trial.stage.project_dir().join(file).exists();
    let mut running = trial.start_on_terminal(&prompt, &["--approval", "ask"])?;
    running.wait_for_output("a question", is_asked)?;
    ensure!(!made("allowed.txt"), "it ran before it was allowed");
    let seen = running.stdout_text().len();
    running.write_input("y\n")?;
    running.wait_for_output("another question", |shown| shown.get(seen..).is_some_and(is_asked))?;
    trial.check_written("allowed.txt").with_context(|| running.stdout_text())?;
    ensure!(!made("declined.txt"), "{}", running.stdout_text());
    running.write_input("n\n")?;
    let ended = running.wait_for_exit()?;
    ensure!(ended.code == Some(0) && !made("declined.txt"), "{}", ended.describe_output());
    Ok(())
}

/// Returns whether the terminal shows the approval keys.
fn is_asked(shown: &str) -> bool {
    shown.contains("[n] decline")
}

/// A terminal that closes does not allow anything.
pub fn hang_up_terminal(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let prompt = format!("{} go", trial.cli.shell_directive("touch made.txt"));
    let mut running = trial.start_on_terminal(&prompt, &["--approval", "ask"])?;
    running.wait_for_output("a question", is_asked)?;
    // Ctrl-D at the beginning of a line.
    running.write_input("\u{4}")?;
    let ended = running.wait_for_exit()?;
    ensure!(!trial.stage.project_dir().join("made.txt").exists(), "it ran\n{}", ended.describe_output());
    Ok(())
}
