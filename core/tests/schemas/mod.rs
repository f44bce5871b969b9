//! Random schemas of tools, and a reader of its own for what they declare: it shares
//! nothing with the code it checks.

use mindset_core::json::{Object, Value, parse};
use mindset_core::object;
use mindset_core::passthrough::ToolName;

use super::dice::Dice;

/// Names of parameters.
pub const NAMES: [&str; 8] = ["key", "q", "n", "a.b", "~/%", "uploaded_file_urls", "x", "limit"];

pub fn json(text: &str) -> Value {
    parse(text).unwrap()
}

/// What a schema says of one value.
fn value_schema(dice: &mut Dice) -> Value {
    json(dice.pick(&[
        "{}",
        "true",
        r#"{"type":"string"}"#,
        r#"{"type":"integer"}"#,
        r#"{"const":1}"#,
        r##"{"$ref":"#/properties/key"}"##,
        r##"{"$ref":"#/properties/~0~1%25"}"##,
        r##"{"$ref":"#/$defs/D1"}"##,
        r##"{"$ref":"#"}"##,
        r#"{"$ref":"http://127.0.0.1:9/canary.json"}"#,
        r#"{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}"#,
    ]))
}

fn names(dice: &mut Dice) -> Vec<&'static str> {
    (0..dice.below(4)).map(|_| dice.pick(&NAMES)).collect()
}

fn example(dice: &mut Dice) -> Value {
    Value::Object(arguments(dice))
}

/// Random arguments.
pub fn arguments(dice: &mut Dice) -> Object {
    let values = ["1", "\"a\"", "null", "{\"key\":\"b\"}", "2"];
    names(dice).into_iter().map(|name| (name.to_owned(), json(dice.pick(&values)))).collect()
}

/// A part that speaks of the arguments' own object.
fn part(dice: &mut Dice, depth: u64) -> Value {
    if dice.once_in(12) {
        return Value::Bool(dice.once_in(2));
    }
    let mut out = Object::new();
    if dice.once_in(2) {
        let mut properties = Object::new();
        for name in names(dice) {
            properties.insert(name, value_schema(dice));
        }
        out.insert("properties", properties);
    }
    for _ in 0..dice.below(4) {
        keyword(dice, depth, &mut out);
    }
    Value::Object(out)
}

fn keyword(dice: &mut Dice, depth: u64, out: &mut Object) {
    let deep = depth > 0;
    let parts =
        |dice: &mut Dice| -> Vec<Value> { (0..=dice.below(3)).map(|_| part(dice, depth - 1)).collect() };
    match dice.below(22) {
        0 | 1 => out.insert("required", names(dice)),
        2 => out.insert("dependentRequired", object! { "q": names(dice), "key": names(dice) }),
        3 if deep => out.insert("allOf", parts(dice)),
        4 if deep => out.insert("anyOf", parts(dice)),
        5 | 6 if deep => out.insert("oneOf", parts(dice)),
        7 | 8 if deep => {
            out.insert("if", part(dice, depth - 1));
            for branch in ["then", "else"] {
                if !dice.once_in(3) {
                    out.insert(branch, part(dice, depth - 1));
                }
            }
        }
        9 if deep => out.insert("not", part(dice, depth - 1)),
        10 if deep => {
            out.insert(
                "dependentSchemas",
                object! { "x": part(dice, depth - 1), "key": part(dice, depth - 1) },
            );
        }
        11 if deep => {
            out.insert("dependencies", object! { "n": names(dice), "q": part(dice, depth - 1) });
        }
        12 | 13 => {
            let target = dice.pick(&[
                "#/$defs/D1",
                "#/$defs/D2",
                "#here",
                "#",
                "#/nowhere",
                "other.json",
                "tool.json#/$defs/D2",
            ]);
            out.insert(dice.pick(&["$ref", "$ref", "$dynamicRef"]), target);
        }
        14 => out.insert("minProperties", dice.below(4)),
        15 => out.insert("maxProperties", 2 + dice.below(6)),
        16 => out.insert("additionalProperties", dice.once_in(2)),
        17 => out.insert("unevaluatedProperties", false),
        18 => out.insert("examples", vec![example(dice), Value::from("text")]),
        19 => out.insert("default", example(dice)),
        20 => out.insert("enum", (0..4).map(|_| example(dice)).collect::<Vec<_>>()),
        21 => out.insert("propertyNames", object! { "minLength": 1_u64 }),
        _ => {}
    }
}

/// The parameters of a tool, as its server declares them.
pub fn schema(dice: &mut Dice) -> Object {
    let mut out = match part(dice, 2) {
        Value::Object(root) => root,
        _ => Object::new(),
    };
    if dice.once_in(2) {
        out.insert("type", "object");
    }
    if dice.once_in(2) {
        let mut anchored = part(dice, 1);
        if let Value::Object(anchored) = &mut anchored {
            anchored.insert(dice.pick(&["$anchor", "$dynamicAnchor"]), "here");
        }
        out.insert("$defs", object! { "D1": part(dice, 1), "D2": part(dice, 2), "D3": anchored });
    }
    if dice.once_in(4) {
        out.insert("$id", "tool.json");
    }
    out
}

/// Servers, `""` for none, and tools.
const TOOLS: [(&str, &str); 8] = [
    ("s", "a"),
    ("s", "a.b"),
    ("t", "a"),
    ("", "a"),
    ("", "s.a"),
    ("s.a", "b"),
    ("t", "look at"),
    ("s", "键"),
];

/// Tools whose names can be mistaken for each other's.
pub fn tool_names(dice: &mut Dice) -> Vec<ToolName<'static>> {
    let tools = TOOLS.iter().filter(|_| !dice.once_in(3));
    tools.map(|&(server, tool)| ToolName { server: (!server.is_empty()).then_some(server), tool }).collect()
}

/// A key for one of their parameters, or for none.
pub fn key(dice: &mut Dice) -> String {
    let parameter = dice.pick(&["key", "q", "n", "a.b", "b.key", "x"]);
    let (server, tool) = dice.pick(&TOOLS);
    match dice.below(3) {
        0 => parameter.to_owned(),
        1 => format!("{tool}.{parameter}"),
        _ => format!("{server}.{tool}.{parameter}"),
    }
}

/// What a name is to a schema.
#[derive(Default)]
pub struct Named {
    /// Declared as a property, but not under `not`.
    pub declared: Vec<String>,
    /// Mentioned as a property or as required.
    pub mentioned: Vec<String>,
}

/// Reads every part of the schema that speaks of the arguments' own object.
pub fn named(schema: &Object) -> Named {
    let mut named = Named::default();
    let root = Value::Object(schema.clone());
    read(&root, &root, true, &mut Vec::new(), &mut named);
    named
}

fn read<'v>(
    part: &'v Value,
    root: &'v Value,
    counts: bool,
    seen: &mut Vec<(*const Value, bool)>,
    named: &mut Named,
) {
    let Value::Object(object) = part else { return };
    if seen.contains(&(std::ptr::from_ref(part), counts)) {
        return;
    }
    seen.push((part, counts));
    for (keyword, value) in object.iter() {
        match keyword {
            "properties" => {
                let keys = value.as_object().into_iter().flat_map(Object::iter).map(|(k, _)| k.to_owned());
                for key in keys {
                    named.mentioned.push(key.clone());
                    if counts {
                        named.declared.push(key);
                    }
                }
            }
            "required" => named.mentioned.extend(texts(value)),
            "dependentRequired" | "dependencies" | "dependentSchemas" => {
                for (key, value) in value.as_object().into_iter().flat_map(Object::iter) {
                    named.mentioned.push(key.to_owned());
                    named.mentioned.extend(texts(value));
                    read(value, root, counts, seen, named);
                }
            }
            "allOf" | "anyOf" | "oneOf" => {
                for part in value.as_array().unwrap_or_default() {
                    read(part, root, counts, seen, named);
                }
            }
            "if" | "then" | "else" => read(value, root, counts, seen, named),
            "not" => read(value, root, false, seen, named),
            "$ref" | "$dynamicRef" => {
                if let Some(target) = target(root, value.as_str().unwrap()) {
                    read(target, root, counts, seen, named);
                }
            }
            "const" | "default" => mention_members(value, named),
            "enum" | "examples" => {
                value.as_array().unwrap_or_default().iter().for_each(|v| mention_members(v, named));
            }
            _ => {}
        }
    }
}

fn mention_members(value: &Value, named: &mut Named) {
    named.mentioned.extend(value.as_object().into_iter().flat_map(Object::iter).map(|(k, _)| k.to_owned()));
}

fn texts(value: &Value) -> impl Iterator<Item = String> {
    value.as_array().unwrap_or_default().iter().filter_map(Value::as_str).map(str::to_owned)
}

fn target<'v>(root: &'v Value, reference: &str) -> Option<&'v Value> {
    let reference = match reference.strip_prefix("tool.json") {
        Some(rest) if root.str("$id") == Some("tool.json") => rest,
        _ => reference,
    };
    match reference.strip_prefix('#')? {
        "" => Some(root),
        "here" => ["D1", "D2", "D3"].iter().find_map(|d| {
            root.get("$defs")?.get(d).filter(|d| d.get("$anchor").or(d.get("$dynamicAnchor")).is_some())
        }),
        pointer => pointer.split('/').skip(1).try_fold(root, |value, token| {
            value.get(&token.replace("~1", "/").replace("~0", "~").replace("%25", "%"))
        }),
    }
}
