//! What a person answers: checked against the questions, told to the asker by the labels.

use super::{OTHER, Questionnaire, Step};
use crate::json::{Object, Value, concat, digits};
use crate::object;

/// The answer to one step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepAnswer {
    /// The options that were chosen, by id.
    pub selected: Vec<String>,
    /// What the person wrote.
    pub other: Option<String>,
}

impl StepAnswer {
    /// Whether the step was left out.
    pub fn is_skipped(&self) -> bool {
        self.selected.is_empty() && self.other.is_none()
    }
}

impl Questionnaire {
    /// Checks `[{ stepId, selectedOptionIds?, otherText?, skipped? }]`; gives one answer per
    /// step, in the order of the steps.
    ///
    /// # Errors
    /// The first thing that is wrong, with the step's id.
    pub fn check(&self, answers: &Value) -> Result<Vec<StepAnswer>, String> {
        let Some(list) = answers.as_array() else {
            return Err(concat(&["`answers` must be a list, not ", answers.kind(), "."]));
        };
        let mut given: Vec<Option<StepAnswer>> = vec![None; self.steps.len()];
        for item in list {
            let id = item.str("stepId").unwrap_or("");
            let at = self.steps.iter().position(|step| step.id == id);
            let known = at.and_then(|at| Some((self.steps.get(at)?, given.get_mut(at)?)));
            let Some((step, place)) = known else {
                let id: String = id.chars().take(super::ID).collect();
                return Err(concat(&["The questionnaire has no step \"", &id, "\"."]));
            };
            if place.is_some() {
                return Err(wrong(step, "is answered twice"));
            }
            *place = Some(answer(step, item)?);
        }
        let mut answers = Vec::with_capacity(given.len());
        for (step, answer) in self.steps.iter().zip(given) {
            let answer = answer.unwrap_or_default();
            if step.required && answer.is_skipped() {
                return Err(wrong(step, "must be answered"));
            }
            answers.push(answer);
        }
        Ok(answers)
    }

    /// The answers for whoever asked, by question and label.
    pub fn told(&self, answers: &[StepAnswer]) -> Object {
        let one = |(step, answer): (&Step, &StepAnswer)| {
            let mut o = object! { "stepId": &step.id, "question": &step.question };
            if answer.is_skipped() {
                o.insert("skipped", true);
                return o;
            }
            if !answer.selected.is_empty() {
                let chosen = step.chosen(answer);
                o.insert("selectedOptionIds", chosen.iter().map(|c| Value::from(&c.id)).collect::<Vec<_>>());
                o.insert("selected", chosen.iter().map(|c| Value::from(&c.label)).collect::<Vec<_>>());
            }
            o.insert_some("otherText", answer.other.as_deref());
            o
        };
        object! { "answers": self.steps.iter().zip(answers).map(one).collect::<Vec<_>>() }
    }

    /// The answers in words, a line for each that was given.
    pub fn summary(&self, answers: &[StepAnswer]) -> String {
        let mut lines = Vec::new();
        for (step, answer) in self.steps.iter().zip(answers).filter(|(_, answer)| !answer.is_skipped()) {
            let mut parts: Vec<&str> =
                step.chosen(answer).iter().map(|choice| choice.label.as_str()).collect();
            parts.extend(answer.other.as_deref());
            lines.push(concat(&[&step.question, " ", &parts.join(", ")]));
        }
        if lines.is_empty() { "No question was answered.".to_owned() } else { lines.join("\n") }
    }

    /// The answers as they were given, complete: `[{ stepId, selectedOptionIds?, otherText?,
    /// skipped? }]`.
    pub fn given(&self, answers: &[StepAnswer]) -> Value {
        let one = |(step, answer): (&Step, &StepAnswer)| {
            let mut o = object! { "stepId": &step.id };
            if answer.is_skipped() {
                o.insert("skipped", true);
            }
            if !answer.selected.is_empty() {
                o.insert("selectedOptionIds", answer.selected.iter().map(Value::from).collect::<Vec<_>>());
            }
            o.insert_some("otherText", answer.other.as_deref());
            Value::Object(o)
        };
        Value::Array(self.steps.iter().zip(answers).map(one).collect())
    }
}

impl Step {
    /// The options that were chosen, in their own order.
    fn chosen(&self, answer: &StepAnswer) -> Vec<&super::Choice> {
        self.options.iter().filter(|choice| answer.selected.contains(&choice.id)).collect()
    }
}

fn answer(step: &Step, item: &Value) -> Result<StepAnswer, String> {
    let mut answer = StepAnswer::default();
    let chosen = match item.get("selectedOptionIds") {
        None | Some(Value::Null) => &[],
        Some(list) => list.as_array().ok_or_else(|| wrong(step, "needs a list of option ids"))?,
    };
    for id in chosen {
        let known = step.options.iter().find(|choice| Some(choice.id.as_str()) == id.as_str());
        let Some(choice) = known else { return Err(wrong(step, "has no option with one of these ids")) };
        if answer.selected.contains(&choice.id) {
            return Err(wrong(step, "names an option twice"));
        }
        answer.selected.push(choice.id.clone());
    }
    if !step.multiple && answer.selected.len() > 1 {
        return Err(wrong(step, "takes one option"));
    }
    answer.other = match item.get("otherText") {
        None | Some(Value::Null) => None,
        Some(text) => {
            let text = text.as_str().ok_or_else(|| wrong(step, "needs `otherText` as a text"))?;
            Some(text.to_owned()).filter(|text| !text.trim().is_empty())
        }
    };
    if answer.other.is_some() && !step.allow_other {
        return Err(wrong(step, "takes no text of one's own"));
    }
    if answer.other.as_ref().is_some_and(|text| text.chars().count() > OTHER) {
        return Err(wrong(
            step,
            &concat(&["takes a text of at most ", &digits(OTHER as u64), " characters"]),
        ));
    }
    if item.get("skipped").and_then(Value::as_bool) == Some(true) && !answer.is_skipped() {
        return Err(wrong(step, "is skipped and answered at once"));
    }
    Ok(answer)
}

fn wrong(step: &Step, what: &str) -> String {
    concat(&["The step \"", &step.id, "\" ", what, "."])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn questions() -> Questionnaire {
        let text = r#"{"steps":[
            {"id":"room","question":"Which room?","options":[{"id":"a","label":"Atrium"},{"id":"b","label":"Bay"}]},
            {"id":"food","question":"What to eat?","selectionMode":"multiple","required":false,"allowOther":true,
             "options":[{"id":"x","label":"Soup"},{"id":"y","label":"Rice"}]},
            {"id":"why","question":"Why?","required":false}]}"#;
        Questionnaire::read(parse(text).unwrap().as_object().unwrap(), "q").unwrap()
    }

    #[test]
    fn answers_are_told_by_their_labels() {
        let questions = questions();
        let given = parse(
            r#"[{"stepId":"food","selectedOptionIds":["y","x"],"otherText":"Bread"},
            {"stepId":"room","selectedOptionIds":["b"]}]"#,
        );
        let answers = questions.check(&given.unwrap()).unwrap();
        assert_eq!(
            questions.told(&answers).text(),
            concat!(
                r#"{"answers":[{"stepId":"room","question":"Which room?","selectedOptionIds":["b"],"selected":["Bay"]},"#,
                r#"{"stepId":"food","question":"What to eat?","selectedOptionIds":["x","y"],"#,
                r#""selected":["Soup","Rice"],"otherText":"Bread"},"#,
                r#"{"stepId":"why","question":"Why?","skipped":true}]}"#
            )
        );
        assert_eq!(questions.summary(&answers), "Which room? Bay\nWhat to eat? Soup, Rice, Bread");
        let again = questions.given(&answers);
        assert_eq!(questions.check(&again).unwrap(), answers);
    }

    #[test]
    fn wrong_answers_name_their_step() {
        let room = r#"{"stepId":"room","selectedOptionIds":["a"]}"#;
        let long = format!(r#"[{room},{{"stepId":"why","otherText":"{}"}}]"#, "x".repeat(OTHER + 1));
        let questions = questions();
        for (given, place) in [
            ("{}".to_owned(), "must be a list"),
            ("[]".into(), "\"room\" must be answered"),
            (r#"[{"stepId":"room","skipped":true}]"#.into(), "\"room\" must be answered"),
            (r#"[{"stepId":"nothing"}]"#.into(), "no step \"nothing\""),
            ("[3]".into(), "no step \"\""),
            (format!("[{room},{room}]"), "\"room\" is answered twice"),
            (r#"[{"stepId":"room","selectedOptionIds":["a","b"]}]"#.into(), "\"room\" takes one option"),
            (r#"[{"stepId":"room","selectedOptionIds":["Atrium"]}]"#.into(), "\"room\" has no option"),
            (r#"[{"stepId":"room","selectedOptionIds":"a"}]"#.into(), "\"room\" needs a list"),
            (r#"[{"stepId":"room","otherText":"Roof"}]"#.into(), "\"room\" takes no text"),
            (
                format!(r#"[{room},{{"stepId":"food","selectedOptionIds":["x","x"]}}]"#),
                "\"food\" names an option",
            ),
            (format!(r#"[{room},{{"stepId":"why","otherText":3}}]"#), "\"why\" needs `otherText`"),
            (format!(r#"[{room},{{"stepId":"why","otherText":"x","skipped":true}}]"#), "\"why\" is skipped"),
            (long, "\"why\" takes a text"),
        ] {
            let wrong = questions.check(&parse(&given).unwrap()).unwrap_err();
            assert!(wrong.contains(place), "{wrong} / {place}");
        }
        let blank = parse(&format!(r#"[{room},{{"stepId":"why","otherText":"  "}}]"#)).unwrap();
        assert!(questions.check(&blank).unwrap()[2].is_skipped());
    }
}
