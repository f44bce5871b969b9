//! How often addresses, users and apps may ask.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use mindset_core::error::ErrorCode;

use crate::auth::User;
use crate::config::Server;
use crate::error::{ApiError, ApiResult};
use crate::limiter::{Limiter, network};

/// The limits of the configuration.
#[derive(Debug)]
pub(crate) struct Limits {
    addresses: Limiter<IpAddr>,
    users: Limiter<(String, String)>,
    apps: Limiter<String>,
}

impl Limits {
    pub(crate) fn new(server: &Server) -> Limits {
        Limits {
            addresses: Limiter::new(server.anonymous_per_minute),
            users: Limiter::new(server.requests_per_user),
            apps: Limiter::new(server.requests_per_app),
        }
    }

    /// An anonymous session is asked for.
    ///
    /// # Errors
    /// `rate-limited`.
    pub(crate) fn address(&self, address: IpAddr) -> ApiResult<()> {
        let message = "Too many sessions were asked for from this address. Wait a minute and try again.";
        self.addresses.take(network(address), Instant::now()).map_err(|wait| limited(message, wait))
    }

    /// A user asks for something.
    ///
    /// # Errors
    /// `rate-limited`.
    pub(crate) fn user(&self, user: &User) -> ApiResult<()> {
        let message = "You have sent too many requests within a minute. Wait a moment and try again.";
        let who = (user.app.clone(), user.id.clone());
        self.users.take(who, Instant::now()).map_err(|wait| limited(message, wait))?;
        self.app(&user.app)
    }

    /// A user of the app, or its backend, asks for something.
    ///
    /// # Errors
    /// `rate-limited`.
    pub(crate) fn app(&self, uid: &str) -> ApiResult<()> {
        let message = "The app has sent too many requests within a minute. Wait a moment and try again.";
        self.apps.take(uid.to_owned(), Instant::now()).map_err(|wait| limited(message, wait))
    }
}

fn limited(message: &str, wait: Duration) -> ApiError {
    ApiError::new(ErrorCode::RateLimited, message).retry_after(wait)
}
