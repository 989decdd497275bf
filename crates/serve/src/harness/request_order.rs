//! The order of requests: those about one thread run one after the other, the rest concurrently.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::watch;

/// The requests in progress, by what they are about.
#[derive(Default)]
pub struct RequestLanes(Mutex<HashMap<String, RequestLane>>);

/// The requests of a lane that are not done, for later ones to wait for.
#[derive(Default)]
struct RequestLane {
    /// The last exclusive request.
    exclusive: Option<watch::Receiver<()>>,
    /// The shared requests since then.
    shared: Vec<watch::Receiver<()>>,
}

/// The position of a request behind earlier ones.
pub struct LanePosition {
    before: Vec<watch::Receiver<()>>,
    /// Later requests wait until these are dropped.
    held: Vec<watch::Sender<()>>,
}

impl RequestLane {
    fn is_done(&mut self) -> bool {
        self.exclusive.take_if(|tail| tail.has_changed().is_err());
        self.shared.retain(|tail| tail.has_changed().is_ok());
        self.exclusive.is_none() && self.shared.is_empty()
    }
}

impl RequestLanes {
    /// Returns the next exclusive position of a lane, behind all requests in it. Must be called in the order of the
    /// requests.
    pub fn enter(&self, name: &str) -> LanePosition {
        self.with(name, |lane, held| lane.exclusive.replace(held).into_iter().chain(lane.shared.drain(..)).collect())
    }

    /// Returns a shared position of a lane, behind the last exclusive request.
    pub fn share(&self, name: &str) -> LanePosition {
        self.with(name, |lane, held| {
            lane.shared.push(held);
            lane.exclusive.iter().cloned().collect()
        })
    }

    /// Returns whether shared requests are in progress in a lane.
    pub fn is_shared(&self, name: &str) -> bool {
        let mut lanes = self.0.lock();
        lanes.get_mut(name).is_some_and(|lane| !lane.is_done() && !lane.shared.is_empty())
    }

    fn with(
        &self,
        name: &str,
        enter: impl FnOnce(&mut RequestLane, watch::Receiver<()>) -> Vec<watch::Receiver<()>>,
    ) -> LanePosition {
        let (held, tail) = watch::channel(());
        let mut lanes = self.0.lock();
        lanes.retain(|_, lane| !lane.is_done());
        let before = enter(lanes.entry(name.to_owned()).or_default(), tail);
        LanePosition { before, held: vec![held] }
    }
}

impl LanePosition {
    /// Waits until all requests ahead are done.
    pub async fn wait(&mut self) {
        for before in &mut self.before {
            // Nothing is ever sent: the channel closes when the request is done.
            drop(before.changed().await);
        }
    }

    /// Holds a position in another lane as well, without waiting there.
    pub fn also_hold(mut self, other: Self) -> Self {
        self.held.extend(other.held);
        self
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::RequestLanes;

    #[tokio::test]
    async fn requests_wait_in_the_same_lane_only() {
        let lanes = RequestLanes::default();
        let (mut first, mut second, mut other) = (lanes.enter("a"), lanes.enter("a"), lanes.enter("b"));
        first.wait().await;
        other.wait().await;
        assert!(second.wait().now_or_never().is_none());
        drop(first);
        second.wait().await;
        drop(second);
        assert!(lanes.enter("a").wait().now_or_never().is_some());
    }

    #[tokio::test]
    async fn shared_requests_wait_for_exclusive_ones_and_vice_versa() {
        let lanes = RequestLanes::default();
        let exclusive = lanes.enter("a");
        let (mut one, mut two) = (lanes.share("a"), lanes.share("a"));
        let mut last = lanes.enter("a");
        assert!(one.wait().now_or_never().is_none() && two.wait().now_or_never().is_none());
        assert!(!lanes.is_shared("a"), "the last one is exclusive");
        drop(exclusive);
        assert!(one.wait().now_or_never().is_some() && two.wait().now_or_never().is_some());
        drop(one);
        assert!(last.wait().now_or_never().is_none());
        drop(two);
        assert!(last.wait().now_or_never().is_some());
        let three = lanes.share("b");
        assert!(lanes.is_shared("b"));
        drop(three);
        assert!(!lanes.is_shared("b"));
    }
}
