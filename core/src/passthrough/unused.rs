//! Definitions that nothing refers to any more, once references were replaced by what
//! they led to: they would still name what was taken out.

use super::moved::escaped;
use crate::json::{Object, Value, concat};
use crate::schema::percent_decode;

/// Where definitions stand at the root.
const PLACES: &[&str] = &["$defs", "definitions"];

/// Drops the root's definitions that nothing reaches. With references by anchor or
/// identifier all stay.
pub(super) fn drop_unused(schema: &mut Object) {
    let mut used = Used { pointers: Vec::new(), by_name: false };
    for (keyword, value) in schema.iter() {
        if !PLACES.contains(&keyword) {
            used.note_member(keyword, value);
        }
    }
    // One that is used may refer to another.
    let mut before = usize::MAX;
    while before != used.pointers.len() {
        before = used.pointers.len();
        for place in PLACES {
            let Some(Value::Object(defs)) = schema.get(place) else { continue };
            for (name, part) in defs.iter() {
                if used.reaches(place, name) {
                    used.note(part);
                }
            }
        }
    }
    for place in PLACES {
        if let Some(Value::Object(defs)) = schema.get_mut(place) {
            defs.retain(|name| used.by_name || used.reaches(place, name));
            if defs.is_empty() {
                schema.remove(place);
            }
        }
    }
}

/// What is referred to.
struct Used {
    /// Places in the document, as JSON Pointers, each once.
    pointers: Vec<String>,
    /// Something is referred to by another way than its place.
    by_name: bool,
}

impl Used {
    fn reaches(&self, place: &str, name: &str) -> bool {
        let at = concat(&["/", place, "/", &escaped(name)]);
        let into = |pointer: &String| {
            pointer.strip_prefix(at.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.pointers.iter().any(into)
    }

    fn note(&mut self, value: &Value) {
        match value {
            Value::Object(object) => {
                for (keyword, value) in object.iter() {
                    self.note_member(keyword, value);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.note(item);
                }
            }
            _ => {}
        }
    }

    fn note_member(&mut self, keyword: &str, value: &Value) {
        match (keyword, value) {
            ("$ref" | "$dynamicRef", Value::String(reference)) => {
                match reference.strip_prefix('#').and_then(percent_decode) {
                    Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                        if !self.pointers.contains(&pointer) {
                            self.pointers.push(pointer);
                        }
                    }
                    _ => self.by_name = true,
                }
            }
            _ => self.note(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::json::parse;
    use crate::passthrough::VisibleSchema;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn visible(declared: &str) -> String {
        let declared = parse(declared).unwrap();
        VisibleSchema::strip(declared.as_object().unwrap(), |name| name == "secret").as_object().text()
    }

    #[test]
    fn what_was_inlined_is_told_nowhere_else() {
        let secret = visible(
            r##"{"allOf":[{"$ref":"#/$defs/Q"}],"$defs":{"Q":{"properties":{"secret":{},"x":{"$ref":"#/$defs/a~1b"}},
                "required":["secret"]},"a/b":{"$ref":"#/$defs/c"},"c":{"type":"string"},"d":{}}}"##,
        );
        assert!(!secret.contains("secret"), "{secret}");
        assert!(secret.contains(r##""a/b":{"$ref":"#/$defs/c"},"c""##), "{secret}");
        assert!(!secret.contains(r#""d""#), "{secret}");
    }

    #[test]
    fn what_is_used_elsewhere_or_by_name_stays() {
        for schema in [
            r##"{"properties":{"secret":{},"nested":{"$ref":"#/$defs/Q"}},"$defs":{"Q":{"properties":{"secret":{}}}}}"##,
            r##"{"properties":{"secret":{},"nested":{"$ref":"#q"}},"$defs":{"Q":{"$anchor":"q"},"unused":{}}}"##,
        ] {
            let before = parse(schema).unwrap();
            let after = parse(&visible(schema)).unwrap();
            assert_eq!(before.get("$defs"), after.get("$defs"), "{schema}");
        }
    }
}
