//! Turns: text, reasoning, commands, changes and subagents, in `switchboard run` and in one-shot runs whose output is
//! translated. Events of a live run equal those that `translate` makes from the same records.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value, json};
use switchboard_event::{ChangeKind, Dir, EndReason, Event, EventBody, Info, NativeBody, Status, TurnStatus};

use crate::observed_run::ObservedRun;
use crate::trial::{LiveTrial, agent_abilities};

const AUTO_APPROVE_FLAGS: &[&str] = &["--approval", "auto-all"];

/// Text and reasoning arrive unchanged, with their cost.
pub fn say_text(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = trial.run("[[think hm, well]] [[text héllo wörld 漢字]] please", AUTO_APPROVE_FLAGS)?;
    observed.check_end(0, EndReason::Completed)?;
    ensure!(
        observed.agent_text() == "héllo wörld 漢字",
        "{:?}\n{}",
        observed.agent_text(),
        observed.ended.describe_output()
    );
    if agent_abilities(trial.cli).reasoning {
        ensure!(
            observed.reasoning_text().contains("hm, well"),
            "{:?}\n{}",
            observed.reasoning_text(),
            observed.ended.describe_output()
        );
    }
    ensure!(observed.last_turn()?.status == TurnStatus::Completed, "{:?}", observed.last_turn()?);
    let asked = trial.stage.scripted_model().conversation_requests();
    ensure!(asked.len() == 1, "the model was asked {} times", asked.len());
    check_cost(trial, &observed)
}

/// Checks the cost, as far as the agent reports it.
fn check_cost(trial: &LiveTrial<'_>, observed: &ObservedRun) -> anyhow::Result<()> {
    let asked = trial.stage.scripted_model().conversation_requests();
    if !trial.cli.terse {
        return observed.check_usage(&asked);
    }
    let said = asked.iter().filter_map(|request| request.answer.as_ref()).map(|answer| answer.usage);
    let (read, observed) = (said.map(|usage| usage.input + usage.cache_read).sum::<u64>(), observed.total_usage());
    ensure!(observed.input == read && observed.output > 0, "the model read {read}: {observed:?}");
    Ok(())
}

/// Commands run: output and exit codes are reported, and a failed command does not fail the agent.
pub fn run_commands(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (good, bad) = (
        trial.cli.shell_directive("echo made > made.txt; echo printed"),
        trial.cli.shell_directive("echo wrong; exit 3"),
    );
    let observed = trial.run(&format!("{good} [[then]] {bad} go"), AUTO_APPROVE_FLAGS)?;
    observed.check_end(0, EndReason::Completed)?;
    trial.check_written("made.txt").with_context(|| observed.ended.describe_output())?;
    let commands = observed.command_items();
    let [(Status::Completed, first), (_, second)] = commands.as_slice() else { anyhow::bail!("{commands:?}") };
    ensure!(first.command.contains("echo printed") && second.command.contains("exit 3"), "{commands:?}");
    if !trial.cli.terse {
        ensure!(first.output.contains("printed") && second.output.contains("wrong"), "{commands:?}");
        ensure!(first.exit_code.is_none_or(|code| code == 0) && second.exit_code == Some(3), "{commands:?}");
    }
    ensure!(observed.agent_text().contains("Done: "), "{:?}", observed.agent_text());
    let asked = trial.stage.scripted_model().conversation_requests();
    ensure!(asked.iter().map(|request| request.step).eq([0, 1, 2]), "the model was asked {} times", asked.len());
    check_cost(trial, &observed)
}

/// A new file is a change with its diff; in `auto-edit` mode, changes in the workspace need no approval.
pub fn write_file(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let file = trial.stage.project_dir().join("new.txt");
    let observed = trial.run(&trial.cli.write_directive(&file, "a line\nanother\n"), &["--approval", "auto-edit"])?;
    observed.check_end(0, EndReason::Completed)?;
    trial.check_written_text("new.txt", "a line\nanother\n").with_context(|| observed.ended.describe_output())?;
    let changes = observed.file_changes();
    let [(status, change)] = changes.as_slice() else { anyhow::bail!("{changes:?}") };
    ensure!(*status == trial.change_status(), "{status:?}\n{}", observed.ended.describe_output());
    ensure!(std::path::Path::new(&change.path) == file && change.kind == ChangeKind::Add, "{change:?}");
    ensure!(change.diff.contains("+a line\n+another"), "{change:?}");
    Ok(())
}

/// The text arrives unchanged, with its cost.
pub fn one_shot_text(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = trial.run_one_shot("[[text héllo wörld 漢字]] please")?;
    ensure!(
        observed.agent_text() == "héllo wörld 漢字",
        "{:?}\n{}",
        observed.agent_text(),
        observed.ended.describe_output()
    );
    ensure!(observed.ended.code == Some(0), "{}", observed.ended.describe_output());
    ensure!(observed.last_turn()?.status == TurnStatus::Completed, "{:?}", observed.last_turn()?);
    let asked = trial.stage.scripted_model().conversation_requests();
    ensure!(asked.len() == 1, "the model was asked {} times", asked.len());
    observed.check_usage(&asked)
}

/// A command runs; its output is reported to the client and to the model.
pub fn run_command(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed =
        trial.run_one_shot(&format!("{} go", trial.cli.shell_directive("echo made > made.txt; echo printed")))?;
    trial.check_written("made.txt").with_context(|| observed.ended.describe_output())?;
    let commands = observed.command_items();
    let [(Status::Completed, command)] = commands.as_slice() else { anyhow::bail!("{commands:?}") };
    ensure!(command.command.contains("echo printed") && command.output.contains("printed"), "{command:?}");
    // The error of the write comes first.
    let done = if trial.can_write() { "Done: printed" } else { "Done: " };
    ensure!(observed.agent_text().contains(done), "{:?}", observed.agent_text());
    let asked = trial.stage.scripted_model().conversation_requests();
    ensure!(asked.iter().map(|request| request.step).eq([0, 1]), "the model was asked {} times", asked.len());
    observed.check_usage(&asked)
}

/// Two commands of one reply are two items and one step for the model.
pub fn run_parallel_commands(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let both = [trial.cli.shell_directive("echo one"), trial.cli.shell_directive("echo two")].join(" ");
    let observed = trial.run_one_shot(&both)?;
    let commands = observed.command_items();
    ensure!(commands.len() == 2, "{commands:?}\n{}", observed.ended.describe_output());
    // Their order is not defined.
    let text = observed.agent_text();
    ensure!(text.contains("Done: one; two") || text.contains("Done: two; one"), "{text:?}");
    Ok(())
}

/// A new file is reported as a change.
pub fn one_shot_write(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let file = trial.stage.project_dir().join("new.txt");
    let observed = trial.run_one_shot(&trial.cli.write_directive(&file, "a line\nanother\n"))?;
    trial.check_written_text("new.txt", "a line\nanother\n").with_context(|| observed.ended.describe_output())?;
    let changes = observed.file_changes();
    let [(status, change)] = changes.as_slice() else { anyhow::bail!("{changes:?}") };
    ensure!(*status == trial.change_status(), "{status:?}\n{}", observed.ended.describe_output());
    // Some agents report whether the file is new only for a change that succeeded.
    let is_new = change.kind == ChangeKind::Add || !trial.can_write();
    ensure!(change.path.ends_with("new.txt") && is_new, "{change:?}");
    Ok(())
}

/// An API error fails the turn and reports the status.
pub fn report_api_error(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = trial.run_one_shot("[[error 400]] x")?;
    let turn = observed.last_turn()?;
    ensure!(turn.status == TurnStatus::Failed, "{turn:?}");
    let message = turn.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(message.contains("400"), "{turn:?}");
    ensure!(observed.session_end()?.reason == EndReason::Failed, "{:?}", observed.session_end()?);
    Ok(())
}

/// A broken stream is not an answer.
pub fn report_broken_stream(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = trial.run_one_shot("[[text this answer never comes to an end]] [[cut]]")?;
    ensure!(!observed.agent_text().contains("to an end"), "{:?}", observed.agent_text());
    ensure!(
        observed.last_turn()?.status != TurnStatus::Completed,
        "{:?}\n{}",
        observed.last_turn()?,
        observed.ended.describe_output()
    );
    Ok(())
}

/// Every `[[then]]` answers the next request of the turn.
pub fn follow_steps(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let first = trial.cli.shell_directive("echo one > one.txt");
    let second = trial.cli.shell_directive("echo two > two.txt");
    let observed =
        trial.run_one_shot(&format!("{first} [[then]] [[text Now again.]] {second} [[then]] [[text Finished.]]"))?;
    for file in ["one.txt", "two.txt"] {
        trial.check_written(file).with_context(|| observed.ended.describe_output())?;
    }
    ensure!(observed.agent_text().ends_with("Finished."), "{:?}", observed.agent_text());
    let asked = trial.stage.scripted_model().conversation_requests();
    ensure!(asked.iter().map(|request| request.step).eq([0, 1, 2]), "the model was asked {} times", asked.len());
    observed.check_usage(&asked)
}

/// A subagent gets its own script from within its caller's.
pub fn run_subagent(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let Some(delegate) = trial.cli.delegate else { anyhow::bail!("it has no subagents") };
    let task = delegate(&format!("{} go", trial.cli.shell_directive("echo below > below.txt")));
    let observed = trial.run_one_shot(&format!("{task} go"))?;
    trial.check_written("below.txt").with_context(|| observed.ended.describe_output())?;
    ensure!(observed.agent_text().contains("Done: "), "{:?}", observed.agent_text());
    Ok(())
}

/// An answer stops at `[[hold]]` and continues on release.
pub fn hold_answer(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let running = trial.start_one_shot("[[text before]] [[hold]] [[text after]]")?;
    let model = trial.stage.scripted_model();
    model.wait_for_request("the prompt", |request| request.is_conversation() && request.prompt.contains("[[hold]]"))?;
    model.release_hold();
    let observed = trial.end_one_shot(running)?;
    ensure!(
        observed.agent_text() == "before after",
        "{:?}\n{}",
        observed.agent_text(),
        observed.ended.describe_output()
    );
    ensure!(model.conversation_requests().iter().all(|request| !request.abandoned), "an agent left before the end");
    Ok(())
}

/// Fields that only Switchboard knows, or that are times.
const SWITCHBOARD_ONLY_FIELDS: &[&str] =
    &["config", "by", "decided", "expires_at", "duration_ms", "elapsed_ms", "exit_code", "signal"];

/// Compares a run with all kinds of items with the translation of its records.
pub fn compare_translation(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (run, fail) = (trial.cli.shell_directive("echo one"), trial.cli.shell_directive("echo two; exit 4"));
    let write = trial.cli.write_directive(&trial.stage.project_dir().join("new.txt"), "text\n");
    let prompt = format!("[[think hm]] {run} [[then]] {fail} [[then]] {write} [[then]] [[text finished]]");
    let observed = trial.run(&prompt, &["--approval", "ask", "--allow-tool", "command"])?;
    observed.check_closed()?;
    let again = trial.translate_records(trial.cli.live, &to_transcript(&observed.events)?)?;
    let again: Vec<Event> = again.lines().map(Event::from_json).collect::<Result<_, _>>()?;
    ensure!(merged_info(&observed.events)? == merged_info(&again)?, "the same is not known about the session");
    let (live, again) = (comparable_events(&observed.events)?, comparable_events(&again)?);
    for (at, (live, again)) in live.iter().zip(&again).enumerate() {
        ensure!(live == again, "event {at} of what is compared\nlive   {live}\nagain  {again}");
    }
    ensure!(live.len() == again.len(), "{} events live, {} again: {:?}", live.len(), again.len(), live.last());
    Ok(())
}

/// Returns the records of a run as a transcript.
fn to_transcript(events: &[Event]) -> anyhow::Result<String> {
    let mut lines = String::new();
    for native in events.iter().filter_map(|event| event.native.as_ref()) {
        let dir = if native.dir == Dir::In { "in" } else { "out" };
        match &native.body {
            NativeBody::Json(record) => writeln!(lines, "{{\"dir\":\"{dir}\",\"msg\":{}}}", record.get())?,
            NativeBody::Text(line) if native.dir == Dir::In => writeln!(lines, "{line}")?,
            other => anyhow::bail!("this cannot be in a transcript: {other:?}"),
        }
    }
    Ok(lines)
}

fn comparable_events(events: &[Event]) -> anyhow::Result<Vec<Value>> {
    let from_records = events.iter().filter(|event| !is_own_notice(event) && session_info(event).is_none());
    from_records.map(|event| comparable_event(event).with_context(|| format!("event {}", event.seq))).collect()
}

/// Returns the session info at the end. For an agent that starts slowly, it arrives later.
fn merged_info(events: &[Event]) -> anyhow::Result<Value> {
    let mut known = Map::new();
    for info in events.iter().filter_map(session_info) {
        if let Value::Object(fields) = serde_json::to_value(info)? {
            known.extend(fields);
        }
    }
    Ok(known.into())
}

fn session_info(event: &Event) -> Option<&Info> {
    match &event.body {
        EventBody::SessionStarted(started) => Some(&started.info),
        EventBody::SessionUpdated(updated) => Some(&updated.info),
        _ => None,
    }
}

/// Returns whether the event is a notice of Switchboard's own.
fn is_own_notice(event: &Event) -> bool {
    matches!(event.body, EventBody::Notice(_)) && event.native.is_none() && event.cause.is_none()
}

fn comparable_event(event: &Event) -> anyhow::Result<Value> {
    let whole: Value = serde_json::from_str(&serde_json::to_string(event)?)?;
    let mut data = whole["data"].clone();
    remove_fields(&mut data, SWITCHBOARD_ONLY_FIELDS);
    if let EventBody::SessionEnded(_) = event.body {
        // Only Switchboard sees the process exit.
        remove_fields(&mut data, &["error"]);
    }
    let place = [&whole["item"], &whole["turn"], &whole["parent"], &whole["thread"]].map(Value::clone);
    Ok(json!({ "kind": whole["kind"], "place": place, "data": data }))
}

fn remove_fields(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&name.as_str()));
            fields.values_mut().for_each(|field| remove_fields(field, names));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| remove_fields(value, names)),
        _ => {}
    }
}
