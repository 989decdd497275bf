//! Rate limits per client. Anonymous clients are counted separately: a flood without the token does not affect its
//! owner, even from the same address (a proxy, a NAT, this machine). The memory is bounded: when there are too many
//! clients to count separately, new ones share a limit.

use std::{num::NonZeroU32, time::Duration};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock as _};

use super::Refusal;
use crate::listen::ClientKey;

/// The maximum number of clients that are counted separately.
const MAX_CLIENTS: usize = 10_000;

/// Failed authentications, per second and at once.
const FAILURE_LIMIT: (NonZeroU32, NonZeroU32) = (NonZeroU32::MIN.saturating_add(9), NonZeroU32::MIN.saturating_add(29));

/// How many times the requests per second may come at once.
const BURST_FACTOR: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    Unlimited,
    /// Requests per second, and four times as many at once.
    PerSecond(NonZeroU32),
}

impl Default for RateLimit {
    fn default() -> Self {
        Self::PerSecond(NonZeroU32::MIN.saturating_add(499))
    }
}

pub struct RateLimits {
    requests: Option<RequestLimiters>,
    failures: ClientLimiter,
}

struct RequestLimiters {
    authenticated: ClientLimiter,
    anonymous: ClientLimiter,
}

type ClientLimiter = DefaultKeyedRateLimiter<ClientKey>;

impl RateLimits {
    pub fn new(rate: RateLimit) -> Self {
        let limiter = |(rate, burst)| RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst));
        let requests = match rate {
            RateLimit::Unlimited => None,
            RateLimit::PerSecond(rate) => Some((rate, rate.saturating_mul(BURST_FACTOR))),
        };
        let requests =
            requests.map(|quota| RequestLimiters { authenticated: limiter(quota), anonymous: limiter(quota) });
        Self { requests, failures: limiter(FAILURE_LIMIT) }
    }

    pub fn check_request(&self, client: ClientKey, is_authenticated: bool) -> Result<(), Refusal> {
        let Some(limiters) = &self.requests else { return Ok(()) };
        let limiter = if is_authenticated { &limiters.authenticated } else { &limiters.anonymous };
        check_limit(limiter, client).map_err(Refusal::TooManyRequests)
    }

    pub fn count_failure(&self, client: ClientKey) -> Refusal {
        check_limit(&self.failures, client).map_or_else(Refusal::TooManyFailures, |()| Refusal::Unauthorized)
    }
}

fn check_limit(limiter: &ClientLimiter, client: ClientKey) -> Result<(), Duration> {
    if limiter.len() >= MAX_CLIENTS {
        // Clients without recent requests are equivalent to new ones.
        limiter.retain_recent();
    }
    let client = if limiter.len() < MAX_CLIENTS { client } else { ClientKey::Others };
    limiter.check_key(&client).map_err(|not_until| not_until.wait_time_from(limiter.clock().now()))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::{MAX_CLIENTS, RateLimit, RateLimits, Refusal};
    use crate::listen::ClientKey;

    #[test]
    fn a_client_over_its_limit_waits_and_others_do_not() {
        let limits = RateLimits::new(RateLimit::PerSecond(NonZeroU32::MIN));
        let ask = |user| limits.check_request(ClientKey::User(user), true);
        assert_eq!((0..4).filter(|_| ask(1).is_ok()).count(), 4);
        assert!(matches!(ask(1), Err(Refusal::TooManyRequests(_))));
        assert!(ask(2).is_ok());
        let open = RateLimits::new(RateLimit::Unlimited);
        assert!((0..100_000).all(|_| open.check_request(ClientKey::User(1), true).is_ok()));
    }

    #[test]
    fn anonymous_requests_do_not_count_for_the_client_with_the_token() {
        let limits = RateLimits::new(RateLimit::PerSecond(NonZeroU32::MIN));
        assert!(
            (0..1000).any(|_| limits.check_request(ClientKey::User(1), false).is_err()),
            "anonymous clients have no limit"
        );
        assert!(limits.check_request(ClientKey::User(1), true).is_ok());
    }

    #[test]
    fn guessing_the_token_is_slow() {
        let limits = RateLimits::new(RateLimit::default());
        let refusals = (0..40).map(|_| limits.count_failure(ClientKey::User(1)));
        assert_eq!(refusals.take_while(|refusal| *refusal == Refusal::Unauthorized).count(), 30);
    }

    #[test]
    fn many_clients_take_no_more_memory() {
        let limits = RateLimits::new(RateLimit::PerSecond(NonZeroU32::MIN));
        let users = u32::try_from(2 * MAX_CLIENTS).unwrap();
        let passed = (0..users).filter(|user| limits.check_request(ClientKey::User(*user), true).is_ok()).count();
        assert!(passed < 2 * MAX_CLIENTS, "the shared limit has no effect");
        assert!(limits.requests.as_ref().unwrap().authenticated.len() <= MAX_CLIENTS + 1);
    }
}
