//! Every address with its methods, once: the router is made of this table, and the document at
//! `/openapi.json` is held to it.

use axum::routing::{MethodRouter, delete, get, patch, post, put};

use super::{
    agents, agentsessions, anonymous, conversations, dev, feedback, models, observe, permissions, runs,
    sdkusers, signout, threads, uploads,
};
use crate::app::App;

/// One method of one address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    /// The method, in capitals.
    pub(super) method: &'static str,
    /// The address, its variable parts in braces.
    pub(super) path: &'static str,
    /// What answers.
    pub(super) answer: fn() -> MethodRouter<App>,
}

const fn route(method: &'static str, path: &'static str, answer: fn() -> MethodRouter<App>) -> Route {
    Route { method, path, answer }
}

/// All of them.
pub(super) const ROUTES: &[Route] = &[
    route("GET", "/healthz", || get(super::healthz)),
    route("GET", "/openapi.json", || get(super::openapi::read)),
    route("POST", "/api/v1/appuid/{appUid}/sdkusers/auth", || post(sdkusers::auth)),
    route("POST", "/api/v1/appuid/{appUid}/agentsessions", || post(agentsessions::create)),
    route("GET", "/api/v1/appuid/{appUid}/agentsessions", || get(agentsessions::list)),
    route("GET", "/api/v1/appuid/{appUid}/agentsessions/{uid}", || get(agentsessions::read)),
    route("DELETE", "/api/v1/appuid/{appUid}/agentsessions/{uid}", || delete(agentsessions::delete)),
    route("POST", "/api/v1/appuid/{appUid}/threads", || post(threads::create)),
    route("POST", "/v1/anonymous", || post(anonymous::create)),
    route("POST", "/v1/signout", || post(signout::create)),
    route("GET", "/v1/agents", || get(agents::list)),
    route("GET", "/v1/models", || get(models::list)),
    route("GET", "/v1/agents/{agentUid}", || get(agents::read)),
    route("POST", "/v1/agents/{agentUid}/runs", || post(runs::create)),
    route("GET", "/v1/runs/{runId}/events", || get(runs::events)),
    route("PATCH", "/v1/runs/{runId}", || patch(runs::edit)),
    route("DELETE", "/v1/runs/{runId}", || delete(runs::remove)),
    route("POST", "/v1/runs/{runId}/seen", || post(runs::seen)),
    route("POST", "/v1/runs/{runId}/cancel", || post(runs::cancel)),
    route("PUT", "/v1/runs/{runId}/passthrough-params", || put(runs::passthrough)),
    route("GET", "/v1/conversations", || get(conversations::list)),
    route("POST", "/v1/conversations", || post(conversations::create)),
    route("GET", "/v1/conversations/{id}", || get(conversations::read)),
    route("PATCH", "/v1/conversations/{id}", || patch(conversations::rename)),
    route("DELETE", "/v1/conversations/{id}", || delete(conversations::delete)),
    route("POST", "/v1/conversations/{id}/queue/resume", || post(conversations::resume)),
    route("GET", "/v1/observe", || get(observe::read)),
    route("GET", "/v1/me/permissions", || get(permissions::read)),
    route("PUT", "/v1/me/permissions", || put(permissions::put)),
    route("GET", "/v1/uploads", || get(uploads::limits)),
    route("POST", "/v1/uploads", || post(uploads::create)),
    route("GET", "/v1/uploads/{id}", || get(uploads::read)),
    route("DELETE", "/v1/uploads/{id}", || delete(uploads::delete)),
    route("PUT", "/v1/messages/{id}/feedback", || put(feedback::put)),
    route("GET", "/v1/dev/conversations/{id}", || get(dev::read)),
];
