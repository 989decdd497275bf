//! The order of what is asked: what is about one thread is done one by one, as it came; the rest at once.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::watch;

/// What is under way, by what it is about.
#[derive(Default)]
pub struct Lanes(Mutex<HashMap<String, Lane>>);

/// The requests of a lane that are not done, as those wait for them that come later.
#[derive(Default)]
struct Lane {
    /// The last one that had the lane alone.
    alone: Option<watch::Receiver<()>>,
    /// Those that came since and share it.
    shared: Vec<watch::Receiver<()>>,
}

/// The place of a request behind those that came before it.
pub struct Turn {
    before: Vec<watch::Receiver<()>>,
    /// Those behind it wait until these are dropped.
    held: Vec<watch::Sender<()>>,
}

impl Lane {
    fn is_done(&mut self) -> bool {
        self.alone.take_if(|tail| tail.has_changed().is_err());
        self.shared.retain(|tail| tail.has_changed().is_ok());
        self.alone.is_none() && self.shared.is_empty()
    }
}

impl Lanes {
    /// The next place in a lane, behind all that are in it. To be taken in the order in which requests come.
    pub fn enter(&self, name: &str) -> Turn {
        self.with(name, |lane, held| lane.alone.replace(held).into_iter().chain(lane.shared.drain(..)).collect())
    }

    /// A place in a lane that those share who came since one had it alone: they do not wait for each other.
    pub fn share(&self, name: &str) -> Turn {
        self.with(name, |lane, held| {
            lane.shared.push(held);
            lane.alone.iter().cloned().collect()
        })
    }

    /// Returns whether requests are under way that share a lane.
    pub fn is_shared(&self, name: &str) -> bool {
        let mut lanes = self.0.lock();
        lanes.get_mut(name).is_some_and(|lane| !lane.is_done() && !lane.shared.is_empty())
    }

    fn with(&self, name: &str, enter: impl FnOnce(&mut Lane, watch::Receiver<()>) -> Vec<watch::Receiver<()>>) -> Turn {
        let (held, tail) = watch::channel(());
        let mut lanes = self.0.lock();
        lanes.retain(|_, lane| !lane.is_done());
        let before = enter(lanes.entry(name.to_owned()).or_default(), tail);
        Turn { before, held: vec![held] }
    }
}

impl Turn {
    /// Waits until all before it are done.
    pub async fn come(&mut self) {
        for before in &mut self.before {
            // Nothing is ever sent: the end of the one before is the news.
            drop(before.changed().await);
        }
    }

    /// The same place in another lane as well, without waiting there.
    pub fn and_hold(mut self, other: Self) -> Self {
        self.held.extend(other.held);
        self
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::Lanes;

    #[tokio::test]
    async fn one_waits_for_the_other_in_the_same_lane_only() {
        let lanes = Lanes::default();
        let (mut first, mut second, mut other) = (lanes.enter("a"), lanes.enter("a"), lanes.enter("b"));
        first.come().await;
        other.come().await;
        assert!(second.come().now_or_never().is_none());
        drop(first);
        second.come().await;
        drop(second);
        assert!(lanes.enter("a").come().now_or_never().is_some());
    }

    #[tokio::test]
    async fn those_who_share_a_lane_wait_for_who_has_it_alone_and_are_waited_for() {
        let lanes = Lanes::default();
        let alone = lanes.enter("a");
        let (mut one, mut two) = (lanes.share("a"), lanes.share("a"));
        let mut last = lanes.enter("a");
        assert!(one.come().now_or_never().is_none() && two.come().now_or_never().is_none());
        assert!(!lanes.is_shared("a"), "the last one has it alone");
        drop(alone);
        assert!(one.come().now_or_never().is_some() && two.come().now_or_never().is_some());
        drop(one);
        assert!(last.come().now_or_never().is_none());
        drop(two);
        assert!(last.come().now_or_never().is_some());
        let three = lanes.share("b");
        assert!(lanes.is_shared("b"));
        drop(three);
        assert!(!lanes.is_shared("b"));
    }
}
