//! The selections and slash commands of a script.

use crate::driver_tests::LaunchFixture;

fn check(script: &str) {
    let hello = r#"
        > {"send":{"type":"open","session":"script-0123456789ab"}}
        > "ready"
        = {"kind":"session.started","data":{"info":{"model":"script-1","mode":"perform"}}}
    "#;
    LaunchFixture::default().check_script(&super::AGENT, &format!("{hello}{script}"));
}

#[test]
fn what_is_chosen_is_told() {
    check(
        r#"
        {"cmd":{"set_mode":"rehearse"}}
        > {"send":{"type":"set","mode":"rehearse"}}
        = {"kind":"session.updated","data":{"info":{"mode":"rehearse"}}}
        {"cmd":{"set_option":["pace","brisk"]}}
        > {"send":{"type":"set","option":"pace","value":"brisk"}}
        = {"kind":"session.updated"}
        {"cmd":{"set_mode":"sleep"}}
        > {"send":{"type":"set","mode":"sleep"}}
        = {"kind":"notice","data":{"topic":"warning","text":"there is no mode sleep"}}
    "#,
    );
}

#[test]
fn a_command_is_a_turn_or_done_at_once() {
    check(
        r#"
        {"cmd":{"slash":["compact",""]}}
        > {"send":{"type":"command","name":"compact"}}
        > {"disarm":"sleep"}
        > "settled"
        = {"kind":"turn.started","data":{"origin":"command"}}
        = {"kind":"notice","data":{"topic":"compaction"}}
        = {"kind":"turn.completed","data":{"status":"completed"}}
        {"cmd":{"slash":["rename","a better name"]}}
        > {"send":{"type":"command","name":"rename","arguments":"a better name"}}
        > "settled"
        = {"kind":"session.updated","data":{"info":{"title":"a better name"}}}
        {"cmd":{"slash":["dance",""]}}
        > {"refused":"the agent has no command /dance"}
    "#,
    );
}
