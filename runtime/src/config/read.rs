//! A TOML tree to a checked [`Config`], collecting every fault on the way.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Table;

use super::env::{Environment, overlay};
use super::reader::{Node, Reader};
use super::value::Origin;
use super::{Agent, App, Config, Context, McpServer, ModelConfig, Network, Provider, Server};

/// One thing that is wrong with the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file or the environment.
    pub source: String,
    /// Where in it, such as `apps[0].origins`.
    pub path: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}; {}", self.source, self.path, self.problem, self.remedy)
    }
}

/// Reads the file and the environment.
///
/// # Errors
/// Every fault there is.
pub fn load(path: &Path, env: &Environment) -> Result<Config, Vec<Fault>> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| {
        vec![Fault {
            source: file.clone(),
            path: "the file".into(),
            problem: format!("cannot be read ({})", e.kind()),
            remedy: "name another one with --config FILE, or copy runtime/mindset.example.toml there".into(),
        }]
    })?;
    load_text(&file, &text, env)
}

/// Reads the text of a file called `file`, and the environment.
///
/// # Errors
/// Every fault there is.
pub fn load_text(file: &str, text: &str, env: &Environment) -> Result<Config, Vec<Fault>> {
    let mut tree: Table = text.parse().map_err(|e: toml::de::Error| vec![syntax_fault(file, text, &e)])?;
    let mut faults = Vec::new();
    let sources = overlay(&mut tree, env, &mut faults);
    let mut reader = Reader { file, sources, env, faults };
    let config = reader.config(&tree);
    if reader.faults.is_empty() { Ok(config) } else { Err(reader.faults) }
}

fn syntax_fault(file: &str, text: &str, error: &toml::de::Error) -> Fault {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    Fault {
        source: file.to_owned(),
        path: format!("line {line} column {column}"),
        problem: format!("not TOML: {}", error.message().replace('\n', ", ")),
        remedy: "correct the line; text values stand in double quotes".into(),
    }
}

/// The keys of `[server]`.
const SERVER: &[&str] = &[
    "listen",
    "public_url",
    "database",
    "token_secret",
    "token_lifetime",
    "assets",
    "heartbeat",
    "log_keep",
    "run_keep",
    "reader_timeout",
    "approval_patience",
    "max_body",
    "requests_per_user",
    "requests_per_app",
    "anonymous_per_minute",
    "trusted_proxies",
    "request_timeout",
    "log",
    "log_format",
    "operations",
];

impl<'a> Reader<'a> {
    fn config(&mut self, tree: &'a Table) -> Config {
        let root = Node { table: tree, path: String::new() };
        self.known(&root, &["server", "uploads", "telemetry", "models", "apps"]);
        let (server, models) = (self.table(&root, "server"), self.table(&root, "models"));
        let server = self.server(&server);
        let uploads = self.table(&root, "uploads");
        let uploads = self.uploads(&uploads, &server.database);
        let telemetry = self.table(&root, "telemetry");
        let telemetry = self.telemetry(&telemetry);
        let models = self.models(&models);
        let nodes = self.tables(&root, "apps");
        let apps: Vec<App> = nodes.iter().map(|node| self.app(node, &models)).collect();
        if apps.is_empty() {
            self.fault("apps", "no app is defined", "add an [[apps]] table with a uid and an agent");
        }
        self.unique("apps", apps.iter().map(|a| a.uid.as_str()));
        let config = Config { server, uploads, telemetry, models, apps, dev: false };
        self.keep_secrets(&config);
        config
    }

    fn server(&mut self, node: &Node<'_>) -> Server {
        self.known(node, SERVER);
        let hour = Duration::from_secs(3600);
        let listen = self.text(node, "listen").unwrap_or_else(|| "127.0.0.1:8787".into());
        let listen = listen.parse().unwrap_or_else(|_| {
            self.fault(&node.path("listen"), "not an address with a port", "write it as \"127.0.0.1:8787\"");
            ([127, 0, 0, 1], 8787).into()
        });
        let server = Server {
            listen,
            public_url: self.public_url(node),
            database: self.text(node, "database").unwrap_or_else(|| "mindset.db".into()).into(),
            token_secret: self.secret(node, "token_secret"),
            token_lifetime: self.duration(node, "token_lifetime", hour),
            assets: self.text(node, "assets").map(PathBuf::from),
            heartbeat: self.duration(node, "heartbeat", Duration::from_secs(15)),
            log_keep: self.duration(node, "log_keep", hour),
            run_keep: node
                .table
                .contains_key("run_keep")
                .then(|| self.duration(node, "run_keep", hour * 24 * 365)),
            reader_timeout: self.duration(node, "reader_timeout", Duration::from_secs(60)),
            approval_patience: self.duration(node, "approval_patience", Duration::from_secs(120)),
            max_body: self.number(node, "max_body").unwrap_or(8 * 1024 * 1024),
            requests_per_user: self.number(node, "requests_per_user").unwrap_or(1200),
            requests_per_app: self.number(node, "requests_per_app").unwrap_or(60_000),
            anonymous_per_minute: self.number(node, "anonymous_per_minute").unwrap_or(120),
            trusted_proxies: self.networks(node, "trusted_proxies"),
            request_timeout: self.duration(node, "request_timeout", Duration::from_secs(30)),
            log: self.log_level(node),
            log_format: self.log_format(node),
            operations: self.operations(node),
        };
        if server.token_secret.as_ref().is_some_and(|s| s.expose().len() < 32) {
            let path = node.path("token_secret");
            self.fault(&path, "shorter than 32 characters", "take 32 random characters or leave it out");
        }
        if server.token_lifetime > hour || server.token_lifetime < Duration::from_secs(1) {
            self.fault(&node.path("token_lifetime"), "not between 1s and 1h", "write it as \"1h\"");
        }
        for (key, value, example) in [
            ("heartbeat", server.heartbeat, "15s"),
            ("request_timeout", server.request_timeout, "30s"),
            ("reader_timeout", server.reader_timeout, "60s"),
            ("approval_patience", server.approval_patience, "2m"),
        ] {
            if value.is_zero() {
                self.fault(&node.path(key), "no time at all", &format!("write it as \"{example}\""));
            }
        }
        server
    }

    fn networks(&mut self, node: &Node<'_>, key: &str) -> Vec<Network> {
        let mut networks = Vec::new();
        for text in self.list(node, key) {
            match Network::parse(&text) {
                Ok(network) => networks.push(network),
                Err(problem) => self.fault(&node.path(key), &problem, "the value is a list in quotes"),
            }
        }
        networks
    }

    fn models(&mut self, node: &Node<'a>) -> Vec<ModelConfig> {
        let names: Vec<&String> = node.table.keys().collect();
        let mut models = Vec::new();
        for name in names {
            if matches!(name.as_str(), "auto" | "demo") {
                let path = node.path(name);
                self.fault(&path, "this name is taken by a built-in model", "call it something else");
            }
            let inner = self.table(node, name);
            models.push(self.model(name, &inner));
        }
        models
    }

    fn model(&mut self, name: &str, node: &Node<'_>) -> ModelConfig {
        self.known(
            node,
            &["title", "provider", "model", "base_url", "api_key", "max_tokens", "idle_timeout", "delay"],
        );
        let word = self.text(node, "provider");
        let provider = Provider::ALL.iter().find(|(_, w)| Some(*w) == word.as_deref()).map(|(p, _)| *p);
        if provider.is_none() {
            let problem = word.map_or("missing".to_owned(), |w| format!("no provider is called `{w}`"));
            self.fault(&node.path("provider"), &problem, "write \"openai\", \"anthropic\" or \"demo\"");
        }
        let provider = provider.unwrap_or(Provider::Demo);
        let model = self.text(node, "model");
        if model.is_none() && provider != Provider::Demo {
            self.fault(&node.path("model"), "missing", "give the provider's name of the model");
        }
        let base_url = self.text(node, "base_url").unwrap_or_else(|| default_base_url(provider).into());
        let is_http = base_url.starts_with("http://") || base_url.starts_with("https://");
        if !is_http || reqwest::Url::parse(&base_url).is_err() {
            let path = node.path("base_url");
            self.fault(&path, "not an http or https address", "write it as \"https://api.openai.com/v1\"");
        }
        ModelConfig {
            name: name.to_owned(),
            title: self.text(node, "title"),
            provider,
            model: model.unwrap_or_else(|| "demo".into()),
            base_url: base_url.trim_end_matches('/').to_owned(),
            api_key: self.secret(node, "api_key"),
            max_tokens: self.number(node, "max_tokens"),
            idle_timeout: self.duration(node, "idle_timeout", Duration::from_secs(90)),
            delay: self.duration(node, "delay", Duration::from_millis(15)),
        }
    }

    fn app(&mut self, node: &Node<'a>, models: &[ModelConfig]) -> App {
        self.known(
            node,
            &[
                "uid",
                "api_keys",
                "origins",
                "allow_no_origin",
                "agent_access",
                "agent_concurrency",
                "delegation_depth",
                "default_agent",
                "models",
                "contexts",
                "mcp_servers",
                "services",
                "agents",
            ],
        );
        let uid = self.uid(node);
        let mut api_keys = Vec::new();
        for text in self.list(node, "api_keys") {
            if let Some(key) = self.resolve(&node.path("api_keys"), &text) {
                api_keys.push(key);
            }
        }
        let origins = self.origins(node);
        let (contexts, mut mcp_servers) = (self.contexts(node), self.mcp_servers(node));
        let (services, served) = self.services(node);
        mcp_servers.extend(served);
        self.unique(&node.path("mcp_servers"), mcp_servers.iter().map(|s| s.uid.as_str()));
        let nodes = self.tables(node, "agents");
        let agents: Vec<Agent> =
            nodes.iter().map(|agent| self.agent(agent, models, &contexts, &mcp_servers)).collect();
        if agents.is_empty() {
            self.fault(&node.path("agents"), "the app has no agent", "add an [[apps.agents]] table below it");
        }
        self.check_agents(node, &nodes, &agents);
        let allow_no_origin = self.boolean(node, "allow_no_origin").unwrap_or(false);
        let agent_access = self.agent_access(node);
        let delegation_depth = self.delegation_depth(node);
        let (default_agent, models) = (self.default_agent(node, &agents), self.offered_models(node, models));
        App {
            uid,
            api_keys,
            origins,
            allow_no_origin,
            agent_access,
            delegation_depth,
            default_agent,
            models,
            contexts,
            mcp_servers,
            services,
            agents,
        }
    }

    fn origins(&mut self, node: &Node<'a>) -> Vec<Origin> {
        let mut origins = Vec::new();
        for text in self.list(node, "origins") {
            match Origin::parse(&text) {
                Ok(origin) => origins.push(origin),
                Err(problem) => {
                    self.fault(&node.path("origins"), &problem, "the value is a list of origins in quotes");
                }
            }
        }
        origins
    }

    fn agent(
        &mut self,
        node: &Node<'a>,
        models: &[ModelConfig],
        contexts: &[Context],
        servers: &[McpServer],
    ) -> Agent {
        self.known(
            node,
            &[
                "uid",
                "name",
                "description",
                "instructions",
                "model",
                "anonymous",
                "contexts",
                "mcp_servers",
                "uploads",
                "approvals",
                "approve_writes",
                "ask_user",
                "plan_review",
                "delegates",
                "icebreaker",
                "starters",
                "bounds",
            ],
        );
        let uid = self.uid(node);
        let model = self.text(node, "model").unwrap_or_else(|| "auto".into());
        self.known_model(&node.path("model"), &model, models);
        let bounds = self.table(node, "bounds");
        let bounds = self.bounds(&bounds);
        Agent {
            name: self.text(node, "name").unwrap_or_else(|| uid.clone()),
            description: self.text(node, "description"),
            instructions: self.text(node, "instructions").unwrap_or_default(),
            anonymous: self.boolean(node, "anonymous").unwrap_or(false),
            contexts: self.agent_contexts(node, contexts),
            mcp_servers: self.agent_mcp_servers(node, servers),
            uploads: self.boolean(node, "uploads").unwrap_or(false),
            approvals: self.approvals(node),
            ask_user: self.boolean(node, "ask_user").unwrap_or(false),
            plan_review: self.boolean(node, "plan_review").unwrap_or(false),
            delegates: self.list(node, "delegates"),
            icebreaker: self.icebreaker(node),
            starters: self.starters(node),
            uid,
            model,
            bounds,
        }
    }

    pub(super) fn uid(&mut self, node: &Node<'_>) -> String {
        let remedy = "take 1 to 64 of A-Z a-z 0-9 _ -";
        let Some(uid) = self.text(node, "uid") else {
            self.fault(&node.path("uid"), "missing", remedy);
            return String::new();
        };
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if uid.is_empty() || uid.len() > 64 || !uid.bytes().all(fits) {
            self.fault(&node.path("uid"), &format!("`{uid}` cannot be part of an address"), remedy);
        }
        uid
    }
}

/// Where a provider's own API begins.
pub(crate) fn default_base_url(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi => "https://api.openai.com/v1",
        Provider::Anthropic => "https://api.anthropic.com",
        Provider::Demo => "http://localhost",
    }
}
