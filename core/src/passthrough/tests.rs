//! What may be named, and which key supplies which parameter.

use super::*;
use crate::json::parse;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn object(text: &str) -> Object {
    parse(text).unwrap().as_object().unwrap().clone()
}

fn tool<'a>(server: &'a str, tool: &'a str) -> ToolName<'a> {
    ToolName { server: (!server.is_empty()).then_some(server), tool }
}

#[test]
fn targeted_wins_and_the_longest_tool_name_counts() {
    let known = [tool("s", "a"), tool("s", "a.b"), tool("t", "a"), tool("", "page")];
    let set = Passthrough::new(object(
        r#"{"x":"wild","a.x":"any a","s.a.x":"s only","a.b.x":"dotted","page.x":"p","c.x":"literal"}"#,
    ))
    .unwrap();
    for (name, parameter, expected) in [
        (known[0], "x", Some("s only")),
        (known[1], "x", Some("dotted")),
        (known[2], "x", Some("any a")),
        (known[3], "x", Some("p")),
        (known[3], "y", None),
        (known[3], "c.x", Some("literal")),
        (known[0], "b.x", None),
    ] {
        let found = set.value(name, &known, parameter).and_then(Value::as_str);
        assert_eq!(found, expected, "{name:?} {parameter}");
    }
}

#[test]
fn refused_names_are_told_by_name() {
    for key in [
        "__proto__",
        "t.constructor",
        "a.b.prototype",
        "uploaded_file_urls",
        "t.uploaded_file_urls",
        "",
        "t.",
    ] {
        let mut entries = Object::new();
        entries.insert(key, 1_u64);
        let error = Passthrough::new(entries).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidConfig, "{key}");
        assert!(error.message.contains(key), "{}", error.message);
    }
}
