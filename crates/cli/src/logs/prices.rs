//! Which prices count: those that come with the program, with a file over them.

use std::{borrow::Cow, path::Path};

use switchboard_logs::usage::{PriceFileError, TokenPrices};

use crate::failure::Failure;

/// The prices, with the file that was named or the one in the data folder.
pub fn prices(named: Option<&Path>, data: &Path) -> Result<Cow<'static, TokenPrices>, Failure> {
    let found = named.map_or_else(
        || TokenPrices::load_for_data_directory(data),
        |path| TokenPrices::load_with_overrides(path).map(Cow::Owned),
    );
    found.map_err(|bad| match bad {
        PriceFileError::Unreadable { path, error } => Failure::Unreadable { path, cause: error },
        other => Failure::Refused(other.to_string()),
    })
}
