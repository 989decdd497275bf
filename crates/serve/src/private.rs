//! The private socket of a process that runs sessions. Other processes of the same user steer those sessions through
//! it, with the same operations as over the network. The file's and its folder's permissions guard it in place of a
//! token; callers that descend from a session are refused as everywhere.

use std::{path::Path, time::Duration};

use axum::Router;

use crate::{
    guard::{Guard, Rate, Rules},
    listen::{Drain, Limits, ListenError, Listener, Server},
};

/// A private socket, for as long as it is held.
pub struct Private(Server);

/// Serves a router on the private socket `NUMBER.sock` in the folder of the owners.
///
/// # Errors
/// If the socket cannot be made.
pub fn private(owners: &Path, number: u64, router: Router, drain: Drain) -> Result<Private, ListenError> {
    let listener = Listener::unix(&owners.join(format!("{number}.sock")))?;
    let guard = Guard::new(Rules { rate: Rate::Unlimited, ..Rules::default() });
    let mut server = Server::new(Limits::default(), drain);
    server.listen(listener, guard.around(router));
    Ok(Private(server))
}

impl Private {
    /// Removes the socket, and lets those who are connected come to an end.
    pub async fn close(self, within: Duration) -> bool {
        self.0.close(within).await
    }
}
