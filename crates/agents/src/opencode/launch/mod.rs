//! How OpenCode is started: as a server of the session's own, or for one prompt. And what it is like: its login and
//! its own configuration.

mod content;
mod folders;
mod jsonc;
mod login;
mod one_shot;
pub mod rules;
mod servers;
mod settings;
#[cfg(test)]
mod tests;
mod tree;

use super::driver::{Conversation, Server, Wanted};
use crate::{Abilities, Agent, Input, Launch, Order, Unsupported, Versions, WhileRunning};

/// OpenCode, as it can be run.
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

/// The variable that has the server's password.
const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";

/// Whom the password belongs to.
const USER: &str = "opencode";

fn launch(order: &Order<'_>) -> Result<Launch, Unsupported> {
    let model = order.config.model.as_deref().map(model).transpose()?;
    let mut launch =
        Launch { program: "opencode".to_owned(), state: folders::discarded(order.host), ..Launch::default() };
    launch.writable.push(folders::data(order.host));
    // OpenCode takes this for the folder to work in.
    launch.env.push(("PWD".to_owned(), order.cwd.display().to_string()));
    // It would be replaced under the running session.
    launch.env.push(("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned()));
    content::add(order, &mut launch)?;
    if order.one_shot {
        one_shot::finish(order, &mut launch)?;
    } else {
        serve(order, model, &mut launch);
    }
    Ok(launch)
}

/// Port 0 is 4096 if that is free, and else any that is: several servers at once do not collide.
fn serve(order: &Order<'_>, model: Option<Model>, launch: &mut Launch) {
    launch.args = ["serve", "--port", "0", "--hostname", "127.0.0.1"].map(str::to_owned).to_vec();
    launch.env.push(("OPENCODE_SERVER_USERNAME".to_owned(), USER.to_owned()));
    launch.env.push((PASSWORD.to_owned(), order.secret.to_owned()));
    keep_password(order, launch);
    launch.input = Input::Closed;
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

/// Commands inherit the server's environment: one that prints it must not print the password. Bash, which OpenCode
/// uses where it can, reads this file first. Who looks for the password still finds it with the server's process.
fn keep_password(order: &Order<'_>, launch: &mut Launch) {
    const VARIABLE: &str = "BASH_ENV";
    let file = order.private.join("opencode-bash");
    let text = match order.host.env(VARIABLE).filter(|own| !own.is_empty()) {
        Some(own) => {
            let own = own.replace('\'', r"'\''");
            format!("unset {PASSWORD}\nexport {VARIABLE}='{own}'\n. \"${VARIABLE}\"\n")
        }
        None => format!("unset {PASSWORD} {VARIABLE}\n"),
    };
    launch.env.push((VARIABLE.to_owned(), file.display().to_string()));
    launch.files.push((file, text));
}

/// A model, as OpenCode names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Who serves it.
    pub provider: String,
    /// Its name there, which may have slashes.
    pub name: String,
}

/// Reads `provider/model`.
pub fn model(text: &str) -> Result<Model, Unsupported> {
    match text.split_once('/') {
        Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
            Ok(Model { provider: provider.to_owned(), name: name.to_owned() })
        }
        _ => Err(Unsupported::new(format!("OpenCode has no model `{text}`"))
            .with_hint("name it with its provider, as in `openai/gpt-5`; `opencode models` lists them")),
    }
}
