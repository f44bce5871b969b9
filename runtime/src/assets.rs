//! Files that are served: the built SDK and the demo pages, embedded by
//! `build.rs`; files of `server.assets` go before them.

use std::borrow::Cow;
use std::path::PathBuf;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mindset_core::error::ErrorCode;

use crate::error::ApiError;
use crate::ids;

static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The content security policy of the demo pages: the element needs no more than
/// this, and the demo is the proof.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; \
    style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; \
    require-trusted-types-for 'script'";

/// Encodings by preference, with the ending of the file that holds them.
const ENCODINGS: &[(&str, &str)] = &[("br", ".br"), ("gzip", ".gz")];

/// Where files come from.
#[derive(Debug)]
pub(crate) struct Assets {
    folder: Option<PathBuf>,
}

impl Assets {
    /// Embedded files, with those of `folder` before them.
    pub(crate) fn new(folder: Option<PathBuf>) -> Assets {
        Assets { folder }
    }

    /// The answer to a request for `path`.
    pub(crate) fn answer(&self, path: &str, headers: &HeaderMap) -> Response {
        let name = match path.trim_start_matches('/') {
            "" => "index.html",
            name => name,
        };
        let hidden = name.ends_with(".br") || name.ends_with(".gz");
        let Some(plain) = self.read(name).filter(|_| !hidden) else { return missing(path) };
        let compressed = ENCODINGS
            .iter()
            .filter(|(encoding, _)| accepts(headers, encoding))
            .find_map(|(encoding, ending)| Some((*encoding, self.read(&format!("{name}{ending}"))?)));
        let (encoding, bytes) = match compressed {
            Some((encoding, bytes)) => (Some(encoding), bytes),
            None => (None, plain),
        };
        let mut response = respond(name, encoding, bytes, headers);
        if let Some(link) = self.preload(name).and_then(|link| HeaderValue::from_str(&link).ok()) {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }

    /// What the script will ask for first, so that the browser asks for it while the script still
    /// comes: the module that lies beside it.
    fn preload(&self, name: &str) -> Option<String> {
        if name != "mindset-agent.js" {
            return None;
        }
        let is_module = |file: &str| file.starts_with("mindset-agent-") && file.ends_with(".wasm");
        let folder = self.folder.as_ref().filter(|folder| folder.join(name).is_file());
        let module = match folder {
            Some(folder) => {
                let mut entries = std::fs::read_dir(folder).ok()?.flatten();
                entries
                    .find_map(|entry| entry.file_name().into_string().ok().filter(|file| is_module(file)))?
            }
            None => EMBEDDED.iter().map(|(file, _)| *file).find(|file| is_module(file))?.to_owned(),
        };
        Some(format!("<{module}>; rel=preload; as=fetch; crossorigin"))
    }

    fn read(&self, name: &str) -> Option<Cow<'static, [u8]>> {
        if !name.split('/').all(is_plain) {
            return None;
        }
        let own = self.folder.as_ref().and_then(|folder| std::fs::read(folder.join(name)).ok());
        match own {
            Some(bytes) => Some(bytes.into()),
            None => EMBEDDED.iter().find(|(n, _)| *n == name).map(|(_, bytes)| (*bytes).into()),
        }
    }
}

/// A part of a path that cannot lead out of its folder or to a hidden file.
fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with('.')
        && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
        && !part.ends_with(".toml")
}

fn respond(
    name: &str,
    encoding: Option<&'static str>,
    bytes: Cow<'static, [u8]>,
    request: &HeaderMap,
) -> Response {
    let tag = format!("\"{}\"", ids::hash(&bytes));
    let known = request.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok()).is_some_and(|tags| {
        tags.split(',').any(|t| t.trim().trim_start_matches("W/") == tag || t.trim() == "*")
    });
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = Body::from(match bytes {
            Cow::Borrowed(bytes) => axum::body::Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        })
        .into_response();
        set(response.headers_mut(), header::CONTENT_TYPE, content_type(name));
        if let Some(encoding) = encoding {
            set(response.headers_mut(), header::CONTENT_ENCODING, encoding);
        }
        response
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    set(headers, header::VARY, "accept-encoding");
    let cache = if is_hashed(name) { "public, max-age=31536000, immutable" } else { "no-cache" };
    set(headers, header::CACHE_CONTROL, cache);
    set(headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    set(headers, HeaderName::from_static("cross-origin-resource-policy"), "cross-origin");
    set(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    if name.ends_with(".html") {
        set(headers, header::CONTENT_SECURITY_POLICY, POLICY);
    }
    response
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

fn missing(path: &str) -> Response {
    let built = path.starts_with("/mindset-") || path == "/";
    if !built {
        return ApiError::unknown_route(path).into_response();
    }
    let message = "This file is not part of the server. Run `cargo xtask build` and start the server again.";
    ApiError::new(ErrorCode::NotFound, message).into_response()
}

/// Whether the client takes an encoding. `q=0` means no.
fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|v| v.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|item| {
        let (name, weight) = item.split_once(';').unwrap_or((item, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.trim_matches(['0', '.']).is_empty());
        name.trim().eq_ignore_ascii_case(encoding) && !refused
    })
}

/// Whether the name changes with the content: `name-<16 hex>.ending`.
fn is_hashed(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or("");
    stem.rsplit_once('-')
        .is_some_and(|(_, hash)| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or("") {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" | "cjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "txt" | "ts" | "mts" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_are_not_read() {
        let assets = Assets::new(Some(".".into()));
        for bad in
            ["../Cargo.toml", "Cargo.toml", "src/../Cargo.toml", ".hidden", "", "a//b", "a\\b", "%2e%2e/x"]
        {
            assert!(assets.read(bad).is_none(), "{bad}");
        }
        assert!(assets.read("src/lib.rs").is_some());
    }

    #[test]
    fn encodings() {
        let headers = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            headers
        };
        assert!(accepts(&headers("gzip, deflate, BR;q=0.5"), "br"));
        assert!(!accepts(&headers("gzip, br;q=0"), "br"));
        assert!(!accepts(&headers("br;q=0.0"), "br"));
        assert!(!accepts(&HeaderMap::new(), "gzip"));
    }

    #[test]
    fn hashed_names() {
        assert!(is_hashed("mindset-agent-0123456789abcdef.wasm"));
        assert!(is_hashed("mindset-texts-pt-BR-0123456789abcdef.mjs"));
        assert!(!is_hashed("mindset-agent.js") && !is_hashed("a-0123.js"));
    }
}
