//! What a server asks of the person before it goes on (`input_required`, or `elicitation/create` of
//! the older revision; forms only): its schema as a questionnaire, and the answers as it wants them
//! back.

use mindset_core::json::{self, Object, Value};
use mindset_core::object;
use mindset_core::questionnaire::{self, Choice, Questionnaire, Step, StepAnswer};
use mindset_core::turn::{ToolAnswer, ToolQuestions, ToolReply};

use super::wire::bounded;

/// The largest state and form that are kept, in bytes.
const MAX_STATE: usize = 64 * 1024;

/// The options of a question that is answered by yes or no.
const YES: &str = "yes";
const NO: &str = "no";

/// What goes back to the server with the call that is made again.
#[derive(Debug, Default)]
pub(super) struct Retry {
    /// By the server's own keys.
    pub(super) responses: Vec<(String, Value)>,
    /// As the server gave it.
    pub(super) state: Option<String>,
}

/// The questions of a result that asks for input; `None` if people cannot be asked that way.
pub(super) fn questions(result: &Value) -> Option<ToolQuestions> {
    let mut state = Object::new();
    state.insert("inputRequests", result.get("inputRequests")?.as_object()?.clone());
    state.insert_some("requestState", result.str("requestState"));
    if state.text().len() > MAX_STATE {
        return None;
    }
    let state = Value::Object(state);
    let steps: Vec<Step> = fields(&state)?.iter().enumerate().map(|(at, field)| field.step(at)).collect();
    if steps.is_empty() || steps.len() > questionnaire::STEPS {
        return None;
    }
    let message = requests(&state).find_map(|(_, request)| request.get("params")?.str("message"));
    let title = message.map(|message| bounded(message, questionnaire::LABEL - 4));
    let questions = Questionnaire { id: String::new(), title, steps };
    Some(ToolQuestions { questions, state, live: false })
}

/// The answer as the server wants it, or the questions once more, with what does not fit.
pub(super) fn retry(answer: &ToolAnswer) -> Result<Retry, Box<ToolQuestions>> {
    let state = &answer.asked.state;
    let action = match &answer.reply {
        ToolReply::Answers(answers) => return accepted(answer, answers),
        ToolReply::Decline => "decline",
        ToolReply::Cancel => "cancel",
    };
    let response = |(key, _): (&str, &Value)| (key.to_owned(), Value::Object(object! { "action": action }));
    Ok(Retry {
        responses: requests(state).map(response).collect(),
        state: state.str("requestState").map(str::to_owned),
    })
}

fn accepted(answer: &ToolAnswer, answers: &[StepAnswer]) -> Result<Retry, Box<ToolQuestions>> {
    let state = &answer.asked.state;
    let fields = fields(state).unwrap_or_default();
    let mut again = answer.asked.clone();
    let mut fits = true;
    let mut contents: Vec<(String, Object)> =
        requests(state).map(|(key, _)| (key.to_owned(), Object::new())).collect();
    for (at, (field, answer)) in fields.iter().zip(answers).enumerate() {
        if answer.is_skipped() {
            continue;
        }
        match field.value(answer) {
            Ok(value) => {
                let content = contents.iter_mut().find(|(key, _)| *key == field.request);
                content.into_iter().for_each(|(_, content)| content.insert(field.name, value.clone()));
            }
            Err(why) => {
                fits = false;
                if let Some(step) = again.questions.steps.get_mut(at) {
                    step.description = Some(why.to_owned());
                }
            }
        }
    }
    if !fits {
        return Err(Box::new(again));
    }
    let response = |(key, content): (String, Object)| {
        (key, Value::Object(object! { "action": "accept", "content": content }))
    };
    Ok(Retry {
        responses: contents.into_iter().map(response).collect(),
        state: state.str("requestState").map(str::to_owned),
    })
}

fn requests(state: &Value) -> impl Iterator<Item = (&str, &Value)> {
    state.get("inputRequests").and_then(Value::as_object).into_iter().flat_map(Object::iter)
}

/// One value of a form.
struct Field<'a> {
    /// The request it belongs to.
    request: &'a str,
    name: &'a str,
    schema: &'a Value,
    required: bool,
}

/// Every value that is asked for; `None` if one request is no form, or a value no plain one.
fn fields(state: &Value) -> Option<Vec<Field<'_>>> {
    let mut fields = Vec::new();
    for (key, request) in requests(state) {
        let params = request.get("params").filter(|_| request.str("method") == Some("elicitation/create"))?;
        if params.str("mode").is_some_and(|mode| mode != "form") {
            return None;
        }
        let schema = params.get("requestedSchema")?;
        let required = schema.get("required").and_then(Value::as_array).unwrap_or_default();
        for (name, property) in schema.get("properties")?.as_object()?.iter() {
            let kind = property.str("type").unwrap_or("string");
            if !matches!(kind, "string" | "number" | "integer" | "boolean" | "array") {
                return None;
            }
            let required = required.iter().any(|n| n.as_str() == Some(name));
            fields.push(Field { request: key, name, schema: property, required });
        }
    }
    Some(fields)
}

impl Field<'_> {
    fn step(&self, at: usize) -> Step {
        let question = self.schema.str("title").unwrap_or(self.name);
        let description = self.schema.str("description");
        let options = self.options();
        let shown = |(i, (label, recommended)): (usize, (String, bool))| Choice {
            id: self.option_id(i),
            label: bounded(&label, questionnaire::LABEL - 4),
            description: None,
            recommended,
        };
        Step {
            id: format!("{at}"),
            question: bounded(question, questionnaire::TEXT - 4),
            description: description.map(|text| bounded(text, questionnaire::TEXT - 4)),
            multiple: self.kind() == "array",
            allow_other: options.is_empty(),
            options: options.into_iter().take(questionnaire::OPTIONS).enumerate().map(shown).collect(),
            required: self.required,
        }
    }

    fn kind(&self) -> &str {
        self.schema.str("type").unwrap_or("string")
    }

    /// The values to choose from, with their labels.
    fn choices(&self) -> Vec<(Value, String)> {
        let schema = if self.kind() == "array" { self.schema.get("items") } else { Some(self.schema) };
        let Some(schema) = schema else { return Vec::new() };
        let titled = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
        if let Some(titled) = titled {
            let choice = |item: &Value| {
                let value = item.get("const")?.clone();
                let label = item.str("title").map_or_else(|| plain(&value), str::to_owned);
                Some((value, label))
            };
            return titled.iter().filter_map(choice).collect();
        }
        let values = schema.get("enum").and_then(Value::as_array).unwrap_or_default();
        let names = schema.get("enumNames").and_then(Value::as_array).unwrap_or_default();
        let label = |(i, value): (usize, &Value)| {
            let name = names.get(i).and_then(Value::as_str).map(str::to_owned);
            (value.clone(), name.unwrap_or_else(|| plain(value)))
        };
        values.iter().enumerate().map(label).collect()
    }

    /// The labels to choose from, and which of them the server would take.
    fn options(&self) -> Vec<(String, bool)> {
        let default = self.schema.get("default");
        if self.kind() == "boolean" {
            let is = |flag| default == Some(&Value::Bool(flag));
            return vec![("Yes".to_owned(), is(true)), ("No".to_owned(), is(false))];
        }
        let usual = |value: &Value| match default {
            Some(Value::Array(values)) => values.contains(value),
            default => default == Some(value),
        };
        self.choices().into_iter().map(|(value, label)| (label, usual(&value))).collect()
    }

    fn option_id(&self, at: usize) -> String {
        match (self.kind(), at) {
            ("boolean", 0) => YES.to_owned(),
            ("boolean", _) => NO.to_owned(),
            _ => format!("{at}"),
        }
    }

    /// What was answered, in the schema's type.
    fn value(&self, answer: &StepAnswer) -> Result<Value, &'static str> {
        let text = answer.other.as_deref().unwrap_or("").trim();
        match self.kind() {
            "boolean" => Ok(Value::Bool(answer.selected.iter().any(|id| id == YES))),
            "number" => number(text).ok_or("This must be a number, such as 3.5."),
            "integer" => number(text)
                .filter(|n| n.as_u64().is_some() || matches!(n, Value::Number(n) if n.as_i64().is_some()))
                .ok_or("This must be a whole number, such as 3."),
            kind => {
                let choices = self.choices();
                if choices.is_empty() {
                    return Ok(answer.other.as_deref().unwrap_or("").into());
                }
                let chosen = |id: &String| choices.get(id.parse::<usize>().ok()?).map(|(v, _)| v.clone());
                let mut chosen: Vec<Value> = answer.selected.iter().filter_map(chosen).collect();
                match kind {
                    "array" => Ok(Value::Array(chosen)),
                    _ => chosen.pop().ok_or("Choose one of these."),
                }
            }
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.text(), str::to_owned)
}

fn number(text: &str) -> Option<Value> {
    json::parse(text).ok().filter(|value| matches!(value, Value::Number(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = r#"{"resultType":"input_required","requestState":"s-1","inputRequests":{"who":{
        "method":"elicitation/create","params":{"mode":"form","message":"Who comes?","requestedSchema":{
        "type":"object","required":["name","size"],"properties":{
        "name":{"type":"string","title":"Name","description":"As on the badge"},
        "size":{"type":"integer"},"vegan":{"type":"boolean","default":true},
        "day":{"type":"string","oneOf":[{"const":"mo","title":"Monday"},{"const":"tu","title":"Tuesday"}]},
        "food":{"type":"array","items":{"enum":["soup","rice"]},"default":["rice"]}}}}}}}"#;

    fn asked() -> ToolQuestions {
        questions(&json::parse(RESULT).unwrap()).unwrap()
    }

    fn answered(given: &str) -> ToolAnswer {
        let asked = asked();
        let answers = asked.questions.check(&json::parse(given).unwrap()).unwrap();
        ToolAnswer { asked, reply: ToolReply::Answers(answers) }
    }

    #[test]
    fn a_form_is_a_questionnaire_and_back() {
        let asked = asked();
        let again = Questionnaire::read(&asked.questions.to_json(), "").unwrap();
        assert_eq!(again, asked.questions, "it is one that everybody can read");
        assert_eq!(asked.questions.title.as_deref(), Some("Who comes?"));
        let steps = &asked.questions.steps;
        assert_eq!(
            (steps[0].question.as_str(), steps[0].required, steps[0].allow_other),
            ("Name", true, true)
        );
        assert!(steps[2].options[0].recommended && !steps[2].options[1].recommended);
        assert_eq!(steps[3].options[1].label, "Tuesday");
        assert!(steps[4].multiple && steps[4].options[1].recommended);
        let answer = answered(
            r#"[{"stepId":"0","otherText":"Ann"},{"stepId":"1","otherText":" 3 "},
            {"stepId":"2","selectedOptionIds":["no"]},{"stepId":"3","selectedOptionIds":["1"]},
            {"stepId":"4","selectedOptionIds":["1","0"]}]"#,
        );
        let retry = retry(&answer).unwrap();
        assert_eq!((retry.responses[0].0.as_str(), retry.state.as_deref()), ("who", Some("s-1")));
        assert_eq!(
            retry.responses[0].1.text(),
            r#"{"action":"accept","content":{"name":"Ann","size":3,"vegan":false,"day":"tu","food":["rice","soup"]}}"#
        );
    }

    #[test]
    fn what_does_not_fit_is_asked_again() {
        let answer = answered(r#"[{"stepId":"0","otherText":"Ann"},{"stepId":"1","otherText":"many"}]"#);
        let again = retry(&answer).unwrap_err();
        assert!(again.questions.steps[1].description.as_ref().unwrap().contains("whole number"));
        assert_eq!(again.state, answer.asked.state);
        for (reply, action) in [(ToolReply::Decline, "decline"), (ToolReply::Cancel, "cancel")] {
            let retry = retry(&ToolAnswer { asked: asked(), reply }).unwrap();
            assert_eq!(retry.responses[0].1.str("action"), Some(action));
        }
    }

    #[test]
    fn what_people_cannot_be_asked_is_no_form() {
        for (from, to) in [
            (r#""mode":"form""#, r#""mode":"url""#),
            ("elicitation/create", "sampling/createMessage"),
            (r#""size":{"type":"integer"}"#, r#""size":{"type":"object"}"#),
        ] {
            assert_eq!(questions(&json::parse(&RESULT.replace(from, to)).unwrap()), None, "{to}");
        }
        for none in [r#"{"requestState":"s"}"#, r#"{"inputRequests":{}}"#, "{}"] {
            assert_eq!(questions(&json::parse(none).unwrap()), None, "{none}");
        }
    }
}
