//! The hidden modes, in which the program starts and guards an agent: they exist, and no help lists them.

use crate::binary::run;

#[test]
fn hidden_modes_are_there_and_want_a_channel() {
    // Without one they end at once. Were they not there, this would be bad usage.
    for args in [["__supervise", "session"], ["__exec", "1"]] {
        assert_eq!(run(&args, b"").fails(1), "", "{args:?}");
    }
}

#[test]
fn hidden_modes_are_not_shown() {
    for args in [["--help"].as_slice(), &["help"], &["completions", "bash"]] {
        let shown = run(args, b"").ok();
        assert!(!shown.contains("__exec") && !shown.contains("__supervise"), "{args:?}");
    }
}
