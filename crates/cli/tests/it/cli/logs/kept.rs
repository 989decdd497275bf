//! What stays when an agent deletes its logs, and when the index is made anew.

use std::fs;

use super::{Machine, two};

const ID: &str = "11111111-1111-4111-8111-111111111111";

#[test]
fn text_stays_after_the_log_is_gone() {
    let machine = Machine::with(&two());
    machine.logs(&["scan"]).ok();
    fs::remove_file(machine.path(ID)).unwrap();
    let ran = machine.logs(&["show", ID]);
    assert!(ran.stdout.contains("[gone]") && ran.stdout.contains("The **parser** was off by one."), "{}", ran.stdout);
    assert!(ran.stdout.contains("── turn 2") && ran.stdout.contains("test parser ... FAILED"), "{}", ran.stdout);
    assert!(ran.stderr.contains("has deleted this log"), "{}", ran.stderr);
    assert!(machine.logs(&["list"]).ok().contains("[gone] please fix"));
    assert_eq!(machine.objects(&["search", "off by one", "--json"]).len(), 1);
    let trace = machine.objects(&["export", ID]);
    assert!(trace.iter().any(|line| line["text"] == "The lexer is fine."));
    // Reading all logs anew does not lose what is no longer there.
    machine.logs(&["scan", "--rebuild"]).ok();
    assert_eq!(machine.objects(&["list", "--json"]).len(), 2);
    assert_eq!(machine.objects(&["search", "off by one", "--json"]).len(), 1);
}

#[test]
fn records_stay_if_they_are_to_be_kept() {
    let machine = Machine::with(&two());
    let written = fs::read_to_string(machine.path(ID)).unwrap();
    machine.logs(&["scan", "--keep"]).ok();
    // A rebuild keeps the copies.
    machine.logs(&["scan", "--rebuild"]).ok();
    fs::remove_file(machine.path(ID)).unwrap();
    let events = machine.objects(&["show", ID, "--json"]);
    let records: Vec<String> = events.iter().filter_map(|event| event.get("native")).map(ToString::to_string).collect();
    assert_eq!(records, written.lines().collect::<Vec<_>>());
}

#[test]
fn a_scan_says_what_it_came_to() {
    let machine = Machine::with(&two());
    let first = &machine.objects(&["scan", "--json"])[0];
    assert_eq!((&first["files"], &first["read"], &first["troubles"]), (&2.into(), &2.into(), &0.into()));
    let again = &machine.objects(&["scan", "--json"])[0];
    assert_eq!((&again["files"], &again["read"], &again["bytes"]), (&2.into(), &0.into(), &0.into()));
    let anew = &machine.objects(&["scan", "--rebuild", "--json"])[0];
    assert_eq!((&anew["read"], &anew["bytes"]), (&2.into(), &first["bytes"]));
    assert!(machine.logs(&["scan"]).ok().starts_with("2 logs · 0 read"));
}

#[test]
fn another_home_is_another_answer() {
    let (machine, other) = (Machine::with(&two()), Machine::with(&two()[1..]));
    machine.logs(&["scan"]).ok();
    let [home, data] = [other.out("home"), machine.out("data")].map(|path| path.to_str().unwrap().to_owned());
    let list = |args: &[&str]| {
        let ran = crate::binary::run(&[&["logs", "list", "--json", "--data", &data], args].concat(), b"");
        ran.ok().lines().count()
    };
    assert_eq!(list(&["--home", &home, "--as", "laptop"]), 1);
    assert_eq!(list(&["--home", machine.out("home").to_str().unwrap()]), 2);
}
