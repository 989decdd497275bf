//! The scenarios. A new one is a function in a file of `scenarios`, and a line here.

use crate::{
    scenarios::{asked, begun, entry, hostile, kinds, line, long, looks, past, real, typed},
    trial::Trial,
};

/// Something that must hold when a person uses the page.
pub struct Scenario {
    /// What holds, in a few words.
    pub name: &'static str,
    /// Tries it.
    pub run: fn(&Trial) -> anyhow::Result<()>,
}

const fn scenario(name: &'static str, run: fn(&Trial) -> anyhow::Result<()>) -> Scenario {
    Scenario { name, run }
}

/// All of them, those that take long first.
pub const SCENARIOS: &[Scenario] = &[
    scenario("a session of a hundred thousand events", long::session),
    scenario("hostile sizes freeze nothing", hostile::sizes),
    scenario("a real agent asks and the file appears", real::asks),
    scenario("hostile words do nothing", hostile::words),
    scenario("offline and back misses nothing", line::offline),
    scenario("a reload in the middle", line::reload),
    scenario("left and come back to", line::back),
    scenario("a server that is killed", line::restart),
    scenario("more tabs than connections", line::tabs),
    scenario("without a token one sees how to get in", entry::outside),
    scenario("the link lets in and the token leaves the address", entry::inside),
    scenario("a session is begun in the page and streams", begun::begun),
    scenario("a turn is interrupted and followed up", begun::interrupted),
    scenario("a follow-up waits for the turn", begun::queued),
    scenario("a session is ended, copied, deleted, archived", begun::ended),
    scenario("what is asked is allowed, declined, answered", asked::answered),
    scenario("a change is asked for with its diff", asked::change),
    scenario("what is asked is answered on the board", asked::on_the_board),
    scenario("what is answered elsewhere is asked no more", asked::elsewhere),
    scenario("half a reason answers nothing else", asked::half_typed),
    scenario("a held key answers once", asked::held_down),
    scenario("every kind of entry", kinds::all),
    scenario("empty, missing, failed", kinds::states),
    scenario("a session is exported", kinds::exported),
    scenario("history is searched and read", past::searched),
    scenario("usage is charted, listed and saved", past::counted),
    scenario("the board is searched", past::ours),
    scenario("by keyboard alone", typed::everything),
    scenario("a command is completed", typed::command),
    scenario("on a phone", looks::phone),
    scenario("in light and in dark", looks::contrast),
    scenario("nothing moves while text streams", looks::steady),
];
