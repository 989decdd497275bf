//! The entries of `allowedTools` and `blockedTools`, as Codex's own tools.

/// What a list of tools names.
#[derive(Default)]
pub struct Tools {
    /// Running commands.
    pub command: bool,
    /// Changing files by patches.
    pub edit: bool,
    /// Reading files.
    pub read: bool,
    /// Searching the web.
    pub web: bool,
    /// Everything of MCP servers.
    pub mcp: bool,
    /// Looking at images.
    pub image: bool,
    /// Other agents.
    pub agents: bool,
    /// Tools of one MCP server: the server and the tool.
    pub of_server: Vec<(String, String)>,
    /// Names that are none of Codex's own: tools of any MCP server.
    pub named: Vec<String>,
}

impl Tools {
    /// Sorts the entries of a list.
    pub fn of(list: Option<&Vec<String>>) -> Self {
        let mut tools = Self::default();
        for entry in list.into_iter().flatten() {
            tools.add(entry);
        }
        tools
    }

    fn add(&mut self, entry: &str) {
        match entry.to_ascii_lowercase().as_str() {
            "command" | "exec_command" | "write_stdin" | "shell" | "shell_command" | "local_shell" => {
                self.command = true;
            }
            "edit" | "apply_patch" => self.edit = true,
            "read" => self.read = true,
            "web" | "web_search" => self.web = true,
            "mcp" => self.mcp = true,
            "view_image" => self.image = true,
            "spawn_agent" | "send_input" | "wait_agent" | "close_agent" | "resume_agent" => self.agents = true,
            _ => self.add_named(entry),
        }
    }

    /// `mcp__SERVER__TOOL`, or a bare name.
    fn add_named(&mut self, entry: &str) {
        let inner = entry.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        match inner {
            Some((server, tool)) => self.of_server.push((server.to_owned(), tool.to_owned())),
            None => self.named.push(entry.to_owned()),
        }
    }
}
