//! The scenarios. A new one is a function in a file of `scenarios` and a line here.

use crate::{
    scenarios::{asked, begun, entry, hostile, kinds, line, long, looks, past, real, typed},
    trial::PageTrial,
};

/// A scenario of the page.
pub struct PageScenario {
    /// The expectation, in a few words.
    pub name: &'static str,
    pub run: fn(&PageTrial) -> anyhow::Result<()>,
}

const fn page_scenario(name: &'static str, run: fn(&PageTrial) -> anyhow::Result<()>) -> PageScenario {
    PageScenario { name, run }
}

/// All scenarios, slow ones first.
pub const SCENARIOS: &[PageScenario] = &[
    page_scenario("a session of a hundred thousand events", long::scroll_long_session),
    page_scenario("hostile sizes freeze nothing", hostile::show_huge_output),
    page_scenario("a real agent asks and the file appears", real::approve_real_agent),
    page_scenario("hostile words do nothing", hostile::show_hostile_text),
    page_scenario("offline and back misses nothing", line::go_offline),
    page_scenario("a reload in the middle", line::reload_mid_answer),
    page_scenario("left and come back to", line::navigate_back),
    page_scenario("a server that is killed", line::restart_server),
    page_scenario("more tabs than connections", line::open_many_tabs),
    page_scenario("without a token one sees how to get in", entry::reject_without_token),
    page_scenario("the link lets in and the token leaves the address", entry::sign_in_with_link),
    page_scenario("a session is begun in the page and streams", begun::start_session),
    page_scenario("a turn is interrupted and followed up", begun::interrupt_turn),
    page_scenario("a follow-up waits for the turn", begun::queue_follow_up),
    page_scenario("a session is ended, copied, deleted, archived", begun::end_session),
    page_scenario("what is asked is allowed, declined, answered", asked::answer_requests),
    page_scenario("a change is asked for with its diff", asked::approve_change),
    page_scenario("what is asked is answered on the board", asked::answer_on_board),
    page_scenario("what is answered elsewhere is asked no more", asked::answer_elsewhere),
    page_scenario("half a reason answers nothing else", asked::type_while_answered),
    page_scenario("a held key answers once", asked::hold_key_down),
    page_scenario("every kind of entry", kinds::show_all_entries),
    page_scenario("empty, missing, failed", kinds::show_empty_and_failed),
    page_scenario("a session is exported", kinds::export_session),
    page_scenario("history is searched and read", past::search_history),
    page_scenario("usage is charted, listed and saved", past::chart_usage),
    page_scenario("the board is searched", past::filter_board),
    page_scenario("by keyboard alone", typed::use_keyboard_only),
    page_scenario("a command is completed", typed::complete_command),
    page_scenario("on a phone", looks::fit_phone),
    page_scenario("in light and in dark", looks::check_contrast),
    page_scenario("nothing moves while text streams", looks::check_layout_stability),
];
