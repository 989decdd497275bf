//! Launch of OpenCode: as a server of its own for each session, or for one prompt. Also detects its login and reads its
//! configuration.

mod content;
mod endpoints;
mod folders;
mod jsonc;
mod login;
mod one_shot;
pub mod rules;
mod servers;
mod settings;
mod tree;

#[cfg(test)]
mod tests;

use super::driver::{Conversation, Server, Wanted};
use crate::{Abilities, Agent, AgentLaunch, LaunchRequest, StdinMode, UnsupportedOperation, Versions, WhileRunning};

/// The agent definition of OpenCode.
pub const AGENT: Agent = Agent {
    name: "opencode",
    title: "OpenCode",
    provider: "opencode",
    program: Some("opencode"),
    install: Some("npm install -g opencode-ai"),
    versions: Some(Versions { args: &["--version"], oldest: "1.18.0", tested: "1.18.33" }),
    abilities: Abilities {
        streaming: true,
        reasoning: true,
        plans: true,
        approvals: true,
        changed_input: false,
        questions: true,
        interrupt: true,
        while_running: WhileRunning::Steer,
        resume: true,
        fork: true,
        set_model: true,
        set_mode: true,
        images: true,
        mcp: true,
        output_schema: true,
        one_shot: true,
        detailed_one_shot: false,
    },
    launch,
    login: login::login,
    config: settings::found,
    endpoints: endpoints::endpoints,
    protected_paths: &[
        "opencode.json",
        "opencode.jsonc",
        ".opencode/opencode.json*",
        ".opencode/package.json",
        ".opencode/agent*/**",
        ".opencode/command*/**",
        ".opencode/mode*/**",
        ".opencode/plugin*/**",
        ".opencode/skill*/**",
        ".opencode/tool*/**",
        "~/.config/opencode/*.json*",
        "~/.config/opencode/agent*/**",
        "~/.config/opencode/command*/**",
        "~/.config/opencode/mode*/**",
        "~/.config/opencode/plugin*/**",
        "~/.config/opencode/skill*/**",
        "~/.config/opencode/tool*/**",
        "/etc/opencode/**",
    ],
};

/// The variable with the server's password.
const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";

/// User name for the server's password.
const USER: &str = "opencode";

fn launch(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let model = order.config.model.as_deref().map(model).transpose()?;
    let mut launch =
        AgentLaunch { program: "opencode".to_owned(), state: folders::discarded(order.host), ..AgentLaunch::default() };
    launch.writable.push(folders::data(order.host));
    // OpenCode uses `PWD` as its working directory.
    launch.env.push(("PWD".to_owned(), order.cwd.display().to_string()));
    // An update would replace the program of the running session.
    launch.env.push(("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned()));
    content::add(order, &mut launch)?;
    if order.one_shot {
        one_shot::finish(order, &mut launch)?;
    } else {
        serve(order, model, &mut launch);
    }
    Ok(launch)
}

/// Port 0 selects 4096 if it is free, otherwise any free port, so that several servers do not collide.
fn serve(order: &LaunchRequest<'_>, model: Option<Model>, launch: &mut AgentLaunch) {
    launch.args = ["serve", "--port", "0", "--hostname", "127.0.0.1"].map(str::to_owned).to_vec();
    launch.env.push(("OPENCODE_SERVER_USERNAME".to_owned(), USER.to_owned()));
    launch.env.push((PASSWORD.to_owned(), order.secret.to_owned()));
    keep_password(order, launch);
    launch.input = StdinMode::Closed;
    launch.source = "opencode";
    let conversation = match order.resume {
        None => Conversation::New,
        Some(resume) if resume.fork => Conversation::CopyOf(resume.session.to_owned()),
        Some(resume) => Conversation::Known(resume.session.to_owned()),
    };
    launch.driver = Some(Box::new(Server::new(Wanted {
        user: USER,
        password: order.secret.to_owned(),
        conversation,
        config: order.config.clone(),
        data: folders::data(order.host).display().to_string(),
        model,
        leisure: order.prompt.text.is_empty() && order.prompt.images.is_empty(),
    })));
}

/// Removes the password from the environment of commands, which inherit it from the server and might print it. Bash,
/// which OpenCode prefers, reads this file first. The password can still be found through the server's process.
fn keep_password(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) {
    const VARIABLE: &str = "BASH_ENV";
    let file = order.private.join("opencode-bash");
    let text = match order.host.env_var(VARIABLE).filter(|own| !own.is_empty()) {
        Some(own) => {
            let own = own.replace('\'', r"'\''");
            format!("unset {PASSWORD}\nexport {VARIABLE}='{own}'\n. \"${VARIABLE}\"\n")
        }
        None => format!("unset {PASSWORD} {VARIABLE}\n"),
    };
    launch.env.push((VARIABLE.to_owned(), file.display().to_string()));
    launch.files.push((file, text));
}

/// A model in OpenCode's notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub provider: String,
    /// The provider's name of the model, which may contain slashes.
    pub name: String,
}

/// Parses `provider/model`.
pub fn model(text: &str) -> Result<Model, UnsupportedOperation> {
    match text.split_once('/') {
        Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
            Ok(Model { provider: provider.to_owned(), name: name.to_owned() })
        }
        _ => Err(UnsupportedOperation::new(format!("OpenCode has no model `{text}`"))
            .with_hint("name it with its provider, as in `openai/gpt-5`; `opencode models` lists them")),
    }
}
