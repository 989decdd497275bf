//! Artifacts of a failed scenario: screenshots, page sources, console and server output.

use std::{fs, path::Path};

use crate::trial::PageTrial;

/// Writes the artifacts to a directory. Whatever is no longer available is left out.
pub fn save_failure_artifacts(trial: &PageTrial, folder: &Path) {
    drop(fs::create_dir_all(folder));
    for (number, tab) in trial.tabs.borrow().iter().enumerate() {
        if let Ok(png) = tab.take_screenshot() {
            drop(fs::write(folder.join(format!("tab-{number}.png")), png));
        }
        if let Ok(source) = tab.page_source() {
            drop(fs::write(folder.join(format!("tab-{number}.html")), source));
        }
    }
    drop(trial.collect_console());
    drop(fs::write(folder.join("console.txt"), trial.heard.borrow().join("\n")));
    drop(fs::write(folder.join("server.txt"), trial.server.borrow().printed_output()));
}
