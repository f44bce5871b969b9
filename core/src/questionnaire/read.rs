//! A questionnaire as a model or a server writes it, checked; what is wrong is said for
//! whoever wrote it.

use super::{Choice, ID, LABEL, OPTIONS, Questionnaire, STEPS, Step, TEXT};
use crate::json::{Object, Value, concat, digits};

impl Questionnaire {
    /// Reads `{ title?, steps }` as the questionnaire `id`. What is left out means: one option,
    /// required, and no other text where there are options.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn read(given: &Object, id: &str) -> Result<Questionnaire, String> {
        let title = optional(given, "title", "", LABEL)?;
        let Some(list) = given.get("steps").and_then(Value::as_array) else {
            return Err("`steps` is missing. It is the list of questions.".to_owned());
        };
        if list.is_empty() || list.len() > STEPS {
            return Err(concat(&["`steps` must have 1 to ", &digits(STEPS as u64), " questions."]));
        }
        let mut steps: Vec<Step> = Vec::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            let place = concat(&["steps[", &digits(at as u64), "]"]);
            let read = step(item, &place)?;
            if steps.iter().any(|known| known.id == read.id) {
                return Err(twice(&place, &read.id));
            }
            steps.push(read);
        }
        Ok(Questionnaire { id: id.to_owned(), title, steps })
    }

    /// Reads what [`to_json`](Self::to_json) writes; `None` if it is none.
    pub fn from_json(value: &Value) -> Option<Questionnaire> {
        Questionnaire::read(value.as_object()?, value.str("id")?).ok()
    }
}

fn step(item: &Value, place: &str) -> Result<Step, String> {
    let object = object(item, place)?;
    let multiple = match object.get("selectionMode") {
        None | Some(Value::Null) => false,
        Some(mode) => match mode.as_str() {
            Some("single") => false,
            Some("multiple") => true,
            _ => return Err(concat(&[place, ".selectionMode must be \"single\" or \"multiple\"."])),
        },
    };
    let options = options(object, place)?;
    Ok(Step {
        id: required(object, "id", place, ID)?,
        question: required(object, "question", place, TEXT)?,
        description: optional(object, "description", place, TEXT)?,
        multiple,
        allow_other: options.is_empty() || flag(object, "allowOther", place)?.unwrap_or(false),
        required: flag(object, "required", place)?.unwrap_or(true),
        options,
    })
}

fn options(step: &Object, place: &str) -> Result<Vec<Choice>, String> {
    let list = match step.get("options") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(list) => list.as_array().ok_or_else(|| concat(&[place, ".options must be a list."]))?,
    };
    if list.len() > OPTIONS {
        let most = digits(OPTIONS as u64);
        return Err(concat(&[place, ".options has more than ", &most, " options. Ask in smaller steps."]));
    }
    let mut options: Vec<Choice> = Vec::with_capacity(list.len());
    for (at, item) in list.iter().enumerate() {
        let place = concat(&[place, ".options[", &digits(at as u64), "]"]);
        let object = object(item, &place)?;
        let choice = Choice {
            id: required(object, "id", &place, ID)?,
            label: required(object, "label", &place, LABEL)?,
            description: optional(object, "description", &place, TEXT)?,
            recommended: flag(object, "recommended", &place)?.unwrap_or(false),
        };
        if options.iter().any(|known| known.id == choice.id) {
            return Err(twice(&place, &choice.id));
        }
        options.push(choice);
    }
    Ok(options)
}

fn twice(place: &str, id: &str) -> String {
    concat(&[place, ".id: \"", id, "\" is there twice. Ids must be unique."])
}

fn object<'a>(item: &'a Value, place: &str) -> Result<&'a Object, String> {
    item.as_object().ok_or_else(|| concat(&[place, " must be an object, not ", item.kind(), "."]))
}

fn required(object: &Object, key: &str, place: &str, most: usize) -> Result<String, String> {
    optional(object, key, place, most)?
        .ok_or_else(|| concat(&[place, ".", key, " is missing. It must be a text."]))
}

fn optional(object: &Object, key: &str, place: &str, most: usize) -> Result<Option<String>, String> {
    let dot = if place.is_empty() { "" } else { "." };
    let text = match object.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value.as_str().ok_or_else(|| concat(&[place, dot, key, " must be a text."]))?,
    };
    if text.trim().is_empty() && key != "id" {
        return Ok(None);
    }
    let bad = key == "id" && (text.trim().is_empty() || text.chars().any(char::is_control));
    if bad || text.chars().count() > most {
        let most = digits(most as u64);
        return Err(concat(&[place, dot, key, " must be 1 to ", &most, " printable characters."]));
    }
    Ok(Some(text.to_owned()))
}

fn flag(object: &Object, key: &str, place: &str) -> Result<Option<bool>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(concat(&[place, ".", key, " must be true or false."])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn read(text: &str) -> Result<Questionnaire, String> {
        Questionnaire::read(parse(text).unwrap().as_object().unwrap(), "q1")
    }

    #[test]
    fn what_is_left_out_is_written_out() {
        let read = read(
            r#"{"title":" ","steps":[{"id":"a","question":"Which?","options":[{"id":"x","label":"X"}]},
            {"id":"b","question":"Why?","selectionMode":"multiple","required":false,"description":"In short."}]}"#,
        )
        .unwrap();
        let text = concat!(
            r#"{"id":"q1","steps":[{"id":"a","question":"Which?","selectionMode":"single","#,
            r#""options":[{"id":"x","label":"X"}],"allowOther":false,"required":true},"#,
            r#"{"id":"b","question":"Why?","description":"In short.","selectionMode":"multiple","#,
            r#""allowOther":true,"required":false}]}"#
        );
        assert_eq!(read.to_json().text(), text);
        assert_eq!(Questionnaire::from_json(&parse(text).unwrap()), Some(read));
    }

    #[test]
    fn what_is_wrong_is_named_by_place() {
        let options = |n: usize| {
            let option: Vec<_> = (0..n).map(|i| format!(r#"{{"id":"{i}","label":"L"}}"#)).collect();
            format!(r#"{{"steps":[{{"id":"a","question":"Q","options":[{}]}}]}}"#, option.join(","))
        };
        let steps = |n: usize| {
            let step: Vec<_> = (0..n).map(|i| format!(r#"{{"id":"{i}","question":"Q"}}"#)).collect();
            format!(r#"{{"steps":[{}]}}"#, step.join(","))
        };
        assert!(read(&options(OPTIONS)).is_ok() && read(&steps(STEPS)).is_ok());
        for (text, place) in [
            ("{}".to_owned(), "`steps` is missing"),
            (r#"{"title":3,"steps":[]}"#.to_owned(), "title must"),
            (steps(0), "1 to 20"),
            (steps(STEPS + 1), "1 to 20"),
            (options(OPTIONS + 1), "steps[0].options"),
            (r#"{"steps":["x"]}"#.into(), "steps[0] must be an object"),
            (r#"{"steps":[{"question":"Q"}]}"#.into(), "steps[0].id is missing"),
            (r#"{"steps":[{"id":"","question":"Q"}]}"#.into(), "steps[0].id must be 1"),
            (r#"{"steps":[{"id":"a\n","question":"Q"}]}"#.into(), "steps[0].id must be 1"),
            (r#"{"steps":[{"id":"a","question":" "}]}"#.into(), "steps[0].question is missing"),
            (
                r#"{"steps":[{"id":"a","question":"Q"},{"id":"a","question":"Q"}]}"#.into(),
                "steps[1].id: \"a\" is there twice",
            ),
            (r#"{"steps":[{"id":"a","question":"Q","options":{}}]}"#.into(), "steps[0].options must be"),
            (
                r#"{"steps":[{"id":"a","question":"Q","options":[{"id":"x"}]}]}"#.into(),
                "steps[0].options[0].label",
            ),
            (
                r#"{"steps":[{"id":"a","question":"Q","options":[{"id":"x","label":"A"},{"id":"x","label":"B"}]}]}"#
                    .into(),
                "steps[0].options[1].id: \"x\"",
            ),
            (r#"{"steps":[{"id":"a","question":"Q","required":"yes"}]}"#.into(), "steps[0].required"),
            (r#"{"steps":[{"id":"a","question":"Q","selectionMode":"any"}]}"#.into(), "selectionMode"),
            (format!(r#"{{"steps":[{{"id":"a","question":"{}"}}]}}"#, "x".repeat(TEXT + 1)), "1 to 2000"),
        ] {
            let wrong = read(&text).unwrap_err();
            assert!(wrong.contains(place), "{wrong} / {place}");
        }
    }
}
