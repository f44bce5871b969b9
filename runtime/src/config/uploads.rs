//! `[uploads]`: where the files of people go, which are taken, and how long they stay.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Table;

use super::print::{integer, masked, put, texts};
use super::reader::{Node, Reader};
use super::value::{Secret, print_duration};
use crate::uploads::Kind;

/// The largest size that can be configured: what is larger is no attachment.
const MOST: u64 = 1024 * 1024 * 1024;

/// `[uploads]`.
#[derive(Debug, Clone)]
pub struct Uploads {
    /// Where they are kept.
    pub place: Place,
    /// Media types that are taken.
    pub types: Vec<String>,
    /// The largest file, in bytes.
    pub max_file: u64,
    /// What all files of one user may take together, in bytes.
    pub per_user: u64,
    /// What all files may take together, in bytes.
    pub total: u64,
    /// How long an address that a tool gets is good.
    pub link_lifetime: Duration,
    /// How long a file stays, whatever becomes of its conversation; absent: as long as that.
    pub keep: Option<Duration>,
    /// How long a file stays that was never sent.
    pub unused_keep: Duration,
    /// How long a file may take to arrive.
    pub timeout: Duration,
}

/// Where files are kept.
#[derive(Debug, Clone)]
pub enum Place {
    /// A folder of this machine; made if missing.
    Folder(PathBuf),
    /// A bucket.
    S3(S3),
}

/// `[uploads.s3]`.
#[derive(Debug, Clone)]
pub struct S3 {
    /// The bucket.
    pub bucket: String,
    /// Its region.
    pub region: String,
    /// Where the service is; absent: Amazon's own address of the region.
    pub endpoint: Option<String>,
    /// What the names of objects begin with.
    pub prefix: String,
    /// The key's id and the key; absent: those of the machine's role.
    pub keys: Option<(Secret, Secret)>,
}

impl Uploads {
    /// The folder unless one is named: beside the database.
    fn beside(database: &Path) -> PathBuf {
        let mut name = database.file_name().unwrap_or_default().to_owned();
        name.push("-files");
        database.with_file_name(name)
    }
}

impl<'a> Reader<'a> {
    pub(super) fn uploads(&mut self, node: &Node<'a>, database: &Path) -> Uploads {
        self.known(
            node,
            &[
                "folder",
                "s3",
                "types",
                "max_file",
                "per_user",
                "total",
                "link_lifetime",
                "keep",
                "unused_keep",
                "timeout",
            ],
        );
        let mb = 1024 * 1024;
        let hour = Duration::from_secs(3600);
        let uploads = Uploads {
            place: self.place(node, database),
            types: self.types(node),
            max_file: self.number(node, "max_file").unwrap_or(20 * mb),
            per_user: self.number(node, "per_user").unwrap_or(500 * mb),
            total: self.number(node, "total").unwrap_or(10 * 1024 * mb),
            link_lifetime: self.duration(node, "link_lifetime", Duration::from_secs(15 * 60)),
            keep: node.table.contains_key("keep").then(|| self.duration(node, "keep", hour * 24 * 30)),
            unused_keep: self.duration(node, "unused_keep", hour * 24),
            timeout: self.duration(node, "timeout", Duration::from_secs(600)),
        };
        if !(1..=MOST).contains(&uploads.max_file) {
            self.fault(&node.path("max_file"), "not between 1 byte and 1 GiB", "write it as 20971520");
        }
        for (key, value, example) in [
            ("link_lifetime", uploads.link_lifetime, "15m"),
            ("unused_keep", uploads.unused_keep, "24h"),
            ("timeout", uploads.timeout, "10m"),
        ] {
            if value < Duration::from_secs(1) && (key == "link_lifetime" || value.is_zero()) {
                self.fault(&node.path(key), "no time at all", &format!("write it as \"{example}\""));
            }
        }
        uploads
    }

    fn types(&mut self, node: &Node<'_>) -> Vec<String> {
        if !node.table.contains_key("types") {
            return Kind::USUAL.iter().map(|kind| kind.media_type.to_owned()).collect();
        }
        let types = self.list(node, "types");
        for name in types.iter().filter(|name| Kind::of(name).is_none()) {
            let known: Vec<_> = Kind::all().map(|kind| kind.media_type).collect();
            let problem = format!("`{name}` cannot be told by its content");
            self.fault(&node.path("types"), &problem, &format!("known are {}", known.join(", ")));
        }
        types
    }

    fn place(&mut self, node: &Node<'a>, database: &Path) -> Place {
        let folder = self.text(node, "folder");
        if !node.table.contains_key("s3") {
            return Place::Folder(folder.map_or_else(|| Uploads::beside(database), PathBuf::from));
        }
        if folder.is_some() {
            self.fault(&node.path("folder"), "a folder and a bucket", "keep `folder` or [uploads.s3]");
        }
        let s3 = self.table(node, "s3");
        Place::S3(self.s3(&s3))
    }

    fn s3(&mut self, node: &Node<'_>) -> S3 {
        self.known(node, &["bucket", "region", "endpoint", "prefix", "access_key_id", "secret_access_key"]);
        let bucket = self.text(node, "bucket").unwrap_or_default();
        if bucket.is_empty() {
            self.fault(&node.path("bucket"), "missing", "write the name of the bucket");
        }
        let endpoint = self.text(node, "endpoint");
        let http = |text: &str| text.starts_with("https://") || text.starts_with("http://");
        if endpoint.as_ref().is_some_and(|text| !http(text) || reqwest::Url::parse(text).is_err()) {
            let remedy = "write it as \"https://s3.example\"";
            self.fault(&node.path("endpoint"), "not an http or https address", remedy);
        }
        let (id, key) = (self.secret(node, "access_key_id"), self.secret(node, "secret_access_key"));
        let has = |name| node.table.contains_key(name);
        if has("access_key_id") != has("secret_access_key") {
            let remedy = "give `access_key_id` and `secret_access_key`, or neither";
            self.fault(&node.path, "half a key", remedy);
        }
        S3 {
            bucket,
            region: self.text(node, "region").unwrap_or_else(|| "us-east-1".into()),
            endpoint: endpoint.map(|text| text.trim_end_matches('/').to_owned()),
            prefix: self.text(node, "prefix").unwrap_or_default(),
            keys: id.zip(key),
        }
    }

    /// Where links to this server begin.
    pub(super) fn public_url(&mut self, node: &Node<'_>) -> Option<String> {
        let text = self.text(node, "public_url")?;
        let is_http = text.starts_with("https://") || text.starts_with("http://");
        let url = reqwest::Url::parse(&text).ok().filter(|url| is_http && url.username().is_empty());
        if url.is_none_or(|url| url.query().is_some() || url.fragment().is_some()) {
            let remedy = "write it as \"https://chat.example\", with the path below which this server is";
            self.fault(&node.path("public_url"), "not an http or https address", remedy);
        }
        Some(text.trim_end_matches('/').to_owned())
    }
}

/// The table that reads back, secrets as their length.
pub(super) fn print(uploads: &Uploads) -> Table {
    let mut t = Table::new();
    t.insert("types".into(), texts(uploads.types.iter().cloned()));
    t.insert("max_file".into(), integer(uploads.max_file));
    t.insert("per_user".into(), integer(uploads.per_user));
    t.insert("total".into(), integer(uploads.total));
    put(&mut t, "link_lifetime", print_duration(uploads.link_lifetime));
    if let Some(keep) = uploads.keep {
        put(&mut t, "keep", print_duration(keep));
    }
    put(&mut t, "unused_keep", print_duration(uploads.unused_keep));
    put(&mut t, "timeout", print_duration(uploads.timeout));
    match &uploads.place {
        Place::Folder(folder) => put(&mut t, "folder", folder.display().to_string()),
        Place::S3(s3) => {
            t.insert("s3".into(), toml::Value::Table(bucket(s3)));
        }
    }
    t
}

fn bucket(s3: &S3) -> Table {
    let mut t = Table::new();
    put(&mut t, "bucket", s3.bucket.as_str());
    put(&mut t, "region", s3.region.as_str());
    if let Some(endpoint) = &s3.endpoint {
        put(&mut t, "endpoint", masked(endpoint));
    }
    if !s3.prefix.is_empty() {
        put(&mut t, "prefix", s3.prefix.as_str());
    }
    if let Some((id, key)) = &s3.keys {
        put(&mut t, "access_key_id", id.to_string());
        put(&mut t, "secret_access_key", key.to_string());
    }
    t
}
