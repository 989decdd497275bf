//! The events of a live run equal those that `translate` makes from the same records, except for facts only Switchboard
//! knows.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value, json};
use switchboard_event::{Dir, Event, EventBody, Info, NativeBody};

use crate::trial::LiveTrial;

/// Fields that only Switchboard knows, or that are times.
const SWITCHBOARD_ONLY_FIELDS: &[&str] =
    &["config", "by", "decided", "expires_at", "duration_ms", "elapsed_ms", "exit_code", "signal"];

/// Compares a run with all kinds of items with the translation of its records.
pub fn compare_translation(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (run, fail) = (trial.cli.shell_directive("echo one"), trial.cli.shell_directive("echo two; exit 4"));
    let write = trial.cli.write_directive(&trial.stage.project_dir().join("new.txt"), "text\n");
    let prompt = format!("[[think hm]] {run} [[then]] {fail} [[then]] {write} [[then]] [[text finished]]");
    let heard = trial.run(&prompt, &["--approval", "ask", "--allow-tool", "command"])?;
    heard.check_closed()?;
    let again = trial.translate_records(trial.cli.live, &to_transcript(&heard.events)?)?;
    let again: Vec<Event> = again.lines().map(Event::from_json).collect::<Result<_, _>>()?;
    ensure!(merged_info(&heard.events)? == merged_info(&again)?, "the same is not known about the session");
    let (live, again) = (comparable_events(&heard.events)?, comparable_events(&again)?);
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
