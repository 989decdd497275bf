//! A test server. All its responses are validated against its API description.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{Request, header},
};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use switchboard_engine::{Engine, HostEnvironment, SessionTimeouts, this_process};
use switchboard_event::{ApprovalMode, Id, Timestamp};
use switchboard_serve::{Drain, Service, ServiceConfig, openapi};
use switchboard_store::{SqliteStore, StoreOptions};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tower::ServiceExt as _;

/// Only reached by a test that hangs.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A server and its directory.
pub struct Rig {
    pub service: Service,
    pub folder: Arc<TempDir>,
    document: Value,
    owner: u64,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub media_type: String,
}

impl Answer {
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    pub fn detail(&self) -> &str {
        self.body["detail"].as_str().unwrap_or_default()
    }
}

impl Rig {
    pub fn new() -> Self {
        Self::with(Vec::new())
    }

    /// A server whose sessions may only work below these directories.
    pub fn with(roots: Vec<PathBuf>) -> Self {
        Self::at(Arc::new(tempfile::tempdir().unwrap()), roots, &StoreOptions::default(), SessionTimeouts::default())
    }

    /// A server with other timeouts.
    pub fn limited(limits: SessionTimeouts) -> Self {
        Self::at(Arc::new(tempfile::tempdir().unwrap()), Vec::new(), &StoreOptions::default(), limits)
    }

    /// A server whose log has a maximum size.
    pub fn small(bytes: u64) -> Self {
        let options = StoreOptions { max_bytes: Some(bytes), ..StoreOptions::default() };
        Self::at(Arc::new(tempfile::tempdir().unwrap()), Vec::new(), &options, SessionTimeouts::default())
    }

    /// A server whose machine has session logs in the directory `home`.
    pub fn in_folder(folder: TempDir) -> Self {
        Self::at(Arc::new(folder), Vec::new(), &StoreOptions::default(), SessionTimeouts::default())
    }

    /// Another process that shares the log.
    pub fn second_process(&self) -> Self {
        Self::at(self.folder.clone(), Vec::new(), &StoreOptions::default(), SessionTimeouts::default())
    }

    fn at(folder: Arc<TempDir>, roots: Vec<PathBuf>, options: &StoreOptions, limits: SessionTimeouts) -> Self {
        let data = folder.path().join("data");
        let store = SqliteStore::open(&data, &StoreOptions { owner: Some(this_process()), ..options.clone() }).unwrap();
        let owner = store.owner_number().unwrap();
        let machine = machine(&folder);
        let homes = switchboard_logs::find_homes(&machine, &[folder.path().join("home")], None);
        let service = Service::new(ServiceConfig {
            cluster: None,
            engine: Engine::new(Arc::new(store), machine.clone()),
            host: machine,
            data,
            owner: Some(owner),
            cwd: folder.path().to_owned(),
            roots,
            timeouts: limits,
            max_sessions: None,
            approval_mode: ApprovalMode::Ask,
            drain: Drain::new(),
            homes,
            time_zone: jiff::tz::TimeZone::UTC,
        });
        Self { service, folder, document: openapi::document(), owner }
    }

    /// Listens on the private socket, as every process with sessions does.
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
        let response = tokio::time::timeout(TEST_TIMEOUT, self.service.router().oneshot(request)).await;
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

    /// Validates a response against the description.
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

    pub async fn start(&self, agent: &str, prompt: &str) -> String {
        self.start_with(json!({ "agentType": agent, "prompt": prompt })).await
    }

    pub async fn start_with(&self, request: Value) -> String {
        let answer = self.post("/api/sessions", request).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body["id"].as_str().unwrap().to_owned()
    }

    /// Starts a session that waits for an answer; returns the session and the request.
    pub async fn start_asking(&self, script: &str) -> (String, String) {
        let id = self.start("script", script).await;
        let request = self.asked(&id).await;
        (id, request)
    }

    /// Waits for a request of a session.
    pub async fn asked(&self, id: &str) -> String {
        self.until(id, |view| view["approvals"] == 1).await;
        let open = self.get(&format!("/api/sessions/{id}/approvals")).await;
        open.body["approvals"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Waits until a session matches. Waits for events, not for time.
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
        let waited = tokio::time::timeout(TEST_TIMEOUT, waiting).await;
        match waited {
            Ok(view) => view,
            Err(_) => panic!("it never was so: {}", self.get(&format!("/api/sessions/{id}")).await.body),
        }
    }

    pub async fn ended(&self, id: &str) -> Value {
        self.until(id, |view| view["state"] != "running").await
    }

    /// Creates a subdirectory of the server's directory.
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

/// Returns a response as text.
pub async fn text(service: &Service, path: &str) -> String {
    let request = Request::builder().uri(path).body(Body::empty()).unwrap();
    let response = service.router().oneshot(request).await.unwrap();
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}
