//! Our JSON Schema validator against the required cases of the public
//! JSON-Schema-Test-Suite for draft 2020-12.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod schema_engine;

use mindset_core::json::{Object, Value, parse};
use mindset_core::object;
use mindset_core::schema::Schema;
use schema_engine::Engine;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Files of the suite, by name, in the binary: there are none on wasm32.
macro_rules! suite {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../fixtures/json-schema/draft2020-12/", $name, ".json"))),)*]
    };
}

const SUITE: &[(&str, &str)] = suite![
    "additionalProperties",
    "allOf",
    "anchor",
    "anyOf",
    "boolean_schema",
    "const",
    "contains",
    "content",
    "default",
    "defs",
    "dependentRequired",
    "dependentSchemas",
    "dynamicRef",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if-then-else",
    "infinite-loop-detection",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "ref",
    "refRemote",
    "required",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "vocabulary",
];

/// The suite's remotes that [`REMOTE`] needs, by their path.
macro_rules! remotes {
    ($($path:literal,)*) => {
        &[$((
            concat!("http://localhost:1234/", $path, ".json"),
            include_str!(concat!("../../fixtures/json-schema/remotes/", $path, ".json")),
        ),)*]
    };
}

const REMOTES: &[(&str, &str)] = remotes![
    "different-id-ref-string",
    "draft2020-12/baseUriChange/folderInteger",
    "draft2020-12/baseUriChangeFolder/folderInteger",
    "draft2020-12/baseUriChangeFolderInSubschema/folderInteger",
    "draft2020-12/detached-dynamicref",
    "draft2020-12/detached-ref",
    "draft2020-12/extendible-dynamic-ref",
    "draft2020-12/integer",
    "draft2020-12/locationIndependentIdentifier",
    "draft2020-12/name-defs",
    "draft2020-12/nested/foo-ref-string",
    "draft2020-12/nested/string",
    "draft2020-12/ref-and-defs",
    "draft2020-12/subSchemas",
    "draft2020-12/tree",
    "nested-absolute-ref-to-string",
    "urn-ref-string",
];

/// Groups whose schema refers to another document, which we never fetch and do not
/// carry: `defs` and `ref` to the meta-schema, the others to the suite's `remotes`.
const REMOTE: &[(&str, &str)] = &[
    ("defs", "validate definition against metaschema"),
    ("dynamicRef", "strict-tree schema, guards against misspelled properties"),
    ("dynamicRef", "tests for implementation dynamic anchor and reference link"),
    ("dynamicRef", "$ref and $dynamicAnchor are independent of order - $defs first"),
    ("dynamicRef", "$ref and $dynamicAnchor are independent of order - $ref first"),
    ("dynamicRef", "$ref to $dynamicRef finds detached $dynamicAnchor"),
    ("ref", "remote ref, containing refs itself"),
    ("refRemote", "remote ref"),
    ("refRemote", "fragment within remote ref"),
    ("refRemote", "anchor within remote ref"),
    ("refRemote", "ref within remote ref"),
    ("refRemote", "base URI change"),
    ("refRemote", "base URI change - change folder"),
    ("refRemote", "base URI change - change folder in subschema"),
    ("refRemote", "root ref in remote ref"),
    ("refRemote", "remote ref with ref to defs"),
    ("refRemote", "Location-independent identifier in remote ref"),
    ("refRemote", "retrieved nested refs resolve relative to their URI not $id"),
    ("refRemote", "remote HTTP ref with different $id"),
    ("refRemote", "remote HTTP ref with different URN $id"),
    ("refRemote", "remote HTTP ref with nested absolute ref"),
    ("refRemote", "$ref to $ref finds detached $anchor"),
];

/// How groups of [`REMOTE`] refer to the meta-schema, which is in no folder here.
const META_SCHEMA: &str = "\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"";

/// Groups that need the document `$schema` names, to learn from its `$vocabulary` what
/// keywords mean. Ours always mean what draft 2020-12 says.
const VOCABULARY: &[(&str, &str)] =
    &[("vocabulary", "schema that uses custom metaschema with with no validation vocabulary")];

struct Group {
    file: &'static str,
    name: String,
    schema: Value,
    /// Description, value, whether it is valid.
    tests: Vec<(String, Value, bool)>,
}

impl Group {
    fn is_in(&self, list: &[(&str, &str)]) -> bool {
        list.contains(&(self.file, &self.name))
    }
}

fn text(object: &Object, key: &str) -> String {
    object.str(key).unwrap().to_owned()
}

fn groups() -> Vec<Group> {
    let mut groups = Vec::new();
    for (file, json) in SUITE {
        for group in parse(json).unwrap().as_array().unwrap() {
            let group = group.as_object().unwrap();
            let test = |test: &Value| {
                let test = test.as_object().unwrap();
                let valid = test.get("valid").and_then(Value::as_bool).unwrap();
                (text(test, "description"), test.get("data").unwrap().clone(), valid)
            };
            groups.push(Group {
                file,
                name: text(group, "description"),
                schema: group.get("schema").unwrap().clone(),
                tests: group.get("tests").and_then(Value::as_array).unwrap().iter().map(test).collect(),
            });
        }
    }
    groups
}

#[test]
fn every_required_case_agrees() {
    let (mut cases, mut wrong) = (0, Vec::new());
    for group in groups().iter().filter(|group| !group.is_in(REMOTE) && !group.is_in(VOCABULARY)) {
        let schema = Schema::parse(&group.schema, &Engine);
        for (name, value, valid) in &group.tests {
            cases += 1;
            let found = schema.as_ref().map(|schema| schema.check(value));
            if found.as_ref().map(Vec::is_empty) != Ok(*valid) {
                wrong.push(format!("{}: {}: {name}: {valid} expected, {found:?}", group.file, group.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {cases} cases:\n{}", wrong.len(), wrong.join("\n"));
    // A newer suite has more: say how many.
    assert_eq!(cases, 1206);
}

/// The same schemas with the documents they refer to put inside, as a tool's author
/// would: in `$defs`, each with the `$id` that is its address.
#[test]
fn remote_cases_agree_when_bundled() {
    let mut documents = Vec::new();
    for (url, text) in REMOTES {
        let mut document = parse(text).unwrap().as_object().unwrap().clone();
        // One with another name of its own is also known by its address.
        if let Some(id) = document.str("$id").filter(|id| id != url) {
            documents.push(object! { "$id": *url, "$ref": id });
        } else {
            document.insert("$id", *url);
        }
        documents.push(document);
    }
    let mut cases = 0;
    for group in groups().iter().filter(|group| group.is_in(REMOTE)) {
        let mut bundle = group.schema.as_object().unwrap().clone();
        if group.schema.to_string().contains(META_SCHEMA) {
            continue;
        }
        let mut parts = bundle.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
        for (i, document) in documents.iter().enumerate() {
            parts.insert(&format!("remote {i}"), document.clone());
        }
        bundle.insert("$defs", parts);
        let schema = Schema::parse(&bundle.into(), &Engine).unwrap();
        assert_eq!(schema.warnings(), [""; 0], "{}", group.name);
        for (name, value, valid) in &group.tests {
            cases += 1;
            let found = schema.check(value);
            assert_eq!(found.is_empty(), *valid, "{}: {}: {name}: {found:?}", group.file, group.name);
        }
    }
    assert_eq!(cases, 44);
}

/// Whatever refers to another document is on the list, and nothing else is: a case
/// that comes with a newer suite is either tested or noticed.
#[test]
fn left_out_is_what_needs_another_document() {
    let mut found = Vec::new();
    for group in groups() {
        let schema = Schema::parse(&group.schema, &Engine);
        if schema.is_ok_and(|schema| !schema.warnings().is_empty()) {
            found.push((group.file, group.name));
        }
    }
    let found: Vec<_> = found.iter().map(|(file, name)| (*file, name.as_str())).collect();
    let list: Vec<String> = found.iter().map(|entry| format!("{entry:?},")).collect();
    assert_eq!(found, REMOTE, "\n{}", list.join("\n"));
    let named: Vec<_> = groups().into_iter().filter(|group| group.is_in(VOCABULARY)).collect();
    assert_eq!(named.len(), VOCABULARY.len());
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn every_file_is_in_the_table() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/json-schema/draft2020-12");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let stems: Vec<_> = files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
    assert_eq!(stems, SUITE.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}
