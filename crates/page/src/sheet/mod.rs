//! The events of a session as entries, in the order in which things began.
