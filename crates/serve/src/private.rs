//! The private socket of a process that runs sessions. Other processes of the same user steer those sessions through
//! it, with the same operations as over the network. The file's and its folder's permissions guard it in place of a
//! token; callers that descend from a session are refused as everywhere.

use std::{path::Path, time::Duration};

use crate::{
    Service,
    guard::{Guard, Rate, Rules},
    listen::{Limits, ListenError, Listener, Server},
};

/// A private socket, for as long as it is held.
pub struct Private(Server);

/// Serves on the private socket `NUMBER.sock` in the folder of the owners.
///
/// # Errors
/// If the socket cannot be made.
pub fn private(owners: &Path, number: u64, service: &Service) -> Result<Private, ListenError> {
    let listener = Listener::unix(&owners.join(format!("{number}.sock")))?;
    let guard = Guard::new(Rules { rate: Rate::Unlimited, ..Rules::default() });
    let mut server = Server::new(Limits::default(), service.drain().clone());
    server.listen(listener, guard.around(service.router()));
    Ok(Private(server))
}

impl Private {
    /// Removes the socket. Those who are connected may hear the rest of what they follow, and are then told to go.
    pub async fn close(mut self, within: Duration) -> bool {
        self.0.stop().await;
        self.0.idle(within / 2).await || self.0.close(within / 2).await
    }
}
