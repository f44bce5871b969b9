//! The laws of pass-through parameters, over random tools, schemas and keys.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod dice;
mod patterns;
#[allow(dead_code)]
mod schemas;

use dice::{Dice, Named, seeds};
use mindset_core::error::ErrorCode;
use mindset_core::json::{Object, Value};
use mindset_core::object;
use mindset_core::passthrough::{CheckedArgs, Passthrough, ToolName, VisibleSchema};
use mindset_core::schema::Schema;
use patterns::Plain;
use schemas::{NAMES, arguments, json, key, named, schema, tool_names};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const MANAGED: &str = "uploaded_file_urls";

fn object(text: &str) -> Object {
    json(text).as_object().unwrap().clone()
}

fn supplied(dice: &mut Dice) -> Vec<&'static str> {
    NAMES.into_iter().filter(|name| *name != MANAGED && dice.once_in(2)).collect()
}

/// Every violation of the laws of stripping, by seed.
fn check_strip(declared: &Object, supplied: &[&str]) {
    let is_supplied = |name: &str| supplied.contains(&name);
    let visible = VisibleSchema::strip(declared, is_supplied);
    let context = || format!("{declared}\n  without {supplied:?} is\n{}", visible.as_object());
    let names = named(declared);
    // Exactly what is declared and supplied, or managed.
    for name in NAMES {
        let expected = names.declared.iter().any(|d| d == name) && (is_supplied(name) || name == MANAGED);
        assert_eq!(visible.stripped().iter().any(|s| s == name), expected, "{name}: {}", context());
    }
    // Gone everywhere.
    let left = named(visible.as_object());
    for name in visible.stripped() {
        assert!(!left.mentioned.contains(name), "{name} is left: {}", context());
    }
    // Once is enough.
    let again = VisibleSchema::strip(visible.as_object(), is_supplied);
    assert_eq!(again.as_object(), visible.as_object(), "{}", context());
    assert!(again.stripped().is_empty());
    // What providers insist on.
    assert_eq!(visible.as_object().str("type"), Some("object"));
    assert!(visible.as_object().get("properties").is_some_and(Value::is_object));
    if visible.stripped().is_empty() {
        let same = declared.iter().filter(|(k, _)| !matches!(*k, "type" | "properties"));
        assert!(same.into_iter().all(|(k, v)| visible.as_object().get(k) == Some(v)), "{}", context());
    }
}

/// What providers get names every parameter at the root and requires nothing more.
fn check_flat(declared: &Object, dice: &mut Dice) {
    const REFUSED: [&str; 6] = ["allOf", "anyOf", "oneOf", "not", "enum", "$ref"];
    let visible = VisibleSchema::strip(declared, |name| name == "key");
    let flat = visible.flat();
    assert!(REFUSED.iter().all(|keyword| flat.get(keyword).is_none()), "{flat}");
    let properties = flat.get("properties").and_then(Value::as_object).unwrap();
    let names = named(visible.as_object()).declared;
    assert!(names.iter().all(|name| properties.get(name).is_some()), "{names:?} are not all in {flat}");
    assert!(
        properties.iter().all(|(name, _)| names.iter().any(|n| n == name)),
        "more than {names:?} in {flat}"
    );
    let whole = Value::Object(visible.as_object().clone());
    let Ok(whole) = Schema::parse(&whole, &Plain) else { return };
    let required = flat.get("required").and_then(Value::as_array).unwrap_or_default();
    for _ in 0..10 {
        let given = arguments(dice);
        if whole.check(&Value::Object(given.clone())).is_empty() {
            let has = |name: &Value| name.as_str().is_some_and(|name| given.get(name).is_some());
            assert!(required.iter().all(has), "{given} fits {}\n  but not {flat}", visible.as_object());
        }
    }
}

/// Whatever is right with the page's values is right for the model without them.
fn check_meaning(declared: &Object, supplied: &[&str], dice: &mut Dice) -> bool {
    let Ok(whole) = Schema::parse(&Value::Object(declared.clone()), &Plain) else { return false };
    let visible = VisibleSchema::strip(declared, |name| supplied.contains(&name));
    // A reference to nothing may find something where its part is moved to.
    if visible.stripped().is_empty() || whole.warnings().iter().any(|w| w.contains("#/properties")) {
        return false;
    }
    let part = Schema::parse(&Value::Object(visible.as_object().clone()), &Plain)
        .unwrap_or_else(|e| panic!("{declared} becomes {}: {e}", visible.as_object()));
    let mut any = false;
    for _ in 0..20 {
        let mut full = arguments(dice);
        for name in visible.stripped() {
            if name != MANAGED && full.get(name).is_none() {
                full.insert(name, 1_u64);
            }
        }
        if !whole.check(&Value::Object(full.clone())).is_empty() {
            continue;
        }
        any = true;
        let mut own = full.clone();
        for name in visible.stripped() {
            own.remove(name);
        }
        let violations = part.check(&Value::Object(own));
        assert!(
            violations.is_empty(),
            "{full} fits\n{declared}\n  but not\n{}: {violations:?}",
            visible.as_object()
        );
    }
    any
}

#[test]
fn strip_takes_the_names_and_nothing_else() {
    let mut meant = 0;
    for seed in seeds() {
        let _named = Named(seed);
        let mut dice = Dice(seed);
        for _ in 0..10 {
            let declared = schema(&mut dice);
            let supplied = supplied(&mut dice);
            check_strip(&declared, &supplied);
            check_flat(&declared, &mut dice);
            meant += u32::from(check_meaning(&declared, &supplied, &mut dice));
        }
    }
    assert!(meant > 100, "only {meant} schemas could be checked for their meaning");
}

#[test]
fn stripped_schemas_in_full() {
    for (declared, expected) in [
        // The names in every place that can mention them.
        (
            r#"{"type":"object","properties":{"key":{},"q":{}},"required":["key"],"dependentRequired":{"q":["key"],"key":["q"]},"minProperties":2,"maxProperties":3,"examples":[{"key":1,"q":2}],"default":{"key":1},"enum":[{"key":1},{"key":2}]}"#,
            r#"{"type":"object","properties":{"q":{}},"dependentRequired":{"q":[]},"minProperties":1,"maxProperties":2,"examples":[{"q":2}],"default":{},"enum":[{}],"allOf":[{"required":["q"]}]}"#,
        ),
        // A generated root: one reference, and no definition that nobody needs any more.
        (
            r##"{"$schema":"s","$ref":"#/$defs/Args","$defs":{"Args":{"type":"object","properties":{"key":{},"q":{}},"required":["key","q"],"additionalProperties":false}}}"##,
            r##"{"$schema":"s","type":"object","properties":{"q":{}},"required":["q"],"additionalProperties":false}"##,
        ),
        // Shared definitions stay, the reference without the name stays too.
        (
            r##"{"allOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}],"properties":{"old":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"key":{}}},"B":{"required":["q"]}}}"##,
            r##"{"allOf":[{"properties":{}},{"$ref":"#/$defs/B"}],"properties":{"old":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"key":{}}},"B":{"required":["q"]}},"type":"object"}"##,
        ),
        // A parameter that borrows the schema of one that goes.
        (
            r##"{"type":"object","properties":{"key":{"type":"string"},"other":{"$ref":"#/properties/key"}}}"##,
            r##"{"type":"object","properties":{"other":{"$ref":"#/$defs/key"}},"$defs":{"key":{"type":"string"}}}"##,
        ),
        // A tree whose root has a parameter from the page: its branches are the model's.
        (
            r##"{"type":"object","properties":{"key":{},"below":{"items":{"$ref":"#"}}},"required":["key"]}"##,
            r##"{"type":"object","properties":{"below":{"items":{"$ref":"#/$defs/whole"}}},"$defs":{"whole":{"type":"object","properties":{"key":{},"below":{"items":{"$ref":"#/$defs/whole"}}},"required":["key"]}}}"##,
        ),
        // Conditions whose meaning would turn.
        (
            r#"{"properties":{"key":{}},"if":{"required":["key"]},"then":{"properties":{"q":{}}},"not":{"required":["key","q"]},"oneOf":[{"required":["key"]},{"required":["q"]}]}"#,
            r#"{"properties":{},"allOf":[{"anyOf":[{},{"required":["q"]}]},{"anyOf":[{"allOf":[{},{"properties":{"q":{}}}]},true]}],"type":"object"}"#,
        ),
        // Circles end, and nobody follows a reference out of the document.
        (
            r##"{"properties":{"key":{}},"allOf":[{"$ref":"#"},{"$ref":"http://127.0.0.1:9/x"}]}"##,
            r#"{"properties":{},"allOf":[{},{}],"type":"object"}"#,
        ),
    ] {
        let visible = VisibleSchema::strip(&object(declared), |name| name == "key");
        assert_eq!(visible.as_object().text(), expected);
    }
}

#[test]
fn providers_get_no_alternatives_at_the_root() {
    for (declared, expected) in [
        (
            r##"{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"oneOf":[{"properties":{"kind":{"const":"a"},"a":{}},"required":["kind"]},{"$ref":"#/$defs/B"}],"allOf":[{"required":["q","n"]}],"$defs":{"B":{"properties":{"kind":{"const":"b"},"n":{"type":"integer"}}}}}"##,
            r##"{"type":"object","properties":{"q":{"type":"string"},"kind":{"anyOf":[{"const":"a"},{"const":"b"}]},"a":{},"n":{"type":"integer"}},"required":["q","n"],"$defs":{"B":{"properties":{"kind":{"const":"b"},"n":{"type":"integer"}}}}}"##,
        ),
        (
            r#"{"type":"object","properties":{},"minProperties":1}"#,
            r#"{"type":"object","properties":{},"minProperties":1}"#,
        ),
    ] {
        let visible = VisibleSchema::strip(&object(declared), |_| false);
        assert_eq!(visible.flat().text(), expected);
    }
}

#[test]
fn hostile_schemas_end() {
    // Each definition names the next twice: written out, 2^40 parts.
    let mut defs = Object::new();
    for n in 0..40 {
        let next = object! { "$ref": format!("#/$defs/d{}", n + 1) };
        defs.insert(
            &format!("d{n}"),
            object! { "allOf": vec![Value::Object(next.clone()), Value::Object(next)] },
        );
    }
    defs.insert("d40", object(r#"{"properties":{"key":{}}}"#));
    let declared = object! { "$ref": "#/$defs/d0", "$defs": defs };
    let visible = VisibleSchema::strip(&declared, |name| name == "key");
    assert!(visible.as_object().text().len() < 1_000_000);
    assert!(!named(visible.as_object()).mentioned.contains(&"key".to_owned()));
    let mut deep = object(r#"{"properties":{"key":{}}}"#);
    // As deep as JSON may be.
    for _ in 0..120 {
        deep = object! { "allOf": vec![Value::Object(deep)] };
    }
    VisibleSchema::strip(&deep, |name| name == "key");
}

/// What a key may be read as: the ways a tool can be written in front of it.
fn prefixes(tool: ToolName<'_>) -> Vec<String> {
    let long = tool.server.map(|server| format!("{server}.{}.", tool.tool));
    long.into_iter().chain([format!("{}.", tool.tool)]).collect()
}

/// The value for a parameter, by the rule as it is told to people.
fn expected<'a>(
    entries: &'a Object,
    tool: ToolName<'_>,
    known: &[ToolName<'_>],
    parameter: &str,
) -> Option<&'a Value> {
    let longest = |key: &str| {
        let all = known.iter().flat_map(|t| prefixes(*t));
        all.filter(|p| key.len() > p.len() && key.starts_with(p.as_str())).map(|p| p.len()).max()
    };
    let targeted = entries.iter().filter_map(|(key, value)| {
        let length = longest(key)?;
        let mine = prefixes(tool).into_iter().any(|p| p.len() == length && key.starts_with(p.as_str()));
        (mine && key[length..] == *parameter).then_some((length, value))
    });
    let wildcard = entries.get(parameter).filter(|_| longest(parameter).is_none());
    targeted.max_by_key(|(length, _)| *length).map(|(_, value)| value).or(wildcard)
}

#[test]
fn targeted_beats_wildcard_beats_model_and_nothing_else_is_added() {
    for seed in seeds() {
        let _named = Named(seed);
        let mut dice = Dice(seed);
        let known = tool_names(&mut dice);
        let mut entries = Object::new();
        for n in 0..dice.below(8) {
            entries.insert(&key(&mut dice), format!("host {n}"));
        }
        let set = Passthrough::new(entries.clone()).unwrap();
        for &tool in &known {
            let declared = schema(&mut dice);
            let value = |name: &str| set.value(tool, &known, name);
            let visible = VisibleSchema::strip(&declared, |name| value(name).is_some());
            let given = arguments(&mut dice);
            let Ok(checked) = CheckedArgs::read(&given.text(), &visible, &Plain) else { continue };
            let Ok(full) = checked.inject(&declared, value) else { panic!("values went away") };
            let names = named(&declared).declared;
            for (name, value) in full.expose().iter() {
                let host = expected(&entries, tool, &known, name).filter(|_| names.iter().any(|n| n == name));
                let own = given.get(name).filter(|_| name != MANAGED || !names.iter().any(|n| n == name));
                assert_eq!(Some(value), host.or(own), "{name} of {tool:?} with {entries}");
                assert_eq!(full.supplied().any(|(n, _)| n == name), host.is_some());
            }
            for name in &names {
                let host = expected(&entries, tool, &known, name);
                assert!(host.is_none() || full.expose().get(name) == host, "{name} of {tool:?} is missing");
            }
        }
    }
}

#[test]
fn values_arrive_byte_for_byte() {
    let declared = object(r#"{"properties":{"key":{"type":"integer"},"q":{}}}"#);
    let tool = ToolName { server: None, tool: "t" };
    let mut texts = vec![
        "\"quoted\" \\ 'and' `more`".to_owned(),
        "\0\u{1}\u{7f}\r\n\t".to_owned(),
        "🙂👩‍👩‍👧 é e\u{301} \u{202e}".to_owned(),
        "\u{2028}\u{2029}\u{feff}</script><!--".to_owned(),
        "{\"a\": 1 }".to_owned(),
        String::new(),
    ];
    texts.push("é\"\0🙂".repeat(1024 * 1024 / 9));
    for text in texts {
        // Through JSON, as it comes over the wire; of the wrong type, which is the host's affair.
        let wire = object! { "key": text.as_str() }.text();
        let set = Passthrough::new(object(&wire)).unwrap();
        let value = |name: &str| set.value(tool, &[tool], name);
        let visible = VisibleSchema::strip(&declared, |name| value(name).is_some());
        let full =
            CheckedArgs::read("{\"q\":1}", &visible, &Plain).unwrap().inject(&declared, value).unwrap();
        assert_eq!(full.expose().str("key").unwrap().as_bytes(), text.as_bytes());
        assert_eq!(object(&set.to_wire().text()).str("key").unwrap().as_bytes(), text.as_bytes());
        let printed = format!("{set:?} {full:?} {}", full.masked());
        assert!(text.is_empty() || !printed.contains(&text));
    }
    for number in ["12345678901234567890123", "1.10", "-0", "1e400"] {
        let set = Passthrough::new(object(&format!("{{\"key\":{number}}}"))).unwrap();
        let value = |name: &str| set.value(tool, &[tool], name);
        let visible = VisibleSchema::strip(&declared, |_| true);
        let full = CheckedArgs::read("{}", &visible, &Plain).unwrap().inject(&declared, |name| match name {
            "q" => value("key"),
            name => value(name),
        });
        assert_eq!(full.unwrap().expose().get("key").unwrap().text(), number);
    }
}

#[test]
fn values_that_come_and_go() {
    let declared = object(r#"{"properties":{"key":{"type":"string"},"q":{"type":"string"}}}"#);
    let before = VisibleSchema::strip(&declared, |name| name == "key");
    // Gone since: the call fails, it does not go out without it.
    let gone = CheckedArgs::read(r#"{"key":"mine"}"#, &before, &Plain).unwrap().inject(&declared, |_| None);
    assert!(gone.unwrap_err().contains("no longer supplied"));
    // Come since: the host's value wins over what the model was still allowed to say.
    let value = Value::from("host");
    let come =
        CheckedArgs::read(r#"{"q":"mine"}"#, &before, &Plain).unwrap().inject(&declared, |_| Some(&value));
    assert_eq!(come.unwrap().expose().text(), r#"{"q":"host","key":"host"}"#);
    // Managed ones stay away without harm.
    let declared = object(r#"{"properties":{"uploaded_file_urls":{}},"required":["uploaded_file_urls"]}"#);
    let visible = VisibleSchema::strip(&declared, |_| false);
    assert_eq!(visible.as_object().text(), r#"{"properties":{},"type":"object"}"#);
    let full = CheckedArgs::read(r#"{"uploaded_file_urls":"forged"}"#, &visible, &Plain).unwrap();
    assert_eq!(full.inject(&declared, |_| None).unwrap().expose().text(), "{}");
}

#[test]
fn keys_are_refused_by_name_and_size() {
    for key in ["__proto__", "t.constructor", "a.b.prototype", MANAGED, "s.t.uploaded_file_urls", "", "t."] {
        let error =
            Passthrough::new([(key.to_owned(), Value::from("canary"))].into_iter().collect()).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidConfig);
        assert!(error.message.contains(key) && !format!("{error:?}").contains("canary"), "{error:?}");
    }
    // Names that only look like those.
    let fine = r#"{"proto":1,"__proto__.x":2,"constructor.key":3,"my_prototype":4}"#;
    assert!(Passthrough::new(object(fine)).is_ok());
    let error = Passthrough::new(object! { "key": "x".repeat(4 * 1024 * 1024) }).unwrap_err();
    assert_eq!(error.code, ErrorCode::PassthroughTooLarge);
}
