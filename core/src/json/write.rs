//! Values to compact JSON text.

use super::{Object, Value};

const HEX: &[u8; 16] = b"0123456789abcdef";

pub(super) fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(n) => out.push_str(n.as_str()),
        Value::String(s) => write_string(out, s),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(object) => write_object(out, object),
    }
}

pub(super) fn write_object(out: &mut String, object: &Object) {
    out.push('{');
    for (i, (key, value)) in object.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_string(out, key);
        out.push(':');
        write_value(out, value);
    }
    out.push('}');
}

/// Appends `text` as a JSON string, quotes included. Only what JSON demands is
/// escaped, so the text stays readable and as short as it can be.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let byte = c as usize;
                out.push_str("\\u00");
                for digit in [byte >> 4, byte & 15] {
                    out.push(HEX.get(digit).map_or('0', |&d| d as char));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
