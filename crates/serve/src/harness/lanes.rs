//! The order of what is asked: what is about one thread is done one by one, as it came; the rest at once.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use tokio::sync::watch;

/// What is under way, by what it is about.
#[derive(Default)]
pub struct Lanes(Mutex<HashMap<String, watch::Receiver<()>>>);

/// The place of a request behind those that came before it.
pub struct Turn {
    before: Option<watch::Receiver<()>>,
    /// Those behind it wait until this is dropped.
    _held: Option<watch::Sender<()>>,
}

impl Lanes {
    /// The next place in a lane. To be taken in the order in which requests come.
    pub fn enter(&self, name: &str) -> Turn {
        let (held, tail) = watch::channel(());
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.retain(|_, tail| tail.has_changed().is_ok());
        let before = lanes.insert(name.to_owned(), tail);
        Turn { before, _held: Some(held) }
    }

    /// A place behind all that is in a lane, for which nobody has to wait.
    pub fn beside(&self, name: &str) -> Turn {
        let lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Turn { before: lanes.get(name).cloned(), _held: None }
    }
}

impl Turn {
    /// Waits until all before it are done.
    pub async fn come(&mut self) {
        if let Some(before) = &mut self.before {
            // Nothing is ever sent: the end of the one before is the news.
            drop(before.changed().await);
        }
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
        let mut beside = lanes.beside("a");
        first.come().await;
        other.come().await;
        assert!(second.come().now_or_never().is_none() && beside.come().now_or_never().is_none());
        drop(first);
        second.come().await;
        assert!(beside.come().now_or_never().is_none());
        drop(second);
        beside.come().await;
        assert!(lanes.enter("a").come().now_or_never().is_some());
    }
}
