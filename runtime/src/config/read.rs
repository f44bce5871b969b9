//! A TOML tree to a checked [`Config`], collecting every fault on the way.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mindset_core::turn::Bounds;
use toml::{Table, Value};

use super::env::{Environment, Sources, overlay};
use super::value::{Origin, Secret, parse_duration, print_duration};
use super::{Agent, App, Config, ModelConfig, Provider, Server};

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

struct Reader<'a> {
    file: &'a str,
    sources: Sources,
    env: &'a Environment,
    faults: Vec<Fault>,
}

/// A table and where it stands.
struct Node<'a> {
    table: &'a Table,
    path: String,
}

impl Node<'_> {
    fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

impl<'a> Reader<'a> {
    fn config(&mut self, tree: &'a Table) -> Config {
        let root = Node { table: tree, path: String::new() };
        self.known(&root, &["server", "models", "apps"]);
        let (server, models) = (self.table(&root, "server"), self.table(&root, "models"));
        let server = self.server(&server);
        let models = self.models(&models);
        let nodes = self.tables(&root, "apps");
        let apps: Vec<App> = nodes.iter().map(|node| self.app(node, &models)).collect();
        if apps.is_empty() {
            self.fault("apps", "no app is defined", "add an [[apps]] table with a uid and an agent");
        }
        self.unique("apps", apps.iter().map(|a| a.uid.as_str()));
        Config { server, models, apps }
    }

    fn server(&mut self, node: &Node<'_>) -> Server {
        self.known(
            node,
            &[
                "listen",
                "database",
                "token_secret",
                "token_lifetime",
                "assets",
                "heartbeat",
                "log_keep",
                "max_body",
                "anonymous_per_minute",
            ],
        );
        let hour = Duration::from_secs(3600);
        let listen = self.text(node, "listen").unwrap_or_else(|| "127.0.0.1:8787".into());
        let listen = listen.parse().unwrap_or_else(|_| {
            self.fault(&node.path("listen"), "not an address with a port", "write it as \"127.0.0.1:8787\"");
            ([127, 0, 0, 1], 8787).into()
        });
        let server = Server {
            listen,
            database: self.text(node, "database").unwrap_or_else(|| "mindset.db".into()).into(),
            token_secret: self.secret(node, "token_secret"),
            token_lifetime: self.duration(node, "token_lifetime", hour),
            assets: self.text(node, "assets").map(PathBuf::from),
            heartbeat: self.duration(node, "heartbeat", Duration::from_secs(15)),
            log_keep: self.duration(node, "log_keep", Duration::from_secs(60)),
            max_body: self.number(node, "max_body").unwrap_or(8 * 1024 * 1024),
            anonymous_per_minute: self.number(node, "anonymous_per_minute").unwrap_or(120),
        };
        if server.token_secret.as_ref().is_some_and(|s| s.expose().len() < 32) {
            let path = node.path("token_secret");
            self.fault(&path, "shorter than 32 characters", "take 32 random characters or leave it out");
        }
        if server.token_lifetime > hour || server.token_lifetime < Duration::from_secs(1) {
            self.fault(&node.path("token_lifetime"), "not between 1s and 1h", "write it as \"1h\"");
        }
        if server.heartbeat.is_zero() {
            self.fault(&node.path("heartbeat"), "no pause at all", "write it as \"15s\"");
        }
        server
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
            &["provider", "model", "base_url", "api_key", "max_tokens", "idle_timeout", "delay"],
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
        if !base_url.starts_with("http://") && !base_url.starts_with("https://") {
            let path = node.path("base_url");
            self.fault(&path, "not an http or https address", "write it as \"https://api.openai.com/v1\"");
        }
        ModelConfig {
            name: name.to_owned(),
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
        self.known(node, &["uid", "api_keys", "origins", "allow_no_origin", "agents"]);
        let uid = self.uid(node);
        let mut api_keys = Vec::new();
        for text in self.list(node, "api_keys") {
            if let Some(key) = self.resolve(&node.path("api_keys"), &text) {
                api_keys.push(key);
            }
        }
        let mut origins = Vec::new();
        for text in self.list(node, "origins") {
            match Origin::parse(&text) {
                Ok(origin) => origins.push(origin),
                Err(problem) => {
                    self.fault(&node.path("origins"), &problem, "the value is a list of origins in quotes");
                }
            }
        }
        let nodes = self.tables(node, "agents");
        let agents: Vec<Agent> = nodes.iter().map(|agent| self.agent(agent, models)).collect();
        if agents.is_empty() {
            self.fault(&node.path("agents"), "the app has no agent", "add an [[apps.agents]] table below it");
        }
        self.unique(&node.path("agents"), agents.iter().map(|a| a.uid.as_str()));
        let allow_no_origin = self.boolean(node, "allow_no_origin").unwrap_or(false);
        App { uid, api_keys, origins, allow_no_origin, agents }
    }

    fn agent(&mut self, node: &Node<'a>, models: &[ModelConfig]) -> Agent {
        self.known(node, &["uid", "name", "instructions", "model", "anonymous", "bounds"]);
        let uid = self.uid(node);
        let model = self.text(node, "model").unwrap_or_else(|| "auto".into());
        if !matches!(model.as_str(), "auto" | "demo") && !models.iter().any(|m| m.name == model) {
            let remedy = format!("add a [models.{model}] table, or use \"auto\" or \"demo\"");
            self.fault(&node.path("model"), &format!("no model is called `{model}`"), &remedy);
        }
        let bounds = self.table(node, "bounds");
        let bounds = self.bounds(&bounds);
        Agent {
            name: self.text(node, "name").unwrap_or_else(|| uid.clone()),
            instructions: self.text(node, "instructions").unwrap_or_default(),
            anonymous: self.boolean(node, "anonymous").unwrap_or(false),
            uid,
            model,
            bounds,
        }
    }

    fn bounds(&mut self, node: &Node<'_>) -> Bounds {
        self.known(node, &["steps", "deadline", "repetition"]);
        let default = Bounds::default();
        let deadline = self.duration(node, "deadline", Duration::from_millis(default.deadline));
        let bounds = Bounds {
            steps: self.number(node, "steps").unwrap_or(default.steps),
            deadline: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX),
            repetition: self.number(node, "repetition").unwrap_or(default.repetition),
        };
        for (key, value) in
            [("steps", bounds.steps), ("deadline", bounds.deadline), ("repetition", bounds.repetition)]
        {
            if value == 0 {
                self.fault(&node.path(key), "a limit of nothing lets no turn run", "take at least 1");
            }
        }
        bounds
    }

    fn uid(&mut self, node: &Node<'_>) -> String {
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

/// Single values.
impl<'a> Reader<'a> {
    fn fault(&mut self, path: &str, problem: &str, remedy: &str) {
        let (source, path) = match self.sources.get(path) {
            Some(variable) => ("environment", variable.as_str()),
            None => (self.file, path),
        };
        let (source, path) = (source.to_owned(), path.to_owned());
        self.faults.push(Fault { source, path, problem: problem.into(), remedy: remedy.into() });
    }

    fn expected(&mut self, path: &str, what: &str, example: &str, found: &Value) {
        let found = found.type_str();
        self.fault(path, &format!("expected {what}, found {found}"), &format!("write it as {example}"));
    }

    /// Reports keys that nobody reads, with the nearest that somebody does.
    fn known(&mut self, node: &Node<'_>, keys: &[&str]) {
        for key in node.table.keys().filter(|k| !keys.contains(&k.as_str())) {
            let near = keys.iter().min_by_key(|known| distance(key, known)).copied().unwrap_or("");
            let remedy = if distance(key, near) <= 1 + near.len() / 3 {
                format!("did you mean `{near}`?")
            } else {
                format!("known are {}", keys.join(", "))
            };
            self.fault(&node.path(key), "unknown key", &remedy);
        }
    }

    fn unique<'u>(&mut self, path: &str, uids: impl Iterator<Item = &'u str>) {
        let mut seen = Vec::new();
        for uid in uids {
            if seen.contains(&uid) {
                self.fault(path, &format!("two entries have the uid `{uid}`"), "give each its own uid");
            }
            seen.push(uid);
        }
    }

    fn table(&mut self, node: &Node<'a>, key: &str) -> Node<'a> {
        static EMPTY: std::sync::LazyLock<Table> = std::sync::LazyLock::new(Table::new);
        let path = node.path(key);
        let table = match node.table.get(key) {
            Some(Value::Table(table)) => table,
            Some(other) => {
                self.expected(&path, "a table", &format!("[{path}]"), other);
                &EMPTY
            }
            None => &EMPTY,
        };
        Node { table, path }
    }

    fn tables(&mut self, node: &Node<'a>, key: &str) -> Vec<Node<'a>> {
        let path = node.path(key);
        let items = match node.table.get(key) {
            Some(Value::Array(items)) => items.as_slice(),
            Some(other) => {
                self.expected(&path, "a list of tables", &format!("[[{key}]]"), other);
                &[]
            }
            None => &[],
        };
        let mut nodes = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let path = format!("{path}[{i}]");
            match item {
                Value::Table(table) => nodes.push(Node { table, path }),
                other => self.expected(&path, "a table", &format!("[[{key}]]"), other),
            }
        }
        nodes
    }

    fn text(&mut self, node: &Node<'_>, key: &str) -> Option<String> {
        match node.table.get(key)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.expected(&node.path(key), "text", &format!("{key} = \"...\""), other);
                None
            }
        }
    }

    /// A value that may be text because it comes from the environment.
    fn environment_text<'v>(&self, path: &str, value: &'v Value) -> Option<&'v str> {
        self.sources.contains_key(path).then(|| value.as_str())?
    }

    fn boolean(&mut self, node: &Node<'_>, key: &str) -> Option<bool> {
        let path = node.path(key);
        let value = node.table.get(key)?;
        match (value, self.environment_text(&path, value)) {
            (Value::Boolean(b), _) => Some(*b),
            (_, Some("true" | "1")) => Some(true),
            (_, Some("false" | "0")) => Some(false),
            (other, _) => {
                self.expected(&path, "true or false", &format!("{key} = true"), other);
                None
            }
        }
    }

    fn number(&mut self, node: &Node<'_>, key: &str) -> Option<u64> {
        let path = node.path(key);
        let value = node.table.get(key)?;
        let number = match (value, self.environment_text(&path, value)) {
            (Value::Integer(n), _) => u64::try_from(*n).ok(),
            (_, Some(text)) => text.trim().parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.expected(&path, "a whole number of at least 0", &format!("{key} = 100"), value);
        }
        number
    }

    fn duration(&mut self, node: &Node<'_>, key: &str, default: Duration) -> Duration {
        let Some(value) = node.table.get(key) else { return default };
        let parsed = value.as_str().and_then(parse_duration);
        if parsed.is_none() {
            let example = format!("{key} = \"{}\" (units are ms, s, m and h)", print_duration(default));
            self.expected(&node.path(key), "a duration", &example, value);
        }
        parsed.unwrap_or(default)
    }

    fn list(&mut self, node: &Node<'_>, key: &str) -> Vec<String> {
        let path = node.path(key);
        let Some(value) = node.table.get(key) else { return Vec::new() };
        if let Some(text) = self.environment_text(&path, value) {
            return text.split(',').map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect();
        }
        let texts = value.as_array().and_then(|items| {
            items.iter().map(|i| i.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        });
        if texts.is_none() {
            self.expected(&path, "a list of texts", &format!("{key} = [\"...\"]"), value);
        }
        texts.unwrap_or_default()
    }

    fn secret(&mut self, node: &Node<'_>, key: &str) -> Option<Secret> {
        let text = self.text(node, key)?;
        self.resolve(&node.path(key), &text)
    }

    /// A literal, or `env:NAME`.
    fn resolve(&mut self, path: &str, text: &str) -> Option<Secret> {
        let value = match text.strip_prefix("env:") {
            Some(name) => self.env.get(name).map_or("", String::as_str),
            None => text,
        };
        if !value.is_empty() {
            return Some(Secret::new(value));
        }
        match text.strip_prefix("env:") {
            Some(name) => {
                self.fault(
                    path,
                    &format!("the environment has no {name}"),
                    "set it, or write the value itself",
                );
            }
            None => self.fault(path, "empty", "write the value, or \"env:NAME\", or leave the key out"),
        }
        None
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

/// How many characters must be added, removed or changed to get from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, cb) in row.iter_mut().skip(1).zip(b.chars()) {
            let here = (diagonal + usize::from(ca != cb)).min(left + 1).min(*cell + 1);
            diagonal = *cell;
            *cell = here;
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in
            [("", "", 0), ("listen", "listen", 0), ("lisen", "listen", 1), ("abc", "xyz", 3), ("a", "", 1)]
        {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
    }
}
