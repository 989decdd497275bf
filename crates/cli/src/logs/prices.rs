//! Which prices count: those that come with the program, with a file over them.

use std::{borrow::Cow, path::Path};

use switchboard_logs::usage::{BadPrices, Prices};

use crate::failure::Failure;

/// The prices, with the file that was named or the one in the data folder.
pub fn prices(named: Option<&Path>, data: &Path) -> Result<Cow<'static, Prices>, Failure> {
    let found = named.map_or_else(|| Prices::kept_in(data), |path| Prices::with(path).map(Cow::Owned));
    found.map_err(|bad| match bad {
        BadPrices::Unreadable { path, error } => Failure::Unreadable { path, cause: error },
        other => Failure::Refused(other.to_string()),
    })
}
