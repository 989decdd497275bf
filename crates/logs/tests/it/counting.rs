//! A test for each known way to count a reply twice or not at all: one session of that kind, with known totals.

use switchboard_testkit::corpus::{agents::opencode, files::CorpusWriter};

use crate::place::{LibraryFixture, full_ledger, tokens_by_day, tokens_by_session};

/// Checks that three sessions written by `write` have exactly the expected usage.
#[track_caller]
fn assert_exact(write: impl Fn(&mut CorpusWriter, u64) -> anyhow::Result<()>) {
    let (place, truth) = LibraryFixture::with_logs(|corpus| (1..=3).try_for_each(|seed| write(corpus, seed * 1_000)));
    let (library, _) = place.refreshed_library();
    let ledger = full_ledger(&library);
    assert_eq!(truth.sum_fork_families(&tokens_by_session(&ledger)), truth.sum_fork_families(&truth.sessions));
    assert_eq!(tokens_by_day(&ledger, "UTC"), truth.days.get("UTC").cloned().unwrap_or_default());
}

macro_rules! cases {
    ($agent:ident: $($name:ident = $case:ident;)*) => {
        mod $agent {
            use switchboard_testkit::corpus::agents::$agent as shapes;

            use super::*;

            $(#[test]
            fn $name() {
                assert_exact(|corpus, seed| shapes::write_session(corpus, shapes::CountingCase::$case, seed, 40_000));
            })*

            #[test]
            fn every_case_has_a_test() {
                let tested = [$(shapes::CountingCase::$case),*];
                assert!(shapes::CountingCase::ALL.iter().all(|case| tested.contains(case)));
            }
        }
    };
}

cases! { claude:
    a_reply_of_several_records_is_one = Repeated;
    early_records_with_few_tokens_do_not_count = Partial;
    the_largest_figure_counts_where_none_is_whole = OnlyPartial;
    replies_without_a_request_are_counted_once = NoRequest;
    subagents_belong_to_their_session = Subagents;
    subagents_of_older_versions_belong_to_their_session = Beside;
    subagents_inside_of_a_session_are_counted_once = Inside;
    progress_of_a_subagent_is_counted_once = Progress;
    replies_replayed_by_a_subagent_belong_to_the_session = Replayed;
    a_fork_has_only_what_came_after = Forked;
    a_copy_in_another_folder_has_nothing = Worktree;
    retries_errors_and_sums_are_no_replies = Eventful;
}

cases! { codex:
    repeated_totals_are_counted_once = Totals;
    records_and_totals_of_a_reply_are_one = Records;
    totals_that_start_anew_lose_nothing = Reset;
    two_equal_replies_are_two = Equal;
    totals_without_a_last_reply_are_enough = Sparse;
    a_fork_that_replays_its_parent_has_only_what_came_after = Replayed;
    a_fork_of_a_fork_has_only_what_came_after = ReplayedTwice;
    a_fork_by_reference_has_all_of_its_own = Based;
    a_fork_by_reference_does_not_have_its_parents_totals = BasedTotals;
    a_subagent_that_replays_its_session_has_only_its_own = SpawnedCopy;
    a_subagent_belongs_to_its_session = SpawnedFresh;
    a_compressed_log_is_read = Compressed;
    a_log_that_was_put_away_is_read = Archived;
    a_log_that_was_put_away_and_is_still_there_is_one = ArchivedTwin;
    a_log_that_was_compressed_and_is_still_there_is_one = CompressedTwin;
    early_logs_have_no_tokens = Bare;
    the_first_logs_have_no_tokens = Document;
}

cases! { gemini:
    a_reply_is_counted = Plain;
    a_reply_that_is_told_again_is_one = Replaced;
    replies_that_were_taken_back_were_paid_for = Rewound;
    messages_that_are_written_anew_are_counted_once = Rewritten;
    a_message_that_is_changed_is_one = Patched;
    subagents_belong_to_their_session = Subagent;
    a_document_is_read = Document;
    a_document_and_the_file_made_of_it_are_one = Migrated;
}

mod opencode_cases {
    use super::*;

    #[track_caller]
    fn assert_exact_case(case: opencode::CountingCase) {
        assert_exact(|corpus, seed| {
            // All three go into one database.
            let cases = (0..3).map(|number| (case, seed + number, 30_000));
            if seed == 1_000 { opencode::write_sessions(corpus, cases) } else { Ok(()) }
        });
    }

    #[test]
    fn a_message_and_its_last_part_are_one_reply() {
        assert_exact_case(opencode::CountingCase::Plain);
    }

    #[test]
    fn child_sessions_belong_to_their_session() {
        assert_exact_case(opencode::CountingCase::Child);
    }

    #[test]
    fn a_session_in_two_tables_is_one() {
        assert_exact_case(opencode::CountingCase::Migrated);
    }

    #[test]
    fn the_later_table_is_read() {
        assert_exact_case(opencode::CountingCase::Later);
    }

    #[test]
    fn the_tree_of_older_versions_is_read() {
        assert_exact_case(opencode::CountingCase::Tree);
    }

    #[test]
    fn a_session_in_the_tree_and_in_the_database_is_one() {
        assert_exact_case(opencode::CountingCase::TreeToo);
    }

    #[test]
    fn databases_of_other_channels_are_read() {
        assert_exact_case(opencode::CountingCase::Channel);
    }
}
