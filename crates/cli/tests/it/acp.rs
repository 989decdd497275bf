//! The Agent Client Protocol, checked against the official types and client.

use agent_client_protocol::{
    UntypedMessage,
    v1::schema::{
        AuthenticateRequest, ClientCapabilities, CloseSessionRequest, CreateElicitationRequest,
        ElicitationCapabilities, ElicitationFormCapabilities, ForkSessionRequest, ListSessionsRequest,
        LoadSessionRequest, RequestPermissionRequest, ResumeSessionRequest, SessionConfigOptionValue,
        SessionNotification, SetSessionConfigOptionRequest, SetSessionModeRequest, StopReason,
    },
};
use jsonschema::Validator;
use schemars::{JsonSchema, schema_for};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use switchboard_dialects::{MessageBuffer, acp::DIALECT};
use switchboard_testkit::editor::{AcpTestEditor, EditorUserAction, prompt_request, update_text, updates_of_kind};
use switchboard_testkit::recording::{load_recordings, stream_events};
use switchboard_testkit::{editor, parallel};
use tempfile::TempDir;

use crate::{binary, verdict};

/// A method, its schema, and a round trip of its parameters through the official types.
struct AcpMethodTypes {
    name: &'static str,
    schema: Validator,
    again: fn(&Value) -> serde_json::Result<Value>,
}

impl AcpMethodTypes {
    fn of<T: JsonSchema + Serialize + DeserializeOwned>(name: &'static str) -> Self {
        let schema = jsonschema::validator_for(schema_for!(T).as_value()).unwrap();
        Self {
            name,
            schema,
            again: |params| serde_json::from_value::<T>(params.clone()).and_then(serde_json::to_value),
        }
    }

    /// Returns what is wrong with the parameters.
    fn wrong(&self, params: &Value) -> Option<String> {
        if let Err(error) = self.schema.validate(params) {
            return Some(format!("{error} at {}", error.instance_path()));
        }
        match (self.again)(params) {
            Ok(again) if plain(&again) == plain(params) => None,
            Ok(again) => Some(format!("it is read as {again}")),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// Removes fields that are equivalent to absent ones.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(plain).collect(),
        Value::Object(fields) => {
            let unsaid = |name: &str, value: &Value| {
                matches!((name, value.as_str()), ("kind", Some("other")) | ("status", Some("pending")))
            };
            fields
                .iter()
                .filter(|(name, value)| !unsaid(name, value))
                .map(|(name, value)| (name.clone(), plain(value)))
                .collect()
        }
        other => other.clone(),
    }
}

#[test]
fn every_message_of_every_recording_is_one_by_the_protocols_own_types() {
    let methods = [
        AcpMethodTypes::of::<SessionNotification>("session/update"),
        AcpMethodTypes::of::<RequestPermissionRequest>("session/request_permission"),
        AcpMethodTypes::of::<CreateElicitationRequest>("elicitation/create"),
    ];
    let recordings = load_recordings().unwrap();
    let found = parallel::map(&recordings, |recording| {
        let (mut projection, mut out) = ((DIALECT.projection)(), MessageBuffer::default());
        stream_events(recording.source, &recording.bytes)
            .iter()
            .for_each(|event| projection.project_event(event, &mut out));
        let wrong = out.iter().filter_map(|message| {
            let message: Value = serde_json::from_slice(message).unwrap();
            let name = message["method"].as_str().unwrap();
            let ours = name.starts_with("_switchboard/").then_some(None);
            let wrong = ours.unwrap_or_else(|| match methods.iter().find(|method| method.name == name) {
                Some(method) => method.wrong(&message["params"]),
                None => Some("a method that nobody knows".to_owned()),
            });
            wrong.map(|why| format!("{recording}: {why}: {message}"))
        });
        wrong.collect::<Vec<_>>()
    });
    verdict("messages that are none", found.into_iter().flatten());
}

#[test]
fn a_line_that_cannot_be_read_is_answered_and_the_next_one_is_read() {
    let data = tempfile::tempdir().unwrap();
    let mut input = Vec::new();
    for broken in [&b"\xff\xfe"[..], b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\xe9\"}", b"{}\x80", b"{no json"] {
        input.extend([broken, b"\n"].concat());
    }
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}});
    input.extend(format!("{hello}\r\n").bytes());
    let said = binary::run(&["acp", "--agent", "script", "--data", &data.path().to_string_lossy()], &input).ok();
    let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answers: Vec<_> = said.iter().map(|answer| json!([answer["id"], answer["error"]["code"]])).collect();
    let unread = json!([null, -32700]);
    assert_eq!(json!(answers), json!([unread, unread, unread, unread, [1, null]]));
}

/// A data directory and a working directory.
struct AcpTestHome {
    data: TempDir,
    work: TempDir,
}

impl AcpTestHome {
    fn new() -> Self {
        Self { data: tempfile::tempdir().unwrap(), work: tempfile::tempdir().unwrap() }
    }

    fn play<R>(&self, play: impl AsyncFnOnce(&AcpTestEditor) -> Result<R, agent_client_protocol::Error>) -> R {
        self.play_with(ClientCapabilities::new(), play)
    }

    /// Like [`Self::play`], with the given capabilities of the editor.
    fn play_with<R>(
        &self,
        capabilities: ClientCapabilities,
        play: impl AsyncFnOnce(&AcpTestEditor) -> Result<R, agent_client_protocol::Error>,
    ) -> R {
        let child = binary::start(&["acp", "--agent", "script", "--data", &self.data.path().to_string_lossy()]);
        editor::run_with_agent(child, capabilities, play).unwrap()
    }
}

#[test]
fn settings_in_requests_are_accepted_or_refused_but_never_ignored() {
    let place = AcpTestHome::new();
    let cwd = place.work.path().to_string_lossy();
    place.play(async |editor| {
        let send = async |method: &str, mut params: Value| {
            params["cwd"] = json!(cwd);
            params["mcpServers"] = json!([]);
            editor.agent.send_request(UntypedMessage::new(method, params)?).block_task().await
        };
        let given = json!({"approval_mode": "auto-edit", "_meta": {"sandboxPolicy": {"type": "readOnly"}}});
        let opened = send("session/new", given).await?["sessionId"].clone();
        let own = json!({"_meta": {"switchboard": {"blockedTools": ["Bash"]}, "editor": {"hooks": 1, "tools": 2}}});
        let other = send("session/new", own).await?["sessionId"].clone();
        for (id, field, value) in [
            (&opened, "approvalMode", json!("autoEdit")),
            (&opened, "sandboxMode", json!("readOnly")),
            (&other, "blockedTools", json!(["Bash"])),
        ] {
            let shown = ["sessions", "show", id.as_str().unwrap(), "--json", "--data"];
            let shown = binary::run(&[&shown[..], &[&place.data.path().to_string_lossy()]].concat(), b"").ok();
            let shown: Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(shown["config"][field], value, "{shown:#}");
        }
        for (method, params, right) in [
            ("session/new", json!({"sandboxMode": "shut"}), "readOnly"),
            ("session/new", json!({"permissions": "none"}), "approvalMode"),
            ("session/new", json!({"sandboxMode": "none", "_meta": {"sandboxMode": "readOnly"}}), "given twice"),
            ("session/new", json!({"_meta": {"switchboard": {"yolo": false}}}), "approvalMode"),
            ("session/load", json!({"sessionId": opened, "sandboxMode": "none"}), "session/new"),
            ("session/resume", json!({"sessionId": opened, "_meta": {"approvalMode": "autoAll"}}), "session/new"),
            ("session/prompt", json!({"sessionId": opened, "prompt": [], "approvalMode": "autoAll"}), "session/new"),
        ] {
            let refused = send(method, params.clone()).await.unwrap_err();
            assert_eq!(i32::from(refused.code), -32602, "{params} {refused}");
            assert!(refused.message.contains(right), "{params} {refused}");
        }
        Ok(())
    });
}

#[test]
fn a_turn_is_told_before_it_is_answered() {
    let place = AcpTestHome::new();
    let (ended, updates) = place.play(async |editor| {
        let session = editor.new_session(place.work.path()).await?.session_id;
        let script = "think hm\ntext hello you\nrun ls\nedit /w/a\nplan A, B\nsubagent look around";
        let ended = editor.run_prompt(&session, script).await?;
        Ok((ended, editor.take_updates()))
    });
    assert_eq!(ended.stop_reason, StopReason::EndTurn);
    assert!(ended.usage.unwrap().total_tokens > 0);
    assert_eq!(update_text(&updates, "agent_thought_chunk"), "hm");
    assert_eq!(update_text(&updates, "agent_message_chunk"), "hello you", "nothing else is the answer");
    assert_eq!(update_text(&updates, "user_message_chunk"), "", "the editor shows its own prompt");
    let plan = &updates_of_kind(&updates, "plan")[0]["entries"];
    assert_eq!((&plan[0]["content"], &plan[0]["status"]), (&json!("A"), &json!("in_progress")));
    let calls: Vec<_> =
        updates_of_kind(&updates, "tool_call").iter().map(|call| (&call["title"], &call["kind"])).collect();
    assert_eq!(json!(calls), json!([["ls", "execute"], ["Edit /w/a", "edit"], ["look around", "think"]]));
    let diff = &updates_of_kind(&updates, "tool_call")[1]["content"][0];
    assert_eq!((&diff["type"], &diff["path"]), (&json!("diff"), &json!("/w/a")));
    let ends = updates.iter().filter(|update| update["status"] == "completed").count();
    assert_eq!(ends, 3, "every tool call ends once");
}

#[test]
fn the_user_decides_what_is_done() {
    let place = AcpTestHome::new();
    let (questions, updates) = place.play(async |editor| {
        let session = editor.new_session(place.work.path()).await?.session_id;
        editor.queue_user_actions(&[
            EditorUserAction::Chooses("accept"),
            EditorUserAction::Chooses("decline"),
            EditorUserAction::Chooses("no such option"),
        ]);
        editor.run_prompt(&session, "approve touch a\napprove touch b\napprove-edit /w/c\ntext done").await?;
        Ok((editor.take_questions(), editor.take_updates()))
    });
    let asked: Vec<_> = questions.iter().map(|question| &question["toolCall"]["title"]).collect();
    assert_eq!(asked, ["touch a", "touch b", "Edit /w/c"]);
    let kinds: Vec<_> = questions[0]["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_once"]);
    assert_eq!(questions[2]["toolCall"]["content"][0]["type"], "diff");
    let ended =
        updates_of_kind(&updates, "tool_call_update").into_iter().filter_map(|update| update["status"].as_str());
    assert_eq!(ended.collect::<Vec<_>>(), ["completed", "failed", "failed"], "only a clear yes is one");
    assert_eq!(update_text(&updates, "agent_message_chunk"), "done");
}

#[test]
fn what_is_cancelled_ends_as_cancelled() {
    let place = AcpTestHome::new();
    place.play(async |editor| {
        let session = editor.new_session(place.work.path()).await?.session_id;
        let asking = editor.agent.send_request(prompt_request(&session, "approve touch a\ntext not said"));
        editor.wait_until_asked().await;
        editor.cancel_turn(&session)?;
        assert_eq!(asking.block_task().await?.stop_reason, StopReason::Cancelled);

        let sleeping = editor.agent.send_request(prompt_request(&session, "text asleep\nsleep 600\ntext not said"));
        let waiting = editor.agent.send_request(prompt_request(&session, "text not said"));
        editor.wait_for_update(|update| update["content"]["text"] == "asleep").await;
        editor.cancel_turn(&session)?;
        assert_eq!(sleeping.block_task().await?.stop_reason, StopReason::Cancelled);
        assert_eq!(waiting.block_task().await?.stop_reason, StopReason::Cancelled, "it was not even begun");

        let early = editor.agent.send_request(prompt_request(&session, "sleep 600"));
        editor.cancel_turn(&session)?;
        assert_eq!(early.block_task().await?.stop_reason, StopReason::Cancelled);

        assert_eq!(editor.run_prompt(&session, "text goes on").await?.stop_reason, StopReason::EndTurn);
        assert_eq!(update_text(&editor.take_updates(), "agent_message_chunk"), "asleepgoes on");
        Ok(())
    });
}

#[test]
fn a_prompt_that_is_taken_back_ends_as_cancelled_alone() {
    let place = AcpTestHome::new();
    place.play(async |editor| {
        let session = editor.new_session(place.work.path()).await?.session_id;
        let running = editor.agent.send_request(prompt_request(&session, "text asleep\nsleep 600\ntext not said"));
        let waiting = editor.agent.send_request(prompt_request(&session, "text not said"));
        let last = editor.agent.send_request(prompt_request(&session, "text said"));
        editor.wait_for_update(|update| update["content"]["text"] == "asleep").await;
        waiting.cancel()?;
        assert_eq!(waiting.block_task().await?.stop_reason, StopReason::Cancelled, "at once");
        running.cancel()?;
        assert_eq!(running.block_task().await?.stop_reason, StopReason::Cancelled);
        assert_eq!(last.block_task().await?.stop_reason, StopReason::EndTurn);
        assert_eq!(update_text(&editor.take_updates(), "agent_message_chunk"), "asleepsaid");
        Ok(())
    });
}

#[test]
fn a_session_is_loaded_in_another_process() {
    let place = AcpTestHome::new();
    let (session, live) = place.play(async |editor| {
        let session = editor.new_session(place.work.path()).await?.session_id;
        editor.queue_user_actions(&[EditorUserAction::Chooses("accept")]);
        editor.run_prompt(&session, "text one\napprove touch a\nedit /w/a").await?;
        Ok((session, editor.take_updates()))
    });
    place.play(async |editor| {
        let listed = editor.agent.send_request(ListSessionsRequest::new().cwd(place.work.path())).block_task().await?;
        let [one] = listed.sessions.as_slice() else { panic!("{listed:?}") };
        assert_eq!((&one.session_id, one.title.as_deref()), (&session, Some("text one approve touch a edit /w/a")));
        let elsewhere = editor.agent.send_request(ListSessionsRequest::new().cwd("/")).block_task().await?;
        assert_eq!(elsewhere.sessions, []);

        let load = LoadSessionRequest::new(session.clone(), place.work.path());
        let loaded = editor.agent.send_request(load).block_task().await?;
        assert!(loaded.modes.is_some() && loaded.config_options.is_some());
        let told = editor.take_updates();
        assert_eq!(update_text(&told, "user_message_chunk"), "text one\napprove touch a\nedit /w/a");
        assert_eq!(editor.take_questions(), [] as [Value; 0], "what was answered is not asked again");
        let work = ["agent_message_chunk", "tool_call", "tool_call_update"];
        for kind in work {
            assert_eq!(updates_of_kind(&told, kind), updates_of_kind(&live, kind), "{kind}");
        }
        editor.run_prompt(&session, "text two").await?;
        assert_eq!(update_text(&editor.take_updates(), "agent_message_chunk"), "two");
        Ok(())
    });
    place.play(async |editor| {
        let resume = ResumeSessionRequest::new(session.clone(), place.work.path());
        let resumed = editor.agent.send_request(resume).block_task().await?;
        assert!(resumed.modes.is_some());
        assert_eq!(editor.take_updates(), [] as [Value; 0], "the editor knows what was said");
        editor.run_prompt(&session, "text three").await?;
        assert_eq!(update_text(&editor.take_updates(), "agent_message_chunk"), "three");
        Ok(())
    });
}

#[test]
fn a_session_with_a_prompt_is_not_taken_up_again() {
    let place = AcpTestHome::new();
    place.play(async |editor| {
        let session = editor.new_session(place.work.path()).await?.session_id;
        let asking = editor.agent.send_request(prompt_request(&session, "approve touch a\ntext done"));
        editor.wait_until_asked().await;
        let load = || LoadSessionRequest::new(session.clone(), place.work.path());
        let refused = editor.agent.send_request(load()).block_task().await.unwrap_err();
        let resume = ResumeSessionRequest::new(session.clone(), place.work.path());
        let also = editor.agent.send_request(resume).block_task().await.unwrap_err();
        for error in [refused, also] {
            assert_eq!(error.data.unwrap()["code"], "busy");
        }
        editor.cancel_turn(&session)?;
        assert_eq!(asking.block_task().await?.stop_reason, StopReason::Cancelled, "it keeps its answer");
        editor.agent.send_request(load()).block_task().await?;
        assert_eq!(editor.run_prompt(&session, "text again").await?.stop_reason, StopReason::EndTurn);
        Ok(())
    });
}

#[test]
fn what_an_agent_offers_can_be_set() {
    let place = AcpTestHome::new();
    place.play(async |editor| {
        let new = editor.new_session(place.work.path()).await?;
        let session = new.session_id;
        assert_eq!(&*new.modes.unwrap().current_mode_id.0, "perform");
        let given = serde_json::to_value(new.config_options.unwrap()).unwrap();
        let summary: Vec<_> = given
            .as_array()
            .unwrap()
            .iter()
            .map(|option| json!([option["id"], option["category"], option["currentValue"]]))
            .collect();
        assert_eq!(
            json!(summary),
            json!([["mode", "mode", "perform"], ["model", "model", "script-1"], ["pace", null, "steady"]])
        );

        let mode = SetSessionModeRequest::new(session.clone(), "rehearse");
        editor.agent.send_request(mode).block_task().await?;
        let set = |id: &'static str, value: &'static str| {
            let value = SessionConfigOptionValue::value_id(value);
            editor.agent.send_request(SetSessionConfigOptionRequest::new(session.clone(), id, value)).block_task()
        };
        set("pace", "brisk").await?;
        let now = serde_json::to_value(set("model", "script-1-mini").await?.config_options).unwrap();
        let now: Vec<_> = now.as_array().unwrap().iter().map(|option| &option["currentValue"]).collect();
        assert_eq!(now, ["rehearse", "script-1-mini", "brisk"], "all of it");
        let wrong = set("model", "no such model").await.unwrap_err();
        assert_eq!(wrong.code, agent_client_protocol::ErrorCode::INVALID_PARAMS);
        assert!(set("no such setting", "x").await.is_err());
        let model = json!({"sessionId": session, "modelId": "script-1"});
        editor.agent.send_request(UntypedMessage::new("session/set_model", model)?).block_task().await?;
        editor.wait_for_update(|update| update["configOptions"][1]["currentValue"] == "script-1").await;
        let updates = editor.take_updates();
        assert_eq!(updates_of_kind(&updates, "current_mode_update").last().unwrap()["currentModeId"], "rehearse");
        assert!(!updates_of_kind(&updates, "available_commands_update").is_empty());
        assert_eq!(editor.run_prompt(&session, "/rename A title").await?.stop_reason, StopReason::EndTurn);
        assert_eq!(updates_of_kind(&editor.take_updates(), "session_info_update")[0]["title"], "A title");
        Ok(())
    });
}

#[test]
fn what_goes_wrong_is_an_error_and_the_session_goes_on() {
    let place = AcpTestHome::new();
    place.play(async |editor| {
        let session = editor.new_session(place.work.path()).await?.session_id;
        for script in ["fail oh no", "crash"] {
            let error = editor.run_prompt(&session, script).await.unwrap_err();
            assert_eq!(error.code, agent_client_protocol::ErrorCode::INTERNAL_ERROR, "{error:?}");
            assert_eq!(error.data.unwrap()["code"], "execution_error");
        }
        assert_eq!(editor.run_prompt(&session, "text back").await?.stop_reason, StopReason::EndTurn);
        let empty = editor.run_prompt(&session, " ").await.unwrap_err();
        assert_eq!(empty.code, agent_client_protocol::ErrorCode::INVALID_PARAMS);
        let unknown = LoadSessionRequest::new("no such session", place.work.path());
        let error = editor.agent.send_request(unknown).block_task().await.unwrap_err();
        assert_eq!(error.code, agent_client_protocol::ErrorCode::RESOURCE_NOT_FOUND);
        let nowhere = editor.new_session(&place.work.path().join("nowhere")).await.unwrap_err();
        assert_eq!(nowhere.code, agent_client_protocol::ErrorCode::INVALID_PARAMS);
        let login = AuthenticateRequest::new("no such way");
        let error = editor.agent.send_request(login).block_task().await.unwrap_err();
        assert_eq!(error.code, agent_client_protocol::ErrorCode::INVALID_PARAMS);
        let unknown = UntypedMessage::new("session/dance", json!({}))?;
        let error = editor.agent.send_request(unknown).block_task().await.unwrap_err();
        assert_eq!(error.code, agent_client_protocol::ErrorCode::METHOD_NOT_FOUND);
        editor.agent.send_request(CloseSessionRequest::new(session.clone())).block_task().await?;
        let closed = editor.run_prompt(&session, "text no").await.unwrap_err();
        assert_eq!(closed.code, agent_client_protocol::ErrorCode::RESOURCE_NOT_FOUND);
        Ok(())
    });
}

#[test]
fn questions_are_forms_where_the_editor_has_forms() {
    let place = AcpTestHome::new();
    let forms = ElicitationCapabilities::new().form(ElicitationFormCapabilities::new());
    for (capabilities, method) in
        [(ClientCapabilities::new().elicitation(forms), "mode"), (ClientCapabilities::new(), "options")]
    {
        let (questions, updates) = place.play_with(capabilities, async |editor| {
            let session = editor.new_session(place.work.path()).await?.session_id;
            editor.queue_user_actions(&[EditorUserAction::Chooses("choice_1")]);
            editor.run_prompt(&session, "ask Which? | red | blue").await?;
            Ok((editor.take_questions(), editor.take_updates()))
        });
        assert!(questions.len() == 1 && questions[0].get(method).is_some(), "{questions:?}");
        let last = updates_of_kind(&updates, "tool_call_update").last().unwrap()["rawOutput"].clone();
        assert_eq!(last, "blue", "{updates:?}");
    }
}

#[test]
fn a_copy_goes_its_own_way() {
    let place = AcpTestHome::new();
    place.play(async |editor| {
        let session = editor.new_session(place.work.path()).await?.session_id;
        editor.run_prompt(&session, "text one").await?;
        let fork = ForkSessionRequest::new(session.clone(), place.work.path());
        let copy = editor.agent.send_request(fork).block_task().await?.session_id;
        assert_ne!(copy, session);
        drop(editor.take_updates());
        editor.run_prompt(&copy, "text two").await?;
        editor.run_prompt(&session, "text three").await?;
        assert_eq!(update_text(&editor.take_updates(), "agent_message_chunk"), "twothree");
        Ok(())
    });
}

#[test]
fn an_editor_that_goes_away_takes_its_agents_with_it() {
    let place = AcpTestHome::new();
    // The player checks that the process ends without an error.
    place.play(async |editor| {
        let session = editor.new_session(place.work.path()).await?.session_id;
        let running = editor.agent.send_request(prompt_request(&session, "text asleep\nsleep 600"));
        editor.wait_for_update(|update| update["content"]["text"] == "asleep").await;
        running.detach();
        Ok(())
    });
    let listed =
        binary::run(&["sessions", "list", "--json", "--all", "--data", &place.data.path().to_string_lossy()], b"");
    assert!(listed.stdout.contains("cancelled"), "{}", listed.stdout);
}
