//! JSON Patch operations on the wire. They are checked in shape only; whether one
//! applies is the applier's to say.

use super::fields::{Field, Fields};
use crate::json::Value;

/// Leaves out operations nobody knows, from the list `key`.
pub(super) fn check(f: &mut Fields<'_>, key: &str, operations: &mut Vec<Value>) {
    f.require_list(key);
    let path = f.at(key);
    let mut index = 0;
    operations.retain(|operation| {
        let at = [&path, "/", &index.to_string()].concat();
        index += 1;
        check_one(f, at, operation)
    });
}

fn check_one(f: &mut Fields<'_>, at: String, operation: &Value) -> bool {
    let nothing = crate::json::Object::new();
    let object = operation.as_object().unwrap_or(&nothing);
    let mut f = Fields { object, path: at, notes: f.notes };
    match String::read(&mut f, "op").as_str() {
        "add" | "replace" | "test" => {
            // `null` is a value here.
            if object.get("value").is_none() {
                f.fail("value", "a value");
            }
        }
        "move" | "copy" => check_pointer(&mut f, "from"),
        "remove" => {}
        _ => {
            f.notes.ignore(&f.path, "an unknown patch operation");
            return false;
        }
    }
    check_pointer(&mut f, "path");
    true
}

fn check_pointer(f: &mut Fields<'_>, key: &str) {
    let pointer = String::read(f, key);
    let escapes_end = pointer.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    if !(pointer.is_empty() || pointer.starts_with('/')) || !escapes_end {
        f.fail(key, "a JSON Pointer");
    }
}
