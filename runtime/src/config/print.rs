//! The merged configuration as TOML, secrets given as their length.

use toml::{Table, Value};

use super::value::print_duration;
use super::{
    Agent, App, Config, Context, LogFormat, ModelConfig, OperationsListener, Provider, Secret, Server,
};
use super::{access, mcp, offers, services, uploads};

pub(super) fn to_toml(config: &Config) -> String {
    let mut root = Table::new();
    root.insert("server".into(), Value::Table(server(&config.server)));
    root.insert("uploads".into(), Value::Table(uploads::print(&config.uploads)));
    if let Some(telemetry) = &config.telemetry {
        let mut t = Table::new();
        put(&mut t, "otlp_endpoint", masked(&telemetry.otlp_endpoint));
        if let Some(authorization) = &telemetry.authorization {
            put(&mut t, "authorization", authorization.to_string());
        }
        root.insert("telemetry".into(), Value::Table(t));
    }
    let models: Table = config.models.iter().map(|m| (m.name.clone(), Value::Table(model(m)))).collect();
    if !models.is_empty() {
        root.insert("models".into(), Value::Table(models));
    }
    root.insert("apps".into(), Value::Array(config.apps.iter().map(|a| Value::Table(app(a))).collect()));
    root.to_string()
}

fn server(s: &Server) -> Table {
    let mut t = Table::new();
    put(&mut t, "listen", s.listen.to_string());
    if let Some(url) = &s.public_url {
        put(&mut t, "public_url", url.as_str());
    }
    put(&mut t, "database", s.database.display().to_string());
    let secret =
        s.token_secret.as_ref().map_or("(made once, kept in the database)".into(), Secret::to_string);
    put(&mut t, "token_secret", secret);
    put(&mut t, "token_lifetime", print_duration(s.token_lifetime));
    if let Some(assets) = &s.assets {
        put(&mut t, "assets", assets.display().to_string());
    }
    put(&mut t, "heartbeat", print_duration(s.heartbeat));
    put(&mut t, "log_keep", print_duration(s.log_keep));
    if let Some(keep) = s.run_keep {
        put(&mut t, "run_keep", print_duration(keep));
    }
    put(&mut t, "reader_timeout", print_duration(s.reader_timeout));
    put(&mut t, "approval_patience", print_duration(s.approval_patience));
    t.insert("max_body".into(), integer(s.max_body));
    t.insert("requests_per_user".into(), integer(s.requests_per_user));
    t.insert("requests_per_app".into(), integer(s.requests_per_app));
    t.insert("anonymous_per_minute".into(), integer(s.anonymous_per_minute));
    t.insert("trusted_proxies".into(), texts(s.trusted_proxies.iter().map(ToString::to_string)));
    put(&mut t, "request_timeout", print_duration(s.request_timeout));
    put(&mut t, "log", s.log.as_str());
    put(&mut t, "log_format", if s.log_format == LogFormat::Json { "json" } else { "text" });
    let operations = match s.operations {
        OperationsListener::Off => "off".to_owned(),
        OperationsListener::Usual => OperationsListener::USUAL.to_owned(),
        OperationsListener::At(address) => address.to_string(),
    };
    put(&mut t, "operations", operations);
    t
}

fn model(m: &ModelConfig) -> Table {
    let mut t = Table::new();
    if let Some(title) = &m.title {
        put(&mut t, "title", title.as_str());
    }
    put(&mut t, "provider", m.provider.as_str());
    put(&mut t, "model", m.model.as_str());
    if m.provider == Provider::Demo {
        put(&mut t, "delay", print_duration(m.delay));
        return t;
    }
    put(&mut t, "base_url", masked(&m.base_url));
    if let Some(key) = &m.api_key {
        put(&mut t, "api_key", key.to_string());
    }
    if let Some(max) = m.max_tokens {
        t.insert("max_tokens".into(), integer(max));
    }
    put(&mut t, "idle_timeout", print_duration(m.idle_timeout));
    t
}

fn app(a: &App) -> Table {
    let mut t = Table::new();
    put(&mut t, "uid", a.uid.as_str());
    t.insert("api_keys".into(), texts(a.api_keys.iter().map(Secret::to_string)));
    t.insert("origins".into(), texts(a.origins.iter().map(|o| o.as_str().to_owned())));
    t.insert("allow_no_origin".into(), Value::Boolean(a.allow_no_origin));
    access::print(a.agent_access, &mut t);
    access::print_depth(a.delegation_depth, &mut t);
    offers::print(a, &mut t);
    if !a.contexts.is_empty() {
        t.insert(
            "contexts".into(),
            Value::Array(a.contexts.iter().map(|x| Value::Table(context(x))).collect()),
        );
    }
    let servers = a.mcp_servers.iter().filter(|server| server.mount.is_none());
    let servers: Vec<Value> = servers.map(|s| Value::Table(mcp::to_table(s))).collect();
    let services = a.services.iter().map(|s| Value::Table(services::to_table(s, &a.mcp_servers)));
    for (key, tables) in [("mcp_servers", servers), ("services", services.collect())] {
        if !tables.is_empty() {
            t.insert(key.into(), Value::Array(tables));
        }
    }
    t.insert("agents".into(), Value::Array(a.agents.iter().map(|x| Value::Table(agent(x))).collect()));
    t
}

fn context(c: &Context) -> Table {
    let mut t = Table::new();
    put(&mut t, "uid", c.uid.as_str());
    put(&mut t, "title", c.title.as_str());
    t.insert("files".into(), texts(c.files.iter().cloned()));
    if let Some(base_url) = &c.base_url {
        put(&mut t, "base_url", masked(base_url));
    }
    t
}

fn agent(a: &Agent) -> Table {
    let mut t = Table::new();
    put(&mut t, "uid", a.uid.as_str());
    put(&mut t, "name", a.name.as_str());
    if let Some(description) = &a.description {
        put(&mut t, "description", description.as_str());
    }
    put(&mut t, "instructions", a.instructions.as_str());
    put(&mut t, "model", a.model.as_str());
    t.insert("anonymous".into(), Value::Boolean(a.anonymous));
    if !a.contexts.is_empty() {
        t.insert("contexts".into(), texts(a.contexts.iter().cloned()));
    }
    if !a.mcp_servers.is_empty() {
        t.insert("mcp_servers".into(), texts(a.mcp_servers.iter().cloned()));
    }
    t.insert("uploads".into(), Value::Boolean(a.uploads));
    super::approvals::print(&a.approvals, &mut t);
    t.insert("ask_user".into(), Value::Boolean(a.ask_user));
    t.insert("plan_review".into(), Value::Boolean(a.plan_review));
    if !a.delegates.is_empty() {
        t.insert("delegates".into(), texts(a.delegates.iter().cloned()));
    }
    if let Some(icebreaker) = &a.icebreaker {
        put(&mut t, "icebreaker", icebreaker.as_str());
    }
    if !a.starters.is_empty() {
        t.insert("starters".into(), texts(a.starters.iter().cloned()));
    }
    t.insert("bounds".into(), Value::Table(super::bounds::print(&a.bounds)));
    t
}

/// An address without user, password and the values of its query.
pub(super) fn masked(address: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(address) else { return "(not an address)".into() };
    let plain = url.username().is_empty() && url.password().is_none();
    if plain && url.query().is_none() {
        return address.to_owned();
    }
    let secret = |text: &str| Secret::new(text).to_string();
    let names: Vec<(String, String)> =
        url.query_pairs().map(|(name, value)| (name.into_owned(), secret(&value))).collect();
    url.set_query(None);
    // Only addresses without a host refuse these.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let mut shown = url.to_string();
    if !plain {
        shown = shown.replacen("://", "://***@", 1);
    }
    for (i, (name, value)) in names.iter().enumerate() {
        shown.push_str(&format!("{}{name}={value}", if i == 0 { '?' } else { '&' }));
    }
    shown
}

pub(super) fn put(table: &mut Table, key: &str, text: impl Into<String>) {
    table.insert(key.into(), Value::String(text.into()));
}

pub(super) fn integer(n: u64) -> Value {
    Value::Integer(i64::try_from(n).unwrap_or(i64::MAX))
}

pub(super) fn texts(items: impl Iterator<Item = String>) -> Value {
    Value::Array(items.map(Value::String).collect())
}
