//! Shell commands: the line as it runs, what it printed with the middle left out, how it ended.

use switchboard_event::{Command, Item};

use super::{
    clean,
    fold::{LONGEST, WHOLE, beginning},
    options::Detail,
    style::{BOLD, DIM, PLAIN, RED},
    tools::short_path,
    viewer::View,
};

/// Lines of output that are shown: the first, and the last.
const OUTPUT: (usize, usize) = (5, 5);

/// Lines of a command that are shown, and rows of each.
const COMMAND: (usize, usize, usize) = (6, 2, 4);

/// A command without the shell that some agents put around every one: `/bin/bash -lc '…'`.
pub fn unwrapped(command: &str) -> &str {
    let inner = || {
        let (shell, rest) = command.split_once(" -lc ").or_else(|| command.split_once(" -c "))?;
        let is_shell = matches!(shell.rsplit('/').next(), Some("bash" | "zsh" | "sh"));
        let quoted = rest.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        let bare = Some(rest).filter(|rest| rest.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c)));
        quoted.filter(|inner| !inner.contains('\'')).or(bare).filter(|_| is_shell)
    };
    inner().unwrap_or(command)
}

impl View {
    pub(super) fn show_command(&mut self, command: &Command) {
        let folded = self.fold(unwrapped(&command.command), COMMAND.0, COMMAND.1);
        for (number, line) in folded.head.iter().enumerate() {
            self.paper.rows(0, COMMAND.2, &[(DIM, if number == 0 { "$ " } else { "  " }), (BOLD, line)]);
        }
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.paper.rows(2, COMMAND.2, &[(BOLD, line)]));
        if let Some(cwd) = command.cwd.as_deref().filter(|cwd| self.cwd.as_deref().is_some_and(|own| own != *cwd)) {
            let cwd = short_path(cwd, self.cwd.as_deref()).into_owned();
            self.paper.line(2, &[(DIM, "in "), (DIM, &cwd)]);
        }
    }

    pub(super) fn show_output(&mut self, command: &Command, item: &Item) {
        if command.background {
            return self.paper.line(2, &[(DIM, "goes on in the background")]);
        }
        let folded = self.fold(&command.output, OUTPUT.0, OUTPUT.1);
        folded.head.iter().for_each(|line| self.show_printed(line));
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.show_printed(line));
        if command.truncated {
            self.paper.line(2, &[(DIM, "(the agent kept only part of it)")]);
        }
        self.show_exit(command.exit_code, item);
    }

    pub(super) fn show_printed(&mut self, line: &str) {
        let longest = if self.paper.options.detail == Detail::Full { WHOLE } else { 8 * LONGEST };
        self.paper.line(2, &[(PLAIN, &clean::printed(beginning(line, longest)))]);
    }

    fn show_exit(&mut self, code: Option<i32>, item: &Item) {
        let code = code.filter(|code| *code != 0).map(|code| format!("exit {code}"));
        let took = Self::took(item);
        let between = if code.is_some() && took.is_some() { " · " } else { "" };
        if code.is_some() || took.is_some() {
            let (code, took) = (code.unwrap_or_default(), took.unwrap_or_default());
            self.paper.line(2, &[(RED, &code), (DIM, between), (DIM, &took)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unwrapped;

    #[test]
    fn a_shell_around_a_command_is_not_shown() {
        for (given, shown) in [
            ("/bin/bash -lc 'ls -l'", "ls -l"),
            ("bash -lc ls", "ls"),
            ("/bin/zsh -c 'a\nb'", "a\nb"),
            ("bash -lc 'a' 'b'", "bash -lc 'a' 'b'"),
            ("bash -lc 'it'\"'\"'s'", "bash -lc 'it'\"'\"'s'"),
            ("bash -lc ls; rm x", "bash -lc ls; rm x"),
            ("python -c 'x'", "python -c 'x'"),
        ] {
            assert_eq!(unwrapped(given), shown);
        }
    }
}
