//! What a tool author and a model see: violations with paths, schemas refused with
//! a place, references that lead nowhere; and that nothing takes long. That the
//! keywords mean what they should is held against the public suite, elsewhere.

use super::*;
use crate::json::{Object, parse};
use crate::patterns::Plain;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn schema(text: &str) -> Result<Schema, SchemaError> {
    Schema::parse(&parse(text).unwrap(), &Plain)
}

fn good(text: &str) -> Schema {
    schema(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// `path keyword: message` of each violation.
fn violations(schema: &str, value: &str) -> Vec<String> {
    let found = good(schema).check(&parse(value).unwrap());
    found.iter().map(|v| [&v.path, " ", v.keyword, ": ", &v.message].concat()).collect()
}

const PROFILE: &str = r##"{
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
        "role": {"enum": ["user", "admin"]},
        "manager": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^x-"}, "uniqueItems": true, "maxItems": 2},
        "a/b": {"const": 1.50},
        "step": {"multipleOf": 0.01},
        "pair": {"prefixItems": [true, true], "items": false}
    },
    "required": ["name"],
    "dependentRequired": {"age": ["role"]},
    "additionalProperties": false
}"##;

#[test]
fn a_model_is_told_what_to_do() {
    for (value, expected) in [
        (
            r#"{"name":"Bo","role":"user","age":1e1,"manager":null,"tags":["x-1"],"a/b":1.5,"step":0.07}"#,
            vec![],
        ),
        ("[]", vec![" type: must be an object, but is an array"]),
        ("{}", vec![" required: must have the property `name`"]),
        (
            r#"{"name":"Bo","age":1}"#,
            vec![" dependentRequired: must have the property `role` because it has `age`"],
        ),
        (
            r#"{"name":"é","role":"boss"}"#,
            vec![
                "/name minLength: must have at least 2 characters, but has 1",
                r#"/role enum: must be one of "user", "admin""#,
            ],
        ),
        (
            r#"{"name":"Bo","role":"user","age":1.5}"#,
            vec!["/age type: must be a whole number, but is a number with a fraction"],
        ),
        (r#"{"name":"Bo","role":"user","age":-1}"#, vec!["/age minimum: must be at least 0"]),
        (r#"{"name":"Bo","role":"user","age":150}"#, vec!["/age exclusiveMaximum: must be less than 150"]),
        // Of two alternatives only one is for objects, so that one is explained.
        (
            r#"{"name":"Bo","manager":{"name":"Al","tags":["x-","y"]}}"#,
            vec!["/manager/tags/1 pattern: must match the regular expression ^x-"],
        ),
        (r#"{"name":"Bo","manager":7}"#, vec!["/manager anyOf: must be null or an object, but is a number"]),
        (
            r#"{"name":"Bo","tags":["x-","x-","x-3"]}"#,
            vec![
                "/tags maxItems: must have at most 2 items, but has 3",
                "/tags uniqueItems: must not repeat an item, but items 0 and 1 are the same",
            ],
        ),
        (
            r#"{"name":"Bo","a/b":1.51,"step":0.001}"#,
            vec!["/a~1b const: must be 1.50", "/step multipleOf: must be a multiple of 0.01"],
        ),
        (
            r#"{"name":"Bo","pair":[1,2,3]}"#,
            vec!["/pair/2 items: is one item too many: the list ends after 2"],
        ),
        (
            r#"{"name":"Bo","nmae":1}"#,
            vec![
                "/nmae additionalProperties: is not a known property: leave it out, known are name, age, role, manager, tags, a/b, step, pair",
            ],
        ),
    ] {
        assert_eq!(violations(PROFILE, value), expected, "{value}");
    }
}

#[test]
fn branches_and_the_rest() {
    for (schema, value, expected) in [
        ("false", "1", " false: is not allowed here: leave it out"),
        (r#"{"not":{}}"#, "1", " not: is what this schema excludes"),
        (
            r#"{"oneOf":[{},{"minimum":1}]}"#,
            "1",
            " oneOf: matches alternatives 1 and 2, but only one may match",
        ),
        (
            r#"{"oneOf":[{"maximum":0},{"minimum":2}]}"#,
            "1",
            " oneOf: matches none of the 2 alternatives of the schema",
        ),
        (
            r#"{"contains":{"type":"null"}}"#,
            "[1]",
            " contains: must have at least 1 of the items `contains` describes, but has 0",
        ),
        (
            r#"{"contains":{},"maxContains":1}"#,
            "[1,2]",
            " maxContains: must have at most 1 of the items `contains` describes, but has 2",
        ),
        (
            r#"{"propertyNames":{"maxLength":1}}"#,
            r#"{"ab":1}"#,
            "/ab propertyNames: is not an allowed property name",
        ),
        (
            r#"{"properties":{"a":{}},"unevaluatedProperties":false}"#,
            r#"{"a":1,"b":1}"#,
            "/b unevaluatedProperties: is not described by the schema: leave it out",
        ),
        (r#"{"minProperties":1}"#, "{}", " minProperties: must have at least 1 properties, but has 0"),
        (r#"{"if":{"type":"null"},"else":{"const":1}}"#, "2", " const: must be 1"),
    ] {
        assert_eq!(violations(schema, value), [expected], "{schema}");
    }
}

#[test]
fn a_bad_schema_names_the_place() {
    for (text, place, reason) in [
        ("1", "", "must be a schema: an object, true or false"),
        (r#"{"type":"strin"}"#, "/type", "must be one of null, boolean"),
        (r#"{"type":[]}"#, "/type", "must be one of null, boolean"),
        (r#"{"properties":{"a":{"type":["string",1]}}}"#, "/properties/a/type/1", "must be one of"),
        (r#"{"properties":{"a":1}}"#, "/properties/a", "must be a schema"),
        (r#"{"properties":[]}"#, "/properties", "must be an object"),
        (r#"{"required":"a"}"#, "/required", "must be an array of strings"),
        (r#"{"required":[1]}"#, "/required/0", "must be a string"),
        (r#"{"minLength":-1}"#, "/minLength", "must be a whole number, zero or more"),
        (r#"{"maximum":"1"}"#, "/maximum", "must be a number"),
        (r#"{"multipleOf":0.0}"#, "/multipleOf", "must be greater than zero"),
        (r#"{"uniqueItems":1}"#, "/uniqueItems", "must be true or false"),
        (r#"{"items":[{}]}"#, "/items", "must be a schema: a list of them is called `prefixItems`"),
        (r#"{"anyOf":[]}"#, "/anyOf", "must not be empty"),
        (r#"{"enum":{}}"#, "/enum", "must be an array"),
        (r#"{"pattern":"("}"#, "/pattern", "`(` is no regular expression: unbalanced"),
        (r#"{"patternProperties":{"(":{}}}"#, "/patternProperties", "`(` is no regular expression"),
        (r##"{"$id":"#a"}"##, "/$id", "must not have a fragment: use `$anchor`"),
        (r#"{"$ref":1}"#, "/$ref", "must be a string"),
        (r##"{"$ref":"#"}"##, "", "a `$ref` leads back here"),
        (
            r##"{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}"##,
            "/$defs/",
            "a `$ref` leads back",
        ),
        (r##"{"$ref":"#/x","x":{"type":1}}"##, "/x/type", "must be one of"),
    ] {
        let error = schema(text).map(|_| ()).unwrap_err();
        assert!(error.place.starts_with(place) && error.reason.starts_with(reason), "{text}: {error}");
    }
}

#[test]
fn a_reference_out_of_the_document_accepts_anything_and_warns() {
    let schema = good(
        r##"{"$defs":{"Node":{"type":"object","properties":{
            "name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}}}},
        "properties":{"tree":{"$ref":"#/$defs/Node"},"far":{"$ref":"http://127.0.0.1:9/canary.json"},
            "lost":{"$ref":"#/$defs/Lost"},"anchor":{"$dynamicRef":"#none"}}}"##,
    );
    assert_eq!(
        schema.warnings(),
        [
            "`$dynamicRef` \"#none\" leads to nothing in this schema: any value is accepted there",
            "`$ref` \"#/$defs/Lost\" leads to nothing in this schema: any value is accepted there",
            "`$ref` \"http://127.0.0.1:9/canary.json\" leads to nothing in this schema: any value is accepted there",
        ]
    );
    assert_eq!(schema.check(&parse(r#"{"far":[1],"lost":{},"anchor":0}"#).unwrap()), []);
    let wrong = schema.check(&parse(r#"{"tree":{"children":[{"children":[{"name":1}]}]}}"#).unwrap());
    assert_eq!(wrong[0].path, "/tree/children/0/children/0/name");
}

#[test]
fn names_older_drafts_and_unknown_keywords() {
    // A reference into `definitions` or anything else finds what is there.
    for text in [
        r##"{"$ref":"#/definitions/a","definitions":{"a":{"type":"null"}}}"##,
        r##"{"$ref":"#a","definitions":{"x":{"$anchor":"a","type":"null"}}}"##,
        r##"{"$ref":"#/x-parts/0/~1%25","x-parts":[{"/%":{"type":"null"}}]}"##,
        r##"{"$id":"http://h/a/b","$ref":"c#/$defs/d","$defs":{"c":{"$id":"c","$defs":{"d":{"type":"null"}}}}}"##,
    ] {
        assert_eq!(violations(text, "1"), [" type: must be null, but is a number"], "{text}");
        assert_eq!(good(text).warnings(), [""; 0]);
    }
    assert_eq!(
        violations(r#"{"format":"email","nullable":1,"x":[],"$schema":"http://h/none"}"#, "1"),
        [""; 0]
    );
}

fn list(item: &str, times: usize) -> String {
    let items = vec![item; times].join(",");
    ["[", &items, "]"].concat()
}

fn given_up(schema: &str, value: &str) -> bool {
    let found = good(schema).check(&parse(value).unwrap());
    assert!(found.len() <= MAX_VIOLATIONS);
    found.last().is_some_and(|v| v.keyword.is_empty())
}

#[test]
fn violations_are_bounded() {
    assert_eq!(violations(r#"{"items":false}"#, &list("1", 1000)).len(), MAX_VIOLATIONS);
    let names: Vec<String> = (0..1000).map(|i| ["\"n", &usize::to_string(&i), "\""].concat()).collect();
    let schema = [r#"{"required":["#, &names.join(","), "]}"].concat();
    assert_eq!(violations(&schema, "{}").len(), MAX_VIOLATIONS);
    let schema = [r#"{"enum":["#, &names.join(","), "]}"].concat();
    assert!(violations(&schema, "1")[0].len() < 1000);
    let lost = list(r##"{"$ref":"http://h/1"},{"$ref":"#/2"}"##, 1000);
    assert_eq!(good(&[r#"{"allOf":"#, &lost, "}"].concat()).warnings().len(), 2);
}

#[test]
fn doubling_ends() {
    // Each part applies the next one twice: 2 to the power of 60 in all.
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let mut parts = vec![r#""p60":{"type":"null"}"#.to_owned()];
        for i in 0..60 {
            let next = [r##"{"$ref":"#/$defs/p"##, &usize::to_string(&(i + 1)), r#""}"#].concat();
            parts.push(
                ["\"p", &usize::to_string(&i), "\":{\"", keyword, "\":[", &next, ",", &next, "]}"].concat(),
            );
        }
        let schema = [r##"{"$ref":"#/$defs/p0","$defs":{"##, &parts.join(","), "}}"].concat();
        assert!(!violations(&schema, "1").is_empty(), "{keyword}");
        assert_eq!(given_up(&schema, "null"), keyword != "anyOf", "{keyword}");
    }
}

#[test]
fn depth_is_bounded() {
    let mut value = parse("1").unwrap();
    for _ in 0..1000 {
        value = Value::Array(vec![value]);
    }
    let found = good(r##"{"items":{"$ref":"#"}}"##).check(&value);
    assert_eq!(found.len(), 1);
    assert!(found[0].message.starts_with("nests too deep"));
    assert_eq!(Schema::parse(&value, &Plain).unwrap_err().place, "");
    let mut nested = Value::Bool(true);
    for _ in 0..1000 {
        nested = Value::Object(Object::from_iter([("not".to_owned(), nested)]));
    }
    assert!(Schema::parse(&nested, &Plain).unwrap_err().reason.starts_with("nests too deep"));
    // Compared values too.
    let constant = Value::Object(Object::from_iter([("const".to_owned(), value.clone())]));
    assert_eq!(Schema::parse(&constant, &Plain).unwrap().check(&value).last().unwrap().keyword, "");
    // As deep as JSON text can be is no problem.
    let text = ["[".repeat(128), "]".repeat(128)].concat();
    assert_eq!(violations(r##"{"items":{"$ref":"#"}}"##, &text), [""; 0]);
}

#[test]
fn dynamic_references_without_progress_end() {
    let schema = r##"{"$dynamicAnchor":"a","allOf":[{"$dynamicRef":"#a"}]}"##;
    assert!(given_up(schema, "1"));
}

#[test]
fn a_long_chain_of_references() {
    let mut parts = Vec::new();
    for i in 0..5_000 {
        parts.push(
            ["\"", &usize::to_string(&i), r##"":{"$ref":"#/$defs/"##, &usize::to_string(&(i + 1)), "\"}"]
                .concat(),
        );
    }
    let text = [r##"{"$ref":"#/$defs/0","$defs":{"##, &parts.join(","), "}}"].concat();
    assert!(given_up(&text, "1"));
}

#[test]
fn large_values_are_checked_and_larger_ones_given_up() {
    let numbers: Vec<String> = (0..20_000).map(|i: usize| i.to_string()).collect();
    let numbers = ["[", &numbers.join(","), "]"].concat();
    assert_eq!(violations(r#"{"uniqueItems":true}"#, &numbers), [""; 0]);
    // 20,000 values against 20,000 values.
    let schema = [r#"{"items":{"enum":"#, &numbers, "}}"].concat();
    assert!(given_up(&schema, &numbers));
    assert!(given_up(&["{\"multipleOf\":", &"7".repeat(20_000), "}"].concat(), &"8".repeat(40_000)));
    assert_eq!(violations(r#"{"multipleOf":1e-1000000000,"maximum":1e1000000000}"#, "1e999999999"), [""; 0]);
}
