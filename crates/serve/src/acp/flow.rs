//! How much is on its way to the editor. What is sent is queued without a bound, so a session waits here when the editor
//! reads slower than its agent speaks.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Notify;

/// So many updates may be on their way.
const MOST: usize = 1024;

/// What is in every update.
const UPDATE: &str = "\"session/update\"";

/// Counts updates on their way.
#[derive(Clone, Default)]
pub struct Flow(Arc<Inner>);

#[derive(Default)]
struct Inner {
    under_way: AtomicUsize,
    room: Notify,
}

impl Flow {
    /// Waits until one more may be sent.
    pub async fn enter(&self) {
        loop {
            let room = self.0.room.notified();
            if self.0.under_way.load(Ordering::Acquire) < MOST {
                self.0.under_way.fetch_add(1, Ordering::AcqRel);
                return;
            }
            room.await;
        }
    }

    /// A line was written.
    pub fn written(&self, line: &str) {
        // The method stands at the beginning; what an agent says cannot.
        let head = line.get(..line.floor_char_boundary(64)).unwrap_or_default();
        if head.contains(UPDATE) {
            let less = |count: usize| count.checked_sub(1);
            self.0.under_way.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).ok();
            self.0.room.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flow, MOST};

    #[tokio::test]
    async fn one_that_is_not_read_waits() {
        let flow = Flow::default();
        for _ in 0..MOST {
            flow.enter().await;
        }
        let mut waiting = Box::pin(flow.enter());
        assert!(futures_util::poll!(&mut waiting).is_pending());
        flow.written(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert!(futures_util::poll!(&mut waiting).is_pending());
        flow.written(r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#);
        assert!(futures_util::poll!(&mut waiting).is_ready());
    }
}
