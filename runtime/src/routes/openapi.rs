//! `GET /openapi.json`: this interface as an OpenAPI 3.1 document, written by hand.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use mindset_core::json::{self, Value};

/// What is true of the whole interface, and each address.
const PATHS: &str = include_str!("openapi/paths.json");

/// What goes in and comes out.
const COMPONENTS: &str = include_str!("openapi/components.json");

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// The document.
pub(super) async fn read() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // It says what everyone may know.
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    ];
    (headers, DOCUMENT.as_str()).into_response()
}

fn document() -> Value {
    // The tests read both, so neither can be anything but JSON here.
    let mut document = json::parse(PATHS).unwrap_or_default();
    if let Value::Object(whole) = &mut document {
        whole.insert("components", json::parse(COMPONENTS).unwrap_or_default());
        if let Some(Value::Object(info)) = whole.get_mut("info") {
            info.insert("version", env!("CARGO_PKG_VERSION"));
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mindset_core::error::ErrorCode;

    use super::super::table::ROUTES;
    use super::*;

    fn members(value: &Value) -> Vec<(String, &Value)> {
        let object = value.as_object().unwrap();
        object.iter().map(|(key, value)| (key.to_string(), value)).collect()
    }

    /// What a reference leads to, or the value itself.
    fn resolved<'v>(document: &'v Value, value: &'v Value) -> &'v Value {
        let Some(path) = value.str("$ref") else { return value };
        path.split('/').skip(1).fold(document, |at, part| at.get(part).unwrap())
    }

    #[test]
    fn the_document_has_the_routers_routes_and_no_others() {
        let document = document();
        let mut documented = BTreeSet::new();
        for (path, item) in members(document.get("paths").unwrap()) {
            for (method, _) in members(item).into_iter().filter(|(key, _)| key != "parameters") {
                documented.insert((method.to_uppercase(), path.clone()));
            }
        }
        let served: BTreeSet<_> = ROUTES.iter().map(|r| (r.method.to_owned(), r.path.to_owned())).collect();
        assert_eq!(served.len(), ROUTES.len(), "a route is there twice");
        assert_eq!(documented, served);
    }

    #[test]
    fn every_reference_leads_somewhere_and_nothing_is_unused() {
        let document = document();
        let text = document.to_string();
        let mut used = BTreeSet::new();
        for part in text.split(r##""$ref":"#/components/"##).skip(1) {
            let name = part.split('"').next().unwrap();
            let (kind, item) = name.split_once('/').unwrap();
            let found = document.get("components").and_then(|c| c.get(kind)).and_then(|c| c.get(item));
            assert!(found.is_some(), "{name}");
            used.insert(name.to_owned());
        }
        for (kind, items) in members(document.get("components").unwrap()) {
            for (item, _) in members(items).into_iter().filter(|_| kind != "securitySchemes") {
                assert!(used.contains(&format!("{kind}/{item}")), "{kind}/{item} is not used");
            }
        }
    }

    #[test]
    fn each_variable_part_and_each_code_is_described() {
        let document = document();
        for (path, item) in members(document.get("paths").unwrap()) {
            let named: Vec<String> = item
                .get("parameters")
                .and_then(Value::as_array)
                .unwrap_or_default()
                .iter()
                .map(|p| format!("{{{}}}", resolved(&document, p).str("name").unwrap()))
                .collect();
            let parts: Vec<&str> = path.split('/').filter(|part| part.starts_with('{')).collect();
            assert_eq!(named, parts, "{path}");
        }
        let codes = document.get("components").and_then(|c| c.get("schemas")?.get("ErrorCode")?.get("enum"));
        let codes: Vec<&str> =
            codes.and_then(Value::as_array).unwrap().iter().filter_map(Value::as_str).collect();
        let travel = ErrorCode::ALL.iter().filter(|c| c.http_status() > 0 || **c == ErrorCode::Timeout);
        assert_eq!(codes, travel.map(|c| c.as_str()).collect::<Vec<_>>());
    }
}
