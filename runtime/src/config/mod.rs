//! The configuration: `mindset.toml`, every value also by environment.
//!
//! Reading finds all faults at once, each with its place, what is wrong and the
//! remedy. Values from the environment win over the file.

mod access;
mod approvals;
mod bounds;
mod contexts;
mod env;
mod greeting;
mod log;
mod mcp;
mod network;
mod offers;
mod operations;
mod print;
mod read;
mod reader;
mod servers_file;
mod services;
mod uploads;
mod value;

pub use access::AgentAccess;
pub use contexts::Context;
pub use env::Environment;
pub use log::LogLevel;
pub(crate) use mcp::is_private;
pub use mcp::{McpServer, Mount};
pub use network::Network;
pub use operations::{LogFormat, OperationsListener, Telemetry};
pub(crate) use read::default_base_url;
pub use read::{Fault, load, load_text};
pub use services::Service;
pub use uploads::{Place, S3, Uploads};
pub use value::{Origin, Secret};

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mindset_core::turn::{Approvals, Bounds};

/// The whole configuration, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// What the process is and where it keeps things.
    pub server: Server,
    /// The models that agents can name.
    pub models: Vec<ModelConfig>,
    /// Where the files of people go.
    pub uploads: Uploads,
    /// Where traces go, if anywhere.
    pub telemetry: Option<Telemetry>,
    /// The applications.
    pub apps: Vec<App>,
    /// Whether what models and tools were told is kept for a while to be looked at.
    /// From the command line only, and for loopback addresses only.
    pub dev: bool,
}

/// `[server]`.
#[derive(Debug, Clone)]
pub struct Server {
    /// Address and port to listen on.
    pub listen: SocketAddr,
    /// Where links to this server begin; absent: at the address it listens on.
    pub public_url: Option<String>,
    /// The SQLite file; made if missing.
    pub database: PathBuf,
    /// What tokens are signed with; absent: made once and kept in the database.
    pub token_secret: Option<Secret>,
    /// How long a token is good, at most an hour.
    pub token_lifetime: Duration,
    /// A folder whose files go before those built in.
    pub assets: Option<PathBuf>,
    /// Pause between two comment lines of an event stream.
    pub heartbeat: Duration,
    /// How long the events of a run can be read after its end.
    pub log_keep: Duration,
    /// How long it is known that a run was there; absent: for ever.
    pub run_keep: Option<Duration>,
    /// How long a client may take nothing of its answer before its connection is cut.
    pub reader_timeout: Duration,
    /// How long an approval waits for an answer after a client was heard of last.
    pub approval_patience: Duration,
    /// The largest request body, in bytes.
    pub max_body: u64,
    /// Requests per minute and user.
    pub requests_per_user: u64,
    /// Requests per minute and app, those of its users and of its backend.
    pub requests_per_app: u64,
    /// New anonymous sessions per minute and address.
    pub anonymous_per_minute: u64,
    /// Peers whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<Network>,
    /// How long a request may take to arrive: its head, and its body.
    pub request_timeout: Duration,
    /// What is logged of our own code; of others' only warnings and errors are.
    pub log: LogLevel,
    /// How a line of the log looks.
    pub log_format: LogFormat,
    /// Where operators ask.
    pub operations: OperationsListener,
}

/// `[models.NAME]`.
#[derive(Debug, Clone)]
pub struct ModelConfig {
    /// What agents and clients call it.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Whose protocol it speaks.
    pub provider: Provider,
    /// The provider's name for it.
    pub model: String,
    /// Where the provider's API begins, without a slash at the end.
    pub base_url: String,
    /// The provider's key.
    pub api_key: Option<Secret>,
    /// The longest answer, in tokens; absent: the provider's own limit.
    pub max_tokens: Option<u64>,
    /// The longest silence of the provider.
    pub idle_timeout: Duration,
    /// Pause between two words, `demo` only.
    pub delay: Duration,
}

/// Whose protocol a model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Chat Completions, at any base URL.
    OpenAi,
    /// Messages.
    Anthropic,
    /// The built-in, rule-based demo model.
    Demo,
}

impl Provider {
    /// Every provider with its word.
    pub const ALL: &[(Provider, &str)] =
        &[(Provider::OpenAi, "openai"), (Provider::Anthropic, "anthropic"), (Provider::Demo, "demo")];

    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        Provider::ALL.iter().find(|(p, _)| *p == self).map_or("demo", |(_, word)| word)
    }
}

/// `[[apps]]`.
#[derive(Debug, Clone)]
pub struct App {
    /// Its name in addresses and tokens.
    pub uid: String,
    /// What the customer's backend proves itself with.
    pub api_keys: Vec<Secret>,
    /// Pages that may use the app.
    pub origins: Vec<Origin>,
    /// Whether callers without an `Origin` header may be anonymous.
    pub allow_no_origin: bool,
    /// What it may do with the agent for its users.
    pub agent_access: AgentAccess,
    /// How often work is handed on.
    pub delegation_depth: usize,
    /// The agent of those who name none; absent: the first one.
    pub default_agent: Option<String>,
    /// Models that runs may choose besides those of its agents.
    pub models: Vec<String>,
    /// What agents can search.
    pub contexts: Vec<Context>,
    /// MCP servers that its agents may name, also those of its services.
    pub mcp_servers: Vec<McpServer>,
    /// Its own processes that serve some of them.
    pub services: Vec<Service>,
    /// Its agents.
    pub agents: Vec<Agent>,
}

impl App {
    /// Whether a page from `origin` may use the app.
    pub fn allows(&self, origin: &str) -> bool {
        self.origins.iter().any(|o| o.matches(origin))
    }

    /// The agent with this uid.
    pub fn agent(&self, uid: &str) -> Option<&Agent> {
        self.agents.iter().find(|a| a.uid == uid)
    }

    /// The MCP server with this uid.
    pub fn mcp_server(&self, uid: &str) -> Option<&McpServer> {
        self.mcp_servers.iter().find(|s| s.uid == uid)
    }
}

/// `[[apps.agents]]`.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its name in addresses.
    pub uid: String,
    /// Its name for people.
    pub name: String,
    /// What it is for, for people.
    pub description: Option<String>,
    /// The system prompt.
    pub instructions: String,
    /// One of `models`, `demo`, or `auto`.
    pub model: String,
    /// Whether users without a token of their own may talk to it.
    pub anonymous: bool,
    /// The contexts it may search.
    pub contexts: Vec<String>,
    /// The uids of the MCP servers whose tools it has.
    pub mcp_servers: Vec<String>,
    /// Whether people may attach files.
    pub uploads: bool,
    /// Which calls of its tools a person has to allow.
    pub approvals: Approvals,
    /// Whether it may ask people questions, by the tool `ask_user`.
    pub ask_user: bool,
    /// Whether it may show them its plan for their word, by the tool `review_plan`.
    pub plan_review: bool,
    /// The agents that it may hand work to.
    pub delegates: Vec<String>,
    /// The hidden message with which it begins every conversation in the chat.
    pub icebreaker: Option<String>,
    /// Messages that a chat offers while nothing was said in it.
    pub starters: Vec<String>,
    /// Limits of a turn.
    pub bounds: Bounds,
}

impl Config {
    /// The app with this uid.
    pub fn app(&self, uid: &str) -> Option<&App> {
        self.apps.iter().find(|a| a.uid == uid)
    }

    /// The merged configuration as TOML, with every secret given as its length.
    pub fn to_toml(&self) -> String {
        print::to_toml(self)
    }
}
