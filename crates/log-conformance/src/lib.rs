//! Tests that every implementation of [`SessionLog`] must pass. They use nothing but the contract; an implementation
//! provides a [`LogStorage`] and calls [`log_conformance_tests`] in one of its test modules.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test reports a failure by panicking, and this crate is used by tests alone"
)]

pub mod appending;
pub mod checkpoints;
pub mod deleting;
pub mod fixture;
pub mod listing;
pub mod nats;
pub mod notification;
pub mod ownership;
pub mod paging;
pub mod retention;

use switchboard_store::SessionLog;

/// An empty log that several processes share. Dropping an opened log is the end of its process.
pub trait LogStorage: Sync {
    /// Opens the log as another process that runs sessions.
    fn open_log(&self) -> Box<dyn SessionLog>;
}

/// A test of the suite.
pub type ConformanceTest = fn(&dyn LogStorage);

/// Calls another macro with some tokens and the tests of the suite.
#[doc(hidden)]
#[macro_export]
macro_rules! with_conformance_tests {
    ($($callback:ident)::+, $($argument:tt)*) => {
        $($callback)::+! {
            $($argument)* =>
            appending: events_are_returned_verbatim;
            appending: a_batch_that_does_not_follow_changes_nothing;
            appending: a_refused_batch_does_not_affect_others;
            appending: every_callback_is_called_once_and_in_order;
            appending: a_batch_is_visible_when_its_callback_is_called;
            appending: patches_without_events_are_applied;
            appending: a_session_ends_and_is_reopened;
            appending: dropping_the_log_finishes_its_queue;
            appending: unknown_sessions_are_reported;
            appending: large_events_are_returned_verbatim;
            appending: sessions_are_appended_to_concurrently;
            paging: a_page_is_limited_by_number_and_bytes_but_never_empty;
            paging: a_page_can_be_limited_to_kinds;
            paging: pages_of_many_batches_are_complete;
            paging: sessions_do_not_share_events;
            listing: sessions_are_listed_newest_first_and_filtered;
            listing: archived_sessions_are_listed_on_request;
            listing: a_page_of_the_list_continues_after_a_deletion;
            listing: sessions_are_resolved_by_position_id_or_prefix;
            checkpoints: the_last_checkpoint_at_or_before_a_position_is_found;
            checkpoints: the_first_checkpoint_at_a_position_stays;
            checkpoints: checkpoints_of_other_versions_are_removed;
            checkpoints: checkpoints_are_deleted_with_their_session;
            ownership: only_the_owner_appends;
            ownership: a_session_is_claimed_with_its_head;
            ownership: one_of_concurrent_claims_succeeds;
            ownership: sessions_of_a_dead_process_are_taken_over_once;
            ownership: a_session_of_a_dead_process_can_be_claimed;
            ownership: runs_are_kept_in_order;
            ownership: any_process_archives;
            deleting: an_open_session_is_not_deleted;
            deleting: a_deleted_session_is_gone_at_once;
            deleting: one_of_concurrent_deletions_succeeds;
            deleting: a_deleted_session_is_not_resurrected;
            deleting: a_session_of_a_dead_process_can_be_deleted;
            retention: ended_sessions_expire_by_age_and_number;
            retention: a_reopened_session_does_not_expire;
            retention: the_log_is_kept_below_a_size;
            notification: commits_of_other_processes_are_announced;
        }
    };
}

/// Expands to the tests of the suite. The argument is an expression of type `Option<impl LogStorage>`, evaluated for
/// every test; `None` skips it.
#[macro_export]
macro_rules! log_conformance_tests {
    ($storage:expr) => {
        $crate::with_conformance_tests! { switchboard_log_conformance::define_conformance_tests, $storage }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! define_conformance_tests {
    ($storage:expr => $($module:ident : $name:ident;)*) => {
        $(
            #[test]
            fn $name() {
                if let Some(storage) = $storage {
                    $crate::$module::$name(&storage);
                }
            }
        )*
    };
}

macro_rules! list_conformance_tests {
    (=> $($module:ident : $name:ident;)*) => {
        &[$((stringify!($name), $module::$name)),*]
    };
}

/// All tests of the suite by name, for an implementation that runs them in another way.
pub const CONFORMANCE_TESTS: &[(&str, ConformanceTest)] = with_conformance_tests! { list_conformance_tests, };
