//! What is kept of a scenario that failed: what was on the screen, the page, the console, and what the server said.

use std::{fs, path::Path};

use crate::trial::Trial;

/// Keeps it in a folder of its own. What cannot be had any more is left out.
pub fn keep(trial: &Trial, folder: &Path) {
    drop(fs::create_dir_all(folder));
    for (number, tab) in trial.tabs.borrow().iter().enumerate() {
        if let Ok(png) = tab.png() {
            drop(fs::write(folder.join(format!("tab-{number}.png")), png));
        }
        if let Ok(source) = tab.source() {
            drop(fs::write(folder.join(format!("tab-{number}.html")), source));
        }
    }
    drop(trial.listen());
    drop(fs::write(folder.join("console.txt"), trial.heard.borrow().join("\n")));
    drop(fs::write(folder.join("server.txt"), trial.server.borrow().printed()));
}
