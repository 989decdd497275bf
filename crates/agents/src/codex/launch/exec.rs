//! `codex exec`: one prompt, one answer. It cannot ask for approval, so anything that would need one is prevented.

use serde_json::{Value, json};
use switchboard_event::{ApprovalMode, SandboxMode};

use super::{find_api_key, rules::CodexSessionRules, untrusted_setting};
use crate::{AgentLaunch, LaunchRequest, StdinMode, UnsupportedOperation};

pub fn launch_exec(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let mut rules = CodexSessionRules::from_order(order)?;
    refuse_unsupported(order, &rules)?;
    let sandbox = choose_sandbox(order, &mut rules)?;
    let mut files = Vec::new();
    let mut args: Vec<String> = ["exec", "--json", "--skip-git-repo-check", "-s", sandbox].map(str::to_owned).into();
    args.extend(["-C".to_owned(), order.cwd.to_string_lossy().into_owned()]);
    if let Some(model) = &order.config.model {
        args.extend(["-m".to_owned(), model.clone()]);
    }
    if let Some(trust) = untrusted_setting(order) {
        rules.config.insert("projects".to_owned(), trust);
    }
    for (key, value) in &rules.config {
        args.extend(["-c".to_owned(), format!("{key}={}", to_inline_toml(value))]);
    }
    if let Some(schema) = &order.prompt.output_schema {
        let file = order.private.join("output-schema.json");
        args.extend(["--output-schema".to_owned(), file.to_string_lossy().into_owned()]);
        files.push((file, schema.get().to_owned()));
    }
    args.extend(image_flags(order)?);
    // These subcommands accept none of the flags above after them.
    match order.resume {
        Some(resume) if resume.fork => args.extend(["fork".to_owned(), resume.session.to_owned()]),
        Some(resume) => args.extend(["resume".to_owned(), resume.session.to_owned()]),
        None => {}
    }
    // The prompt is standard input, which must be closed: Codex waits for the end of an open one in any case (0.166).
    args.push("-".to_owned());
    let key = find_api_key(order.host).map(|key| ("CODEX_API_KEY".to_owned(), key));
    Ok(AgentLaunch {
        args,
        files,
        input: StdinMode::Text(order.prompt.text.clone()),
        source: "codex",
        env: rules.env.into_iter().chain(key).collect(),
        weaker: rules.weaker,
        ..AgentLaunch::default()
    })
}

fn refuse_unsupported(order: &LaunchRequest<'_>, rules: &CodexSessionRules) -> Result<(), UnsupportedOperation> {
    const HINT: &str = "run it in the two-way form, without one-shot";
    let blocked = &rules.blocked;
    let what = if order.config.max_turns.is_some() {
        "`codex exec` does not show how often the model is called, so that its turns cannot be limited"
    } else if order.prompt.text.is_empty() {
        "`codex exec` needs a prompt"
    } else if blocked.edit && rules.allows_everything() {
        "`codex exec` does not ask before it changes files, so that this cannot be blocked"
    } else {
        return Ok(());
    };
    Err(UnsupportedOperation::new(what).with_hint(HINT))
}

/// Chooses Codex's sandbox mode. Codex's own sandbox does not work inside Switchboard's.
fn choose_sandbox(
    order: &LaunchRequest<'_>,
    rules: &mut CodexSessionRules,
) -> Result<&'static str, UnsupportedOperation> {
    if rules.allows_everything() {
        return Ok("danger-full-access");
    }
    if rules.mode == ApprovalMode::AutoEdit {
        rules.disable_feature("shell_tool");
        rules.weaker.push("a one-shot run cannot ask, so commands are disabled".to_owned());
        return Ok(if order.confined { "danger-full-access" } else { "workspace-write" });
    }
    if order.config.sandbox_mode == Some(SandboxMode::WorkspaceWrite) {
        let what = "`codex exec` does not ask before it changes files, and here nothing else would stop it";
        return Err(UnsupportedOperation::new(what)
            .with_hint("use approval mode autoEdit or autoAll, or sandbox mode readOnly"));
    }
    if order.confined {
        rules.disable_feature("shell_tool");
        rules.weaker.push("a one-shot run cannot ask, so commands are disabled".to_owned());
        return Ok("danger-full-access");
    }
    rules.weaker.push(
        "a one-shot run cannot ask, so nothing can be changed; a command that tries to is not recorded".to_owned(),
    );
    Ok("read-only")
}

/// Uses `=`, because the image flag consumes all following words.
fn image_flags(order: &LaunchRequest<'_>) -> Result<Vec<String>, UnsupportedOperation> {
    let flag = |image: &crate::PromptImage| {
        let path = image.path.as_ref().map(|path| order.cwd.join(path).to_string_lossy().into_owned());
        path.filter(|path| !path.contains(',')).map(|path| format!("--image={path}")).ok_or_else(|| {
            UnsupportedOperation::new("`codex exec` takes images only as files, without a comma in their path")
                .with_hint("run it in the two-way form, without one-shot")
        })
    };
    order.prompt.images.iter().map(flag).collect()
}

/// Formats a value as TOML on one line. TOML strings are JSON strings, except for one character.
fn to_inline_toml(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(key, value)| format!("{}={}", to_inline_toml(&json!(key)), to_inline_toml(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(to_inline_toml).collect::<Vec<_>>().join(",")),
        Value::Null => "\"\"".to_owned(),
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}
