//! Which prices count: those that come with the program, with a file over them.

use std::{borrow::Cow, io, path::Path};

use switchboard_logs::usage::Prices;

use crate::failure::Failure;

/// The prices, with the file that was named or the one in the data folder.
pub fn prices(named: Option<&Path>, data: &Path) -> Result<Cow<'static, Prices>, Failure> {
    let path = named.map_or_else(|| data.join("prices.json"), Path::to_owned);
    match std::fs::read_to_string(&path) {
        Ok(text) => match Prices::embedded().over(&text) {
            Ok(prices) => Ok(Cow::Owned(prices)),
            Err(bad) => Err(Failure::Refused(format!("{}: {bad}", path.display()))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {
            Ok(Cow::Borrowed(Prices::embedded()))
        }
        Err(cause) => Err(Failure::Unreadable { path, cause }),
    }
}
