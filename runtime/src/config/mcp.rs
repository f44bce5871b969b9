//! `[[apps.mcp_servers]]`: MCP servers whose tools an app's agents may use.
//!
//! Servers come only from here: neither a page, a model nor another server can
//! name one.

use std::net::IpAddr;
use std::time::Duration;

use mindset_core::turn::fits;
use reqwest::Url;
use toml::{Table, Value};

use super::Secret;
use super::print::{masked, put, texts};
use super::reader::{Node, Reader};
use super::value::print_duration;

/// `[[apps.mcp_servers]]`.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// Its name in agents, sessions and pass-through keys.
    pub uid: String,
    /// Its Streamable HTTP address.
    pub url: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for, in a sentence for people.
    pub description: Option<String>,
    /// The whole `Authorization` header.
    pub authorization: Option<Secret>,
    /// Whether a turn fails when it cannot be reached; else the turn goes on without it.
    pub required: bool,
    /// How long a call may take.
    pub timeout: Duration,
    /// How long connecting and agreeing on a revision may take.
    pub connect_timeout: Duration,
    /// How long an unused connection stays open.
    pub idle: Duration,
    /// Whether its own word that a tool only reads is believed.
    pub trust_annotations: bool,
    /// Tools known to change nothing, as name patterns.
    pub read_only: Vec<String>,
    /// The tools to offer, as name patterns; empty: all.
    pub tools: Vec<String>,
    /// Tools to leave out, as name patterns.
    pub exclude: Vec<String>,
    /// Whether it may be on this computer or in a private network.
    pub allow_private: bool,
    /// Whether redirects within its own origin are followed.
    pub redirects: bool,
    /// Further headers of every request.
    pub headers: Vec<(String, Secret)>,
    /// The service that serves it, and then the address is a placeholder.
    pub mount: Option<Mount>,
}

/// Where a service serves an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The service's uid.
    pub service: String,
    /// The path of the endpoint.
    pub path: String,
}

impl McpServer {
    /// Whether its tool `name` may be used.
    pub fn offers(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, name));
        (self.tools.is_empty() || any(&self.tools)) && !any(&self.exclude)
    }

    /// Whether its tool `name` is configured as one that changes nothing.
    pub fn only_reads(&self, name: &str) -> bool {
        self.read_only.iter().any(|pattern| fits(pattern, name))
    }
}

/// Whether an address is one of this computer, a private network, or of nobody.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || v4.is_documentation()
                || a == 0
                || a >= 240
                || (a == 100 && (64..128).contains(&b))
                || (a == 198 && (18..20).contains(&b))
                || (a == 192 && b == 0 && c == 0)
        }
        IpAddr::V6(v6) => {
            let segments = v6.segments();
            let [first, second, ..] = segments;
            let [.., high, low] = segments;
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            // Addresses that stand for an IPv4 one reach what that one reaches.
            let embeds = (first == 0x64 && second == 0xff9b) || segments.iter().take(6).all(|s| *s == 0);
            let sixth = first == 0x2002;
            let [e, f] = second.to_be_bytes();
            let [_, _, third, ..] = segments;
            let [g, h] = third.to_be_bytes();
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || (first & 0xffc0) == 0xfec0
                || (embeds && is_private(IpAddr::from([a, b, c, d])))
                || (sixth && is_private(IpAddr::from([e, f, g, h])))
        }
    }
}

/// The address if the host of `url` is one, or this computer by name.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let name = host.trim_end_matches('.');
    if name == "localhost" || name.ends_with(".localhost") {
        return Some(IpAddr::from([127, 0, 0, 1]));
    }
    host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host).parse().ok()
}

/// How long a call may take unless the configuration says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);

const KEYS: &[&str] = &[
    "uid",
    "url",
    "title",
    "authorization",
    "required",
    "timeout",
    "connect_timeout",
    "idle",
    "trust_annotations",
    "read_only",
    "tools",
    "exclude",
    "allow_private",
    "redirects",
];

impl<'a> Reader<'a> {
    /// The servers of an app.
    pub(super) fn mcp_servers(&mut self, app: &Node<'a>) -> Vec<McpServer> {
        let nodes = self.tables(app, "mcp_servers");
        nodes.iter().map(|node| self.mcp_server(node)).collect()
    }

    /// The uids of the servers an agent may use.
    pub(super) fn agent_mcp_servers(&mut self, agent: &Node<'_>, known: &[McpServer]) -> Vec<String> {
        let uids = self.list(agent, "mcp_servers");
        let path = agent.path("mcp_servers");
        for uid in uids.iter().filter(|uid| !known.iter().any(|s| s.uid == **uid)) {
            let remedy = format!("add an [[apps.mcp_servers]] table with uid = \"{uid}\" to the app");
            self.fault(&path, &format!("the app has no MCP server `{uid}`"), &remedy);
        }
        self.unique(&path, uids.iter().map(String::as_str));
        uids
    }

    fn mcp_server(&mut self, node: &Node<'a>) -> McpServer {
        self.known(node, KEYS);
        let allow_private = self.boolean(node, "allow_private").unwrap_or(false);
        let uid = self.uid(node);
        let server = McpServer {
            url: self.mcp_url(node, allow_private),
            title: self.text(node, "title"),
            authorization: self.authorization(node),
            required: self.boolean(node, "required").unwrap_or(false),
            timeout: self.duration(node, "timeout", TIMEOUT),
            connect_timeout: self.duration(node, "connect_timeout", Duration::from_secs(20)),
            allow_private,
            redirects: self.boolean(node, "redirects").unwrap_or(false),
            ..self.dealt_with(node, uid)
        };
        for (key, value, example) in
            [("timeout", server.timeout, "60s"), ("connect_timeout", server.connect_timeout, "20s")]
        {
            if value.is_zero() {
                self.fault(&node.path(key), "no time at all", &format!("write it as \"{example}\""));
            }
        }
        server
    }

    /// The server `uid` with what is said of its connections and tools; the rest is usual.
    pub(super) fn dealt_with(&mut self, node: &Node<'_>, uid: String) -> McpServer {
        let idle = self.duration(node, "idle", Duration::from_secs(600));
        if idle.is_zero() {
            self.fault(&node.path("idle"), "no time at all", "write it as \"10m\"");
        }
        McpServer {
            uid,
            url: String::new(),
            title: None,
            description: None,
            authorization: None,
            required: false,
            timeout: TIMEOUT,
            connect_timeout: TIMEOUT,
            idle,
            trust_annotations: self.boolean(node, "trust_annotations").unwrap_or(false),
            read_only: self.list(node, "read_only"),
            tools: self.list(node, "tools"),
            exclude: self.list(node, "exclude"),
            allow_private: false,
            redirects: false,
            headers: Vec::new(),
            mount: None,
        }
    }

    /// `authorization`, the whole header.
    pub(super) fn authorization(&mut self, node: &Node<'_>) -> Option<Secret> {
        let secret = self.secret(node, "authorization");
        let sendable = |s: &Secret| reqwest::header::HeaderValue::from_str(s.expose()).is_ok();
        if secret.as_ref().is_some_and(|s| !sendable(s)) {
            let problem = "cannot be sent in a header";
            self.fault(&node.path("authorization"), problem, "write it as \"Bearer ...\", on one line");
        }
        secret
    }

    fn mcp_url(&mut self, node: &Node<'_>, allow_private: bool) -> String {
        let path = node.path("url");
        let example = "write it as \"https://tools.example/mcp\"";
        let Some(text) = self.text(node, "url") else {
            if !node.table.contains_key("url") {
                self.fault(&path, "missing", example);
            }
            return String::new();
        };
        let Some(url) = Url::parse(&text).ok().filter(|u| matches!(u.scheme(), "http" | "https")) else {
            self.fault(&path, "not an http or https address", example);
            return text;
        };
        if !url.username().is_empty() || url.password().is_some() {
            let remedy = "put the credentials into `authorization`";
            self.fault(&path, "holds a user name or password", remedy);
        }
        if !allow_private && literal(&url).is_some_and(is_private) {
            let problem = "an address of this computer or a private network";
            self.fault(&path, problem, "set allow_private = true if that is meant");
        }
        text
    }
}

pub(super) fn to_table(s: &McpServer) -> Table {
    let mut t = Table::new();
    put(&mut t, "uid", s.uid.as_str());
    put(&mut t, "url", masked(&s.url));
    if let Some(title) = &s.title {
        put(&mut t, "title", title.as_str());
    }
    if let Some(authorization) = &s.authorization {
        put(&mut t, "authorization", authorization.to_string());
    }
    t.insert("required".into(), Value::Boolean(s.required));
    put(&mut t, "timeout", print_duration(s.timeout));
    put(&mut t, "connect_timeout", print_duration(s.connect_timeout));
    t.insert("allow_private".into(), Value::Boolean(s.allow_private));
    t.insert("redirects".into(), Value::Boolean(s.redirects));
    t.extend(dealt_with(s));
    t
}

/// What is said of a server's connections and tools.
pub(super) fn dealt_with(s: &McpServer) -> Table {
    let mut t = Table::new();
    put(&mut t, "idle", print_duration(s.idle));
    t.insert("trust_annotations".into(), Value::Boolean(s.trust_annotations));
    for (key, list) in [("read_only", &s.read_only), ("tools", &s.tools), ("exclude", &s.exclude)] {
        t.insert(key.into(), texts(list.iter().cloned()));
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_patterns() {
        for (pattern, name, is) in [
            ("get", "get", true),
            ("get", "get_x", false),
            ("get_*", "get_x", true),
            ("get_*", "get_", true),
            ("get_*", "forget_x", false),
            ("*", "", true),
            ("*_all", "list_all", true),
            ("*_all", "list_all_x", false),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(fits(pattern, name), is, "{pattern} {name}");
        }
    }

    #[test]
    fn private_addresses() {
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "100.64.0.1",
            "198.18.0.1",
            "192.0.0.8",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
        ] {
            assert!(is_private(private.parse().unwrap()), "{private}");
        }
        for public in
            ["1.1.1.1", "100.63.0.1", "172.32.0.1", "2606:4700::1", "64:ff9b::101:101", "::ffff:1.1.1.1"]
        {
            assert!(!is_private(public.parse().unwrap()), "{public}");
        }
    }
}
