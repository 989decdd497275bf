//! Maps the entries of `allowedTools` and `blockedTools` to Codex's own tools.

/// The tools that a list names.
#[derive(Default)]
pub struct CodexToolSet {
    pub command: bool,
    /// Patches.
    pub edit: bool,
    pub read: bool,
    pub web: bool,
    /// All tools of MCP servers.
    pub mcp: bool,
    /// Viewing images.
    pub image: bool,
    /// Subagents.
    pub agents: bool,
    /// Tools of one MCP server: the server and the tool.
    pub of_server: Vec<(String, String)>,
    /// Names that are not Codex's own: tools of any MCP server.
    pub named: Vec<String>,
}

impl CodexToolSet {
    pub fn from_list(list: Option<&Vec<String>>) -> Self {
        let mut tools = Self::default();
        for entry in list.into_iter().flatten() {
            tools.add_entry(entry);
        }
        tools
    }

    fn add_entry(&mut self, entry: &str) {
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
            _ => self.add_mcp_tool(entry),
        }
    }

    /// Adds `mcp__SERVER__TOOL`, or a bare name.
    fn add_mcp_tool(&mut self, entry: &str) {
        let inner = entry.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        match inner {
            Some((server, tool)) => self.of_server.push((server.to_owned(), tool.to_owned())),
            None => self.named.push(entry.to_owned()),
        }
    }
}
