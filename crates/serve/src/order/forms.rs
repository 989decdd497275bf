//! What the bodies of requests may have, and what becomes of settings that stand in them under other names.

use switchboard_event::{ClientSettings, SessionConfig, SettingsError, SettingsForm};

use super::{
    ApprovalAnswer, ArchiveRequest, CommandRequest, ModeRequest, ModelRequest, OptionRequest, PromptRequest,
    RunRequest, SessionRequest,
};
use crate::input::{RequestBody, no_settings, with_config};

/// Adds settings to those of a body, if there are any.
fn add_to(config: &mut Option<SessionConfig>, given: &SessionConfig) -> Result<(), SettingsError> {
    if *given == SessionConfig::default() {
        return Ok(());
    }
    config.get_or_insert_default().add_given(given)
}

/// Bodies with settings tell of ignored fields in the session that they start or continue.
macro_rules! with_settings {
    ($($body:ty => $fields:expr,)*) => {
        $(impl RequestBody for $body {
            const FORM: SettingsForm = with_config($fields);

            fn accept(&mut self, given: ClientSettings) -> Result<Vec<String>, SettingsError> {
                add_to(&mut self.config, &given.config)?;
                self.ignored_fields = given.ignored;
                Ok(Vec::new())
            }
        })*
    };
}

with_settings! {
    SessionRequest => &[
        "agentType", "agentId", "prompt", "projectId", "sessionId", "config", "images", "command", "env", "fork", "stay",
        "timeoutSeconds", "approvalTimeoutSeconds",
    ],
    RunRequest => &["driver", "task", "cwd", "model", "sessionId", "config", "command", "env", "timeoutSeconds"],
    // `type` and `id` say what a message of a WebSocket is.
    PromptRequest => &["prompt", "images", "config", "type", "id"],
}

/// Bodies that settings do not belong to.
macro_rules! without_settings {
    ($($body:ty => $fields:expr,)*) => {
        $(impl RequestBody for $body {
            const FORM: SettingsForm = no_settings($fields);
        })*
    };
}

without_settings! {
    ApprovalAnswer => &["decision", "option", "reason", "input", "answers", "type", "id"],
    ArchiveRequest => &["archived"],
    ModelRequest => &["model"],
    ModeRequest => &["mode"],
    CommandRequest => &["name", "arguments"],
    OptionRequest => &["id", "value"],
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, schema_for};

    use super::*;

    fn check<T: RequestBody + JsonSchema>() {
        let schema = schema_for!(T).to_value();
        let mut fields: Vec<_> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut known: Vec<_> = T::FORM.fields.iter().copied().filter(|field| *field != "type").collect();
        // What a message of a WebSocket has besides.
        known.retain(|field| *field != "id" || fields.contains(field));
        fields.sort_unstable();
        known.sort_unstable();
        assert_eq!(fields, known, "{}", std::any::type_name::<T>());
    }

    #[test]
    fn forms_have_the_fields_of_their_bodies() {
        check::<SessionRequest>();
        check::<RunRequest>();
        check::<PromptRequest>();
        check::<ApprovalAnswer>();
        check::<ArchiveRequest>();
        check::<ModelRequest>();
        check::<ModeRequest>();
        check::<CommandRequest>();
        check::<OptionRequest>();
    }
}
