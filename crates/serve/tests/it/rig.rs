//! A server to try things on. Whatever it answers is held against its own description.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{Request, header},
};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use switchboard_engine::{Engine, HostEnvironment, SessionTimeouts, this_process};
use switchboard_event::{ApprovalMode, Id, Timestamp};
use switchboard_serve::{Drain, Service, Setup, openapi};
use switchboard_store::{SqliteStore, StoreOptions};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tower::ServiceExt as _;

/// How long anything may take. Nothing does; but a test that hangs should say so.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server and the folder that it works in.
pub struct Rig {
    pub service: Service,
    pub folder: Arc<TempDir>,
    document: Value,
    owner: u64,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub media_type: String,
}

impl Answer {
    /// The code of a problem.
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// What is wrong, for people.
    pub fn detail(&self) -> &str {
        self.body["detail"].as_str().unwrap_or_default()
    }
}

impl Rig {
    pub fn new() -> Self {
        Self::with(Vec::new())
    }

    /// A server that lets sessions work below these folders only.
    pub fn with(roots: Vec<PathBuf>) -> Self {
        Self::at(Arc::new(tempfile::tempdir().unwrap()), roots, &StoreOptions::default(), SessionTimeouts::default())
    }

    /// A server with other limits of time.
    pub fn limited(limits: SessionTimeouts) -> Self {
        Self::at(Arc::new(tempfile::tempdir().unwrap()), Vec::new(), &StoreOptions::default(), limits)
    }

    /// A server whose log may take so many bytes.
    pub fn small(bytes: u64) -> Self {
        let options = StoreOptions { max_bytes: Some(bytes), ..StoreOptions::default() };
        Self::at(Arc::new(tempfile::tempdir().unwrap()), Vec::new(), &options, SessionTimeouts::default())
    }

    /// A server whose machine has agents' logs in the folder `home`.
    pub fn in_folder(folder: TempDir) -> Self {
        Self::at(Arc::new(folder), Vec::new(), &StoreOptions::default(), SessionTimeouts::default())
    }

    /// Another process that shares the log.
    pub fn beside(&self) -> Self {
        Self::at(self.folder.clone(), Vec::new(), &StoreOptions::default(), SessionTimeouts::default())
    }

    fn at(folder: Arc<TempDir>, roots: Vec<PathBuf>, options: &StoreOptions, limits: SessionTimeouts) -> Self {
        let data = folder.path().join("data");
        let store = SqliteStore::open(&data, &StoreOptions { owner: Some(this_process()), ..options.clone() }).unwrap();
        let owner = store.owner_number().unwrap();
        let machine = machine(&folder);
        let homes = switchboard_logs::find_homes(&machine, &[folder.path().join("home")], None);
        let service = Service::new(Setup {
            engine: Engine::new(Arc::new(store), machine.clone()),
            machine,
            data,
            owner: Some(owner),
            cwd: folder.path().to_owned(),
            roots,
            limits,
            most_sessions: None,
            approval: ApprovalMode::Ask,
            drain: Drain::new(),
            homes,
            zone: jiff::tz::TimeZone::UTC,
        });
        Self { service, folder, document: openapi::document(), owner }
    }

    /// Listens on the private socket, as every process that runs sessions does.
    pub fn listen(&self) {
        let socket = self.folder.path().join(format!("data/owners/{}.sock", self.owner));
        let listener = UnixListener::bind(socket).unwrap();
        let router = self.service.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, Some(body.to_string())).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None).await
    }

    pub async fn send(&self, method: &str, path: &str, body: Option<String>) -> Answer {
        let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
        self.ask(request.body(Body::from(body.unwrap_or_default())).unwrap()).await
    }

    pub async fn ask(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().as_str().to_lowercase(), request.uri().path().to_owned());
        let response = tokio::time::timeout(PATIENCE, self.service.router().oneshot(request)).await;
        let response = response.expect("no answer").unwrap();
        let status = response.status().as_u16();
        let media_type = response.headers().get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap().to_owned());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let media_type = media_type.unwrap_or_default();
        let body = if media_type.ends_with("json") {
            serde_json::from_slice(&bytes).unwrap()
        } else {
            String::from_utf8(bytes.to_vec()).unwrap().into()
        };
        let answer = Answer { status, body, media_type };
        self.hold(&method, &path, &answer);
        answer
    }

    /// The answer is one that the description has.
    fn hold(&self, method: &str, path: &str, answer: &Answer) {
        let Some(template) = self.template(path) else { return };
        let operation = &self.document["paths"][&template][method];
        if operation.is_null() {
            assert_eq!(answer.status, 405, "{method} {path}");
            return;
        }
        let mut described = &operation["responses"][answer.status.to_string()];
        assert!(!described.is_null(), "{method} {template} does not say that it answers {}: {answer:?}", answer.status);
        if let Some(shared) = described["$ref"].as_str() {
            described = self.document.pointer(shared.trim_start_matches('#')).unwrap();
        }
        let Some(content) = described["content"].as_object() else {
            assert_eq!(answer.body, "", "{method} {path} answers nothing");
            return;
        };
        let schema =
            &content.get(&answer.media_type).unwrap_or_else(|| panic!("{template}: {}", answer.media_type))["schema"];
        let mut root = schema.clone();
        root["components"] = self.document["components"].clone();
        let validator = jsonschema::validator_for(&root).unwrap();
        let errors: Vec<_> = validator.iter_errors(&answer.body).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{method} {path} answers {}: {errors:?}", answer.body);
    }

    fn template(&self, path: &str) -> Option<String> {
        let fits = |template: &&String| {
            let (a, b): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
            a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a == b || a.starts_with('{'))
        };
        self.document["paths"].as_object().unwrap().keys().find(fits).cloned()
    }

    /// Starts a session.
    pub async fn start(&self, agent: &str, prompt: &str) -> String {
        self.start_with(json!({ "agentType": agent, "prompt": prompt })).await
    }

    pub async fn start_with(&self, request: Value) -> String {
        let answer = self.post("/api/sessions", request).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body["id"].as_str().unwrap().to_owned()
    }

    /// Starts a session that waits for an answer, and gives the id of what it asks.
    pub async fn start_asking(&self, script: &str) -> (String, String) {
        let id = self.start("script", script).await;
        let request = self.asked(&id).await;
        (id, request)
    }

    /// What a session asks, once it does.
    pub async fn asked(&self, id: &str) -> String {
        self.until(id, |view| view["approvals"] == 1).await;
        let open = self.get(&format!("/api/sessions/{id}/approvals")).await;
        open.body["approvals"][0]["id"].as_str().unwrap().to_owned()
    }

    /// The session once it is as it should be. Waits for its events, not for time to pass.
    pub async fn until(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let (engine, session) = (self.service.engine().clone(), id.to_owned());
        let mut follower = engine.follow(&session, 0).unwrap();
        let waiting = async {
            loop {
                let view = self.get(&format!("/api/sessions/{id}")).await.body;
                if wanted(&view) {
                    return view;
                }
                if follower.next().await.unwrap().is_none() {
                    follower = engine.follow(&session, follower.position()).unwrap();
                    tokio::task::yield_now().await;
                }
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        match waited {
            Ok(view) => view,
            Err(_) => panic!("it never was so: {}", self.get(&format!("/api/sessions/{id}")).await.body),
        }
    }

    /// The session once it has ended.
    pub async fn ended(&self, id: &str) -> Value {
        self.until(id, |view| view["state"] != "running").await
    }

    /// A folder below the one that the server works in.
    pub fn subfolder(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }
}

fn machine(folder: &TempDir) -> HostEnvironment {
    HostEnvironment {
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        home: folder.path().to_owned(),
        temp: folder.path().join("tmp"),
        program: "/nowhere".into(),
        is_root: false,
        now,
        new_id: || Id::from(uuid::Uuid::now_v7().to_string()),
        new_secret: || uuid::Uuid::new_v4().simple().to_string(),
    }
}

#[expect(clippy::disallowed_methods, reason = "the engine is given a clock, and here it is")]
fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()).unwrap()
}

/// All that an address says, as text.
pub async fn text(service: &Service, path: &str) -> String {
    let request = Request::builder().uri(path).body(Body::empty()).unwrap();
    let response = service.router().oneshot(request).await.unwrap();
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}
