//! `[[apps.services]]`: processes of an application that serve MCP endpoints. The runtime starts
//! them, and they listen where it says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::{Table, Value};

use super::mcp::Mount;
use super::print::{integer, put, texts};
use super::reader::{Node, Reader};
use super::servers_file::Declared;
use super::value::print_duration;
use super::{Config, McpServer, Place, S3, Secret};

/// What every service gets of the runtime's environment: what programs need to run at all.
const USUAL: &[&str] = &["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP", "SystemRoot"];

/// What the runtime itself reads from there.
const OWN: &[&str] = &["MINDSET_", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"];

/// `[[apps.services]]`.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its name in errors and in the log.
    pub uid: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it is started.
    pub directory: PathBuf,
    /// The names of further variables that it gets.
    pub env: Vec<String>,
    /// All that its environment has but the port.
    pub variables: Vec<(String, Secret)>,
    /// The file that declares its MCP servers.
    pub servers: PathBuf,
    /// Which of them is at which path.
    pub mcp_endpoints: Vec<(String, String)>,
    /// Whether a turn fails when it cannot be used; else the turn goes on without it.
    pub required: bool,
    /// Where it listens; absent: on a port that is free.
    pub port: Option<u16>,
    /// Whether it is started with the runtime; else when a turn needs it.
    pub autostart: bool,
    /// How long its start may take.
    pub start_timeout: Duration,
    /// How long it may take to end when it is asked to.
    pub stop_timeout: Duration,
    /// The pause before it is started again after a crash; it doubles.
    pub backoff: Duration,
    /// The longest pause. A process that ran for as long counts as healthy.
    pub backoff_max: Duration,
}

const KEYS: &[&str] = &[
    "uid",
    "command",
    "directory",
    "env",
    "servers",
    "mcp_endpoints",
    "required",
    "port",
    "autostart",
    "start_timeout",
    "stop_timeout",
    "backoff",
    "backoff_max",
];

/// The keys of an endpoint that say how the server is dealt with, as in `[[apps.mcp_servers]]`.
const ENDPOINT: &[&str] = &["server", "path", "idle", "trust_annotations", "read_only", "tools", "exclude"];

impl<'a> Reader<'a> {
    /// The services of an app and the MCP servers that they have.
    pub(super) fn services(&mut self, app: &Node<'a>) -> (Vec<Service>, Vec<McpServer>) {
        let (mut services, mut servers) = (Vec::new(), Vec::new());
        for node in self.tables(app, "services") {
            let service = self.service(&node);
            servers.extend(self.endpoints(&node, &service));
            services.push(service);
        }
        self.unique(&app.path("services"), services.iter().map(|s| s.uid.as_str()));
        (services, servers)
    }

    fn service(&mut self, node: &Node<'a>) -> Service {
        self.known(node, KEYS);
        let directory = PathBuf::from(self.text(node, "directory").unwrap_or_else(|| ".".into()));
        if !directory.is_dir() {
            let remedy = "name a folder, from the one the server is started in";
            self.fault(&node.path("directory"), &format!("no folder {}", directory.display()), remedy);
        }
        let env = self.list(node, "env");
        let second = Duration::from_secs(1);
        let endpoints = self.tables(node, "mcp_endpoints");
        let service = Service {
            uid: self.uid(node),
            command: self.command(node),
            variables: self.variables(node, &env),
            env,
            servers: directory.join(self.text(node, "servers").unwrap_or_else(|| "servers.mcp.json".into())),
            directory,
            mcp_endpoints: endpoints.iter().map(|endpoint| self.endpoint(endpoint)).collect(),
            required: self.boolean(node, "required").unwrap_or(true),
            port: self.port(node),
            autostart: self.boolean(node, "autostart").unwrap_or(false),
            start_timeout: self.duration(node, "start_timeout", second * 30),
            stop_timeout: self.duration(node, "stop_timeout", second * 3),
            backoff: self.duration(node, "backoff", second),
            backoff_max: self.duration(node, "backoff_max", second * 30),
        };
        for (key, value) in [
            ("start_timeout", service.start_timeout),
            ("backoff", service.backoff),
            ("backoff_max", service.backoff_max),
        ] {
            if value.is_zero() {
                self.fault(&node.path(key), "no time at all", "write it as \"30s\"");
            }
        }
        service
    }

    fn command(&mut self, node: &Node<'_>) -> Vec<String> {
        let command = self.list(node, "command");
        if command.first().is_none_or(|program| program.trim().is_empty()) {
            let remedy = "write it as command = [\"node\", \"server.mjs\"]";
            self.fault(&node.path("command"), "no program is named", remedy);
        }
        command
    }

    fn port(&mut self, node: &Node<'_>) -> Option<u16> {
        let number = self.number(node, "port")?;
        let port = u16::try_from(number).ok().filter(|port| *port > 0);
        if port.is_none() {
            self.fault(&node.path("port"), "not a port", "take 1 to 65535, or leave it out for a free one");
        }
        port
    }

    /// The environment of a service. What the runtime keeps secret stays here.
    fn variables(&mut self, node: &Node<'_>, env: &[String]) -> Vec<(String, Secret)> {
        let path = node.path("env");
        for name in env {
            if OWN.iter().any(|own| name.to_ascii_uppercase().starts_with(own)) {
                let remedy = "leave it out, and give the service a variable of its own";
                self.fault(&path, &format!("`{name}` belongs to the runtime"), remedy);
            }
            if matches!(name.as_str(), "PORT") || name.is_empty() || name.contains(['=', '\0']) {
                self.fault(&path, &format!("`{name}` cannot be passed on"), "leave it out");
            }
        }
        let names = USUAL.iter().copied().chain(env.iter().map(String::as_str));
        let found = names.filter_map(|name| Some((name.to_owned(), Secret::new(self.env.get(name)?))));
        found.collect()
    }

    fn endpoint(&mut self, node: &Node<'_>) -> (String, String) {
        self.known(node, ENDPOINT);
        let (server, path) = (self.text(node, "server"), self.text(node, "path"));
        for (key, missing) in [("server", server.is_none()), ("path", path.is_none())] {
            if missing && !node.table.contains_key(key) {
                let remedy = "write it as { server = \"board\", path = \"/mcp/board\" }";
                self.fault(&node.path(key), "missing", remedy);
            }
        }
        let path = path.unwrap_or_default();
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
        if node.table.contains_key("path")
            && !(path.starts_with('/') && path.bytes().all(plain) && !path.contains(".."))
        {
            let remedy = "write it as \"/mcp/board\", with letters, digits and - . _ ~";
            self.fault(&node.path("path"), "not the path of an address", remedy);
        }
        (server.unwrap_or_default(), path)
    }

    /// The servers of the file, each at its endpoint.
    fn endpoints(&mut self, node: &Node<'a>, service: &Service) -> Vec<McpServer> {
        let nodes = self.tables(node, "mcp_endpoints");
        let path = node.path("mcp_endpoints");
        if nodes.is_empty() {
            let remedy = "write it as mcp_endpoints = [{ server = \"board\", path = \"/mcp/board\" }]";
            self.fault(&path, "no endpoint is declared", remedy);
            return Vec::new();
        }
        let names = service.mcp_endpoints.iter().map(|(server, _)| server.as_str());
        self.unique(&path, names.clone());
        let Some(declared) = self.servers_file(&service.servers, &node.path("servers")) else {
            return Vec::new();
        };
        for unused in declared.iter().filter(|d| !names.clone().any(|name| name == d.name)) {
            let remedy = format!(
                "add {{ server = \"{}\", path = \"...\" }} to {path}, or take the server out and declare it as [[apps.mcp_servers]]",
                unused.name
            );
            let problem = "no endpoint of the service serves it";
            self.file_fault(&service.servers, &format!("mcpServers.{}", unused.name), problem, &remedy);
        }
        let mut servers = Vec::new();
        for (endpoint, (name, at)) in nodes.iter().zip(&service.mcp_endpoints) {
            let Some(found) = declared.iter().find(|declared| declared.name == *name) else {
                if !name.is_empty() {
                    let problem = format!("{} has no server `{name}`", service.servers.display());
                    let remedy = format!(
                        "declare it there under \"mcpServers\", or correct the name; it has {}",
                        listed(&declared)
                    );
                    self.fault(&endpoint.path("server"), &problem, &remedy);
                }
                continue;
            };
            let mut server = self.dealt_with(endpoint, name.clone());
            server.url = format!("http://127.0.0.1:9{at}");
            server.description.clone_from(&found.description);
            server.headers.clone_from(&found.headers);
            server.timeout = found.timeout.unwrap_or(server.timeout);
            server.connect_timeout = service.start_timeout;
            server.required = service.required;
            server.allow_private = true;
            server.mount = Some(Mount { service: service.uid.clone(), path: at.clone() });
            servers.push(server);
        }
        servers
    }

    /// The variables that services get are none of the secrets of the configuration.
    pub(super) fn keep_secrets(&mut self, config: &Config) {
        let mut secrets: Vec<&Secret> = config.server.token_secret.iter().collect();
        secrets.extend(config.models.iter().filter_map(|model| model.api_key.as_ref()));
        secrets.extend(config.telemetry.iter().filter_map(|telemetry| telemetry.authorization.as_ref()));
        if let Place::S3(S3 { keys: Some((id, key)), .. }) = &config.uploads.place {
            secrets.extend([id, key]);
        }
        for app in &config.apps {
            secrets.extend(&app.api_keys);
            secrets.extend(app.mcp_servers.iter().filter_map(|server| server.authorization.as_ref()));
        }
        for (i, app) in config.apps.iter().enumerate() {
            for (j, service) in app.services.iter().enumerate() {
                let named = service.variables.iter().filter(|(name, _)| service.env.contains(name));
                for (name, _) in named.filter(|(_, value)| secrets.contains(&value)) {
                    let path = format!("apps[{i}].services[{j}].env");
                    let remedy = "leave it out; services never get the runtime's keys";
                    self.fault(&path, &format!("`{name}` holds a secret of the runtime"), remedy);
                }
            }
        }
    }
}

fn listed(declared: &[Declared]) -> String {
    let names: Vec<&str> = declared.iter().map(|declared| declared.name.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

pub(super) fn to_table(s: &Service, servers: &[McpServer]) -> Table {
    let mut t = Table::new();
    put(&mut t, "uid", s.uid.as_str());
    t.insert("command".into(), texts(s.command.iter().cloned()));
    put(&mut t, "directory", s.directory.display().to_string());
    t.insert("env".into(), texts(s.env.iter().cloned()));
    let file: &Path = s.servers.strip_prefix(&s.directory).unwrap_or(&s.servers);
    put(&mut t, "servers", file.display().to_string());
    let endpoints = servers.iter().filter(|server| server.mount.as_ref().is_some_and(|m| m.service == s.uid));
    t.insert(
        "mcp_endpoints".into(),
        Value::Array(endpoints.map(|server| Value::Table(endpoint(server))).collect()),
    );
    t.insert("required".into(), Value::Boolean(s.required));
    if let Some(port) = s.port {
        t.insert("port".into(), integer(u64::from(port)));
    }
    t.insert("autostart".into(), Value::Boolean(s.autostart));
    for (key, time) in [
        ("start_timeout", s.start_timeout),
        ("stop_timeout", s.stop_timeout),
        ("backoff", s.backoff),
        ("backoff_max", s.backoff_max),
    ] {
        put(&mut t, key, print_duration(time));
    }
    t
}

fn endpoint(server: &McpServer) -> Table {
    let mut t = super::mcp::dealt_with(server);
    put(&mut t, "server", server.uid.as_str());
    put(&mut t, "path", server.mount.as_ref().map_or("", |mount| mount.path.as_str()));
    t
}
