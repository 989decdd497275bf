//! Access control for any router.
//!
//! In this order, each with its own refusal: the length of the URL, the rate of requests (authenticated clients are
//! counted separately), the `Host`, the `Origin`, the token, whether the caller belongs to a session, and the size and
//! speed of the body.

mod auth;
mod body_limits;
mod caller;
mod origin;
mod rate_limit;
mod refusal;
mod token;

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
};

use crate::{
    listen::{Peer, SlotHandle},
    request_log::log_request,
};
use auth::{BrowserRequest, TokenSource};
use body_limits::BodyRefusal;
use origin::{AllowedNames, RequestingPage};

pub use auth::accepts_html;
pub use body_limits::BodyLimits;
pub use caller::{Caller, ProcessScanner, UnidentifiedCallers};
pub use rate_limit::RateLimit;

use rate_limit::RateLimits;
pub use refusal::Refusal;
pub use token::{AccessToken, TokenError};

const MAX_URI_BYTES: usize = 8 << 10;

#[derive(Clone, Debug, Default)]
pub struct GuardConfig {
    /// The access token. Without it, authentication is disabled.
    pub token: Option<AccessToken>,
    /// Host names that are accepted besides the own addresses, with or without a port.
    pub hosts: Vec<String>,
    /// Origins that are accepted besides the own one.
    pub origins: Vec<String>,
    pub rate: RateLimit,
    pub unidentified_callers: UnidentifiedCallers,
    pub bodies: BodyLimits,
    /// The server has TLS, so browsers must not send the token without it.
    pub has_tls: bool,
}

/// The access control of a router.
#[derive(Clone)]
pub struct Guard(Arc<GuardState>);

struct GuardState {
    token: Option<AccessToken>,
    names: AllowedNames,
    limits: RateLimits,
    unidentified_callers: UnidentifiedCallers,
    bodies: BodyLimits,
    has_tls: bool,
}

struct RequestOrigin {
    peer: Peer,
    /// `None` for an anonymous client.
    token: Option<TokenSource>,
    page: RequestingPage,
}

enum Admission {
    /// It is passed on, with limits on its body.
    Admitted(Request, BodyRefusal),
    Answered(Response),
}

impl Guard {
    #[must_use]
    pub fn new(config: GuardConfig) -> Self {
        let GuardConfig { token, hosts, origins, rate, unidentified_callers, bodies, has_tls } = config;
        let names = AllowedNames { hosts, origins };
        let limits = RateLimits::new(rate);
        Self(Arc::new(GuardState { token, names, limits, unidentified_callers, bodies, has_tls }))
    }

    /// Protects a router. Navigation to the page without the token gets a login page.
    pub fn around(&self, router: Router) -> Router {
        let guarded = router.layer(DefaultBodyLimit::disable()).layer(from_fn_with_state(self.clone(), guard_request));
        guarded.layer(from_fn(log_request))
    }

    /// Returns where a request comes from. The token is checked before the rate, so that anonymous requests from the
    /// same address do not use up the limit of its owner.
    fn identify_origin(&self, request: &Request) -> Result<RequestOrigin, Refusal> {
        let peer = request.extensions().get::<Peer>().copied().ok_or(Refusal::NoHost)?;
        if request.uri().path_and_query().is_some_and(|address| address.as_str().len() > MAX_URI_BYTES) {
            return Err(Refusal::LongAddress);
        }
        let token =
            self.0.token.as_ref().map_or(Some(TokenSource::NotRequired), |token| auth::find_token(token, request));
        self.0.limits.check_request(peer.client(), token.is_some())?;
        // Browsers cannot connect to Unix sockets.
        let Peer::Tcp { ours, .. } = peer else {
            return Ok(RequestOrigin { peer, token, page: RequestingPage::None });
        };
        let host = self.0.names.check_host(request, ours)?;
        Ok(RequestOrigin { peer, token, page: self.0.names.check_origin(request.headers(), host)? })
    }

    async fn admit(&self, mut request: Request, origin: &RequestOrigin) -> Result<Admission, Refusal> {
        let answer =
            origin::preflight_response(&request).filter(|_| matches!(origin.page, RequestingPage::AllowedOrigin(_)));
        if let Some(answer) = answer.or_else(|| self.handle_login_link(&request, origin.token)) {
            return Ok(Admission::Answered(answer));
        }
        self.authenticate(&mut request, origin)?;
        if origin.token.is_none() && auth::is_page(&request) {
            return Ok(Admission::Answered(auth::login_page()));
        }
        if let Some(slot) = request.extensions().get::<SlotHandle>().filter(|_| origin.token.is_some()) {
            slot.mark_authenticated();
        }
        let caller = request.extensions_mut().get_mut::<Caller>().ok_or(Refusal::UnidentifiedCaller)?;
        caller.set_unidentified(self.0.unidentified_callers);
        let caller = caller.clone();
        if !auth::is_safe(request.method()) {
            caller.check_may_control().await?;
        }
        let (request, refusal) = self.0.bodies.apply(request)?;
        Ok(Admission::Admitted(request, refusal))
    }

    /// Handles the login link: the token moves from the URL into a cookie. A client that is logged in may have used an
    /// expired link.
    fn handle_login_link(&self, request: &Request, source: Option<TokenSource>) -> Option<Response> {
        let token = self.0.token.as_ref()?;
        let given = auth::is_page(request).then(|| auth::query_token(request.uri())).flatten()?;
        let cookie = auth::token_cookie(token, self.0.has_tls).filter(|_| token.matches(&given));
        if cookie.is_none() && source.is_none() {
            return None;
        }
        let address = auth::without_token(request.uri());
        let mut response = StatusCode::SEE_OTHER.into_response();
        response.headers_mut().insert(header::LOCATION, HeaderValue::try_from(address).ok()?);
        if let Some(cookie) = cookie {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        Some(response)
    }

    /// Refuses a request that needs the token and lacks it, or that another page made a browser send.
    fn authenticate(&self, request: &mut Request, origin: &RequestOrigin) -> Result<(), Refusal> {
        let is_open = auth::is_open(request) && auth::query_token(request.uri()).is_none();
        if origin.token.is_none() && !is_open {
            return Err(self.0.limits.count_failure(origin.peer.client()));
        }
        let is_change = !auth::is_safe(request.method()) || auth::is_upgrade(request);
        if is_change && origin.token.is_some_and(|source| is_forged(source, request, &origin.page)) {
            return Err(Refusal::Forged);
        }
        auth::remove_token(request.uri_mut());
        Ok(())
    }
}

/// Returns whether another page seems to have caused the request: what a browser sends by itself proves nothing.
fn is_forged(source: TokenSource, request: &Request, page: &RequestingPage) -> bool {
    let site = request.headers().get("sec-fetch-site").map(|site| site == "same-origin" || site == "none");
    match source {
        TokenSource::Explicit => false,
        TokenSource::Cookie => *page != RequestingPage::Own && site != Some(true),
        // Programs send neither header.
        TokenSource::NotRequired => *page == RequestingPage::None && site == Some(false),
    }
}

async fn guard_request(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let browser = BrowserRequest::from_request(&request);
    let (admission, page) = match guard.identify_origin(&request) {
        Ok(origin) => (guard.admit(request, &origin).await, origin.page),
        Err(refusal) => (Err(refusal), RequestingPage::None),
    };
    let mut response = match admission {
        Ok(Admission::Admitted(request, refusal)) => {
            let response = next.run(request).await;
            // The reader of the body only knows that reading failed.
            refusal.reason().map_or(response, Refusal::into_response)
        }
        Ok(Admission::Answered(response)) => response,
        Err(refusal) => browser.map_or_else(|| refusal.into_response(), |browser| browser.refuse(refusal)),
    };
    add_security_headers(&mut response);
    if let RequestingPage::AllowedOrigin(origin) = page {
        origin::allow_origin(&mut response, origin);
    }
    response
}

/// The page may use its own scripts, styles and connections only, and cannot be framed.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const SECURITY_HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

fn add_security_headers(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
