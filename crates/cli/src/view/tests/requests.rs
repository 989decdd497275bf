//! What is seen of requests that were answered: nothing after an approval, a line after a refusal.

use switchboard_event::{
    Change, Command, Decider, EventBody, FileChange, Id, Item, Level, Notice, Outcome, RequestOpened, RequestResolved,
    Status, Topic,
};

use super::{ViewOptions, event, render};

fn command() -> Item {
    Item::new(Command { command: "touch x".to_owned(), ..Command::default() })
}

fn edit() -> Item {
    let diff = "@@ -1 +1 @@\n-a\n+b\n".to_owned();
    Item::new(FileChange {
        changes: vec![Change { path: "a.txt".to_owned(), diff, ..Change::default() }],
        output: None,
    })
}

/// What is seen when an item was asked for and this came of it.
fn seen(item: &Item, outcome: Outcome, by: Decider, status: Status) -> String {
    let opened = RequestOpened { request: Id::from("r"), title: "Do it".to_owned(), ..RequestOpened::default() };
    let resolved = RequestResolved { request: Id::from("r"), outcome, by, ..RequestResolved::default() };
    let events = [
        event(Some("i"), EventBody::ItemStarted(Box::new(item.clone()))),
        event(Some("i"), EventBody::RequestOpened(Box::new(opened))),
        event(Some("i"), EventBody::RequestResolved(Box::new(resolved))),
        event(Some("i"), EventBody::ItemCompleted(Box::new(item.clone().with_status(status)))),
    ];
    render(&events, ViewOptions { color: false, ..ViewOptions::terminal(80) }).all
}

#[test]
fn what_somebody_agreed_to_needs_no_word() {
    assert_eq!(seen(&command(), Outcome::Allowed, Decider::Client, Status::Completed), "$ touch x\n");
    assert_eq!(seen(&command(), Outcome::Allowed, Decider::Policy, Status::Completed), "$ touch x\n");
}

#[test]
fn a_diff_that_was_agreed_to_is_not_shown_again() {
    let heading = "→ edit a.txt +1 -1\n";
    assert_eq!(seen(&edit(), Outcome::Allowed, Decider::Client, Status::Completed), heading);
    let whole = seen(&edit(), Outcome::Allowed, Decider::Policy, Status::Completed);
    assert_eq!(whole, format!("{heading}  @@ -1 +1 @@\n  -a\n  +b\n"));
}

#[test]
fn a_refusal_is_told_once() {
    for (outcome, by, reported) in [
        (Outcome::Declined, Decider::Client, "declined by you"),
        (Outcome::Cancelled, Decider::Client, "declined by you, and the turn stopped"),
        (Outcome::Declined, Decider::Policy, "declined automatically"),
        (Outcome::Declined, Decider::Switchboard, "declined"),
        (Outcome::Expired, Decider::Timeout, "not answered in time, so declined"),
    ] {
        assert_eq!(seen(&command(), outcome, by, Status::Declined), format!("$ touch x\n  ✗ {reported}\n"));
        assert_eq!(seen(&edit(), outcome, by, Status::Declined), format!("→ Do it\n  ✗ {reported}\n"));
    }
}

#[test]
fn a_warning_about_a_request_is_left_to_its_end() {
    let opened = RequestOpened { title: "Run it".to_owned(), ..RequestOpened::default() };
    let warning = |text: &str| Notice::new(Topic::Warning).with_text(text).with_level(Level::Warning);
    let resolved = RequestResolved { outcome: Outcome::Declined, ..RequestResolved::default() };
    let events = [
        event(Some("i"), EventBody::ItemStarted(Box::new(command()))),
        event(Some("i"), EventBody::RequestOpened(Box::new(opened))),
        event(None, EventBody::Notice(Box::new(warning("nobody is there to ask: Run it")))),
        event(Some("i"), EventBody::RequestResolved(Box::new(resolved))),
        event(None, EventBody::Notice(Box::new(warning("careful: Run it")))),
    ];
    assert_eq!(render(&events, ViewOptions::piped()).activity, "$ touch x\n  ✗ declined\n! careful: Run it\n");
}

#[test]
fn where_little_is_shown_a_refusal_still_is() {
    let resolved = RequestResolved { outcome: Outcome::Declined, ..RequestResolved::default() };
    let opened = RequestOpened { command: Some("rm x".to_owned()), ..RequestOpened::default() };
    let events = [
        event(Some("i"), EventBody::ItemStarted(Box::new(command()))),
        event(Some("i"), EventBody::RequestOpened(Box::new(opened))),
        event(Some("i"), EventBody::RequestResolved(Box::new(resolved))),
    ];
    let options = ViewOptions { quiet: true, ..ViewOptions::piped() };
    assert_eq!(render(&events, options).activity, "$ rm x\n  ✗ declined\n");
}
