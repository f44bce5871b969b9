//! The widgets of tools: what does not fit the published schema is not sent to people. They
//! get its summary.

use mindset_core::event::Widget;
use mindset_core::json::{Value, parse};
use mindset_core::object;
use mindset_core::schema::Schema;
use mindset_core::turn::ToolOutcome;

use crate::pattern::Patterns;

/// The vocabulary, as it is published.
const VOCABULARY: &str = include_str!("../../../schema/widgets.json");

/// Bytes of a document.
const MAX_DOC: usize = 64 * 1024;

/// Violations that are logged of one document.
const LOGGED: usize = 3;

thread_local! {
    static SCHEMA: Option<Schema> = Schema::parse(&parse(VOCABULARY).ok()?, &Patterns).ok();
}

/// The outcome of a call of `tool` with every document that cannot be drawn taken out.
pub(super) fn checked(outcome: ToolOutcome, tool: &str, server: Option<&str>) -> ToolOutcome {
    match outcome {
        ToolOutcome::Done { content, sources, widgets } if !widgets.is_empty() => {
            let widgets = widgets.into_iter().map(|widget| fitting(widget, tool, server)).collect();
            ToolOutcome::Done { content, sources, widgets }
        }
        other => other,
    }
}

fn fitting(widget: Widget, tool: &str, server: Option<&str>) -> Widget {
    let Err(reason) = check(&widget) else { return widget };
    tracing::warn!(tool, server, kind = widget.kind, reason, "a widget is not drawn; its summary is shown");
    Widget::new(widget.kind, Value::Null, widget.summary)
}

/// Why a widget cannot be drawn. Kinds that nobody knows are the page's own.
fn check(widget: &Widget) -> Result<(), String> {
    let size = widget.doc.text().len();
    if size > MAX_DOC {
        return Err(format!("its document has {size} bytes and may have {MAX_DOC}"));
    }
    let whole = object! { "kind": &widget.kind, "doc": widget.doc.clone(), "summary": &widget.summary };
    let whole = whole.into();
    let violations =
        SCHEMA.with(|schema| schema.as_ref().map(|schema| schema.check(&whole)).unwrap_or_default());
    if violations.is_empty() {
        return Ok(());
    }
    let reasons: Vec<String> = violations.iter().take(LOGGED).map(ToString::to_string).collect();
    Err(reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widget(text: &str) -> Widget {
        Widget::from_json(&parse(text).unwrap()).unwrap()
    }

    fn examples() -> Vec<Widget> {
        let schema = parse(VOCABULARY).unwrap();
        let examples = schema.get("examples").unwrap().as_array().unwrap();
        examples.iter().map(|example| Widget::from_json(example).unwrap()).collect()
    }

    #[test]
    fn the_vocabulary_is_a_schema() {
        SCHEMA.with(|schema| assert_eq!(schema.as_ref().unwrap().warnings(), [""; 0]));
        let kinds: Vec<_> = examples().into_iter().map(|widget| widget.kind).collect();
        assert_eq!(kinds, ["card", "list", "table", "form", "choices", "chart", "progress"]);
    }

    #[test]
    fn every_example_fits() {
        let guide = include_str!("../../../docs/widgets.md");
        let blocks = guide.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        let documented = blocks.filter(|text| text.contains("\"summary\"")).map(widget);
        let all: Vec<_> = examples().into_iter().chain(documented).collect();
        assert!(all.len() >= 14, "{}", all.len());
        for example in all {
            assert_eq!(check(&example), Ok(()), "{}", example.doc.text());
        }
    }

    #[rustfmt::skip]
    const GOOD: &[(&str, &str)] = &[
        ("card", r#"{"title":"T"}"#),
        ("card", r#"{"title":"T","more":{"deep":[1]},"fields":[]}"#),
        ("card", r#"{"title":"T","fields":[{"label":"L","value":null},{"label":"L","value":true},{"label":"L","value":""}]}"#),
        ("card", r#"{"title":"T","image":{"url":"https://x.example/a.png","alt":""},"href":"mailto:a@b.example"}"#),
        ("list", r#"{"items":[{"title":"T"}],"ordered":true}"#),
        ("table", r#"{"columns":[{"key":"a","label":"A"}],"rows":[]}"#),
        ("table", r#"{"columns":[{"key":"a","label":"A"}],"rows":[{},{"a":1},{"b":"x"}]}"#),
        ("form", r#"{"title":"T","fields":[{"name":"a","label":"A","type":"text"}],"submit":{"action":"go","label":"Go"}}"#),
        ("choices", r#"{"question":"Q?","options":[{"id":"a","label":"A"}]}"#),
        ("chart", r#"{"type":"line","title":"T","labels":["a"],"series":[{"name":"s","values":[null]}]}"#),
        ("chart", r#"{"type":"pie","title":"T","labels":["a"],"series":[{"name":"s","values":[0]}]}"#),
        ("progress", r#"{"title":"T","value":0}"#),
        ("progress", r#"{"title":"T","steps":[{"label":"L","state":"done"}]}"#),
        ("seating_plan", r#"[1,2]"#),
        ("Card", "null"),
    ];

    #[rustfmt::skip]
    const BAD: &[(&str, &str, &str)] = &[
        ("card", "null", "/doc"),
        ("card", "[]", "/doc"),
        ("card", r#""text""#, "/doc"),
        ("card", "{}", "/doc"),
        ("card", r#"{"title":""}"#, "/doc/title"),
        ("card", r#"{"title":"  "}"#, "/doc/title"),
        ("card", r#"{"title":{"text":"T"}}"#, "/doc/title"),
        ("card", r#"{"title":"T","href":"javascript:alert(1)"}"#, "/doc/href"),
        ("card", r#"{"title":"T","href":" https://x.example"}"#, "/doc/href"),
        ("card", r#"{"title":"T","href":"//x.example"}"#, "/doc/href"),
        ("card", r#"{"title":"T","image":{"url":"data:image/png;base64,AA","alt":""}}"#, "/doc/image/url"),
        ("card", r#"{"title":"T","image":{"url":"https://x.example/a.png"}}"#, "/doc/image"),
        ("card", r#"{"title":"T","fields":[{"label":"L","value":[1]}]}"#, "/doc/fields/0/value"),
        ("card", r#"{"title":"T","fields":[{"label":"L","value":1,"type":"money"}]}"#, "/doc/fields/0/type"),
        ("card", r#"{"title":"T","actions":[{"label":"L"}]}"#, "/doc/actions/0"),
        ("card", r#"{"title":"T","actions":[{"action":"a","label":"L","style":"loud"}]}"#, "/doc/actions/0/style"),
        ("list", r#"{"items":[]}"#, "/doc/items"),
        ("list", r#"{"items":["T"]}"#, "/doc/items/0"),
        ("list", r#"{"items":[{"title":"T","icon":"too long for a sign"}]}"#, "/doc/items/0/icon"),
        ("table", r#"{"columns":[],"rows":[]}"#, "/doc/columns"),
        ("table", r#"{"columns":[{"key":"a","label":"A"}],"rows":[["x"]]}"#, "/doc/rows/0"),
        ("table", r#"{"columns":[{"key":"a","label":"A"}],"rows":[{"a":{"b":1}}]}"#, "/doc/rows/0/a"),
        ("table", r#"{"columns":[{"key":"a","label":"A","align":"left"}],"rows":[]}"#, "/doc/columns/0/align"),
        ("form", r#"{"title":"T","fields":[],"submit":{"action":"go","label":"Go"}}"#, "/doc/fields"),
        ("form", r#"{"title":"T","fields":[{"name":"a","label":"A","type":"text"}]}"#, "/doc"),
        ("form", r#"{"title":"T","fields":[{"name":"a b","label":"A","type":"text"}],"submit":{"action":"go","label":"Go"}}"#, "/doc/fields/0/name"),
        ("form", r#"{"title":"T","fields":[{"name":"a","label":"A","type":"password"}],"submit":{"action":"go","label":"Go"}}"#, "/doc/fields/0/type"),
        ("form", r#"{"title":"T","fields":[{"name":"a","label":"A","type":"select"}],"submit":{"action":"go","label":"Go"}}"#, "/doc/fields/0"),
        ("form", r#"{"title":"T","fields":[{"name":"a","label":"A","type":"number","step":0}],"submit":{"action":"go","label":"Go"}}"#, "/doc/fields/0/step"),
        ("choices", r#"{"question":"Q?","options":[]}"#, "/doc/options"),
        ("choices", r#"{"question":"Q?","mode":"many","options":[{"id":"a","label":"A"}]}"#, "/doc/mode"),
        ("chart", r#"{"type":"radar","title":"T","labels":["a"],"series":[{"name":"s","values":[1]}]}"#, "/doc/type"),
        ("chart", r#"{"type":"bar","title":"T","labels":["a"],"series":[{"name":"s","values":["1"]}]}"#, "/doc/series/0/values/0"),
        ("chart", r#"{"type":"bar","title":"T","labels":["a"],"series":[{"name":"s","values":[1e300]}]}"#, "/doc/series/0/values/0"),
        ("chart", r#"{"type":"pie","title":"T","labels":["a"],"series":[{"name":"s","values":[-1]}]}"#, "/doc/series/0/values/0"),
        ("chart", r#"{"type":"pie","title":"T","labels":["a"],"series":[{"name":"s","values":[1]},{"name":"t","values":[1]}]}"#, "/doc/series"),
        ("progress", r#"{"title":"T"}"#, "/doc"),
        ("progress", r#"{"title":"T","value":40}"#, "/doc/value"),
        ("progress", r#"{"title":"T","steps":[{"label":"L","state":"maybe"}]}"#, "/doc/steps/0/state"),
    ];

    #[test]
    fn what_fits_and_what_does_not() {
        for (kind, doc) in GOOD {
            let widget = Widget::new(*kind, parse(doc).unwrap(), "In words.");
            assert_eq!(check(&widget), Ok(()), "{kind} {doc}");
        }
        for (kind, doc, place) in BAD {
            let widget = Widget::new(*kind, parse(doc).unwrap(), "In words.");
            let reason = check(&widget).expect_err(doc);
            assert!(reason.starts_with(&format!("{place} ")), "{kind} {doc}: {reason}");
        }
    }

    #[test]
    fn the_limits_hold() {
        let many = |count: usize, item: &str| vec![item; count].join(",");
        let cases = [
            ("list", r#"{"items":[#]}"#, r#"{"title":"T"}"#, 100),
            ("table", r#"{"columns":[{"key":"a","label":"A"}],"rows":[#]}"#, "{}", 200),
            ("table", r#"{"rows":[],"columns":[#]}"#, r#"{"key":"a","label":"A"}"#, 20),
            ("card", r#"{"title":"T","fields":[#]}"#, r#"{"label":"L","value":1}"#, 40),
            ("card", r#"{"title":"T","actions":[#]}"#, r#"{"label":"L","action":"a"}"#, 6),
            ("choices", r#"{"question":"Q?","options":[#]}"#, r#"{"id":"a","label":"A"}"#, 50),
            (
                "chart",
                r#"{"type":"bar","title":"T","labels":[#],"series":[{"name":"s","values":[1]}]}"#,
                "\"a\"",
                50,
            ),
            (
                "chart",
                r#"{"type":"pie","title":"T","labels":[#],"series":[{"name":"s","values":[1]}]}"#,
                "\"a\"",
                12,
            ),
            (
                "chart",
                r#"{"type":"bar","title":"T","labels":["a"],"series":[{"name":"s","values":[#]}]}"#,
                "1",
                50,
            ),
            ("progress", r#"{"title":"T","steps":[#]}"#, r#"{"label":"L","state":"done"}"#, 30),
        ];
        for (kind, form, item, limit) in cases {
            for (count, fits) in [(limit, true), (limit + 1, false)] {
                let doc = parse(&form.replace('#', &many(count, item))).unwrap();
                assert_eq!(check(&Widget::new(kind, doc, "s")).is_ok(), fits, "{kind} {item} {count}");
            }
        }
        for (length, fits) in [(4000, true), (4001, false)] {
            let doc = object! { "title": "T", "text": "é".repeat(length) };
            assert_eq!(check(&Widget::new("card", doc.into(), "s")).is_ok(), fits);
        }
        let large = Widget::new("seating_plan", Value::from("x".repeat(MAX_DOC)), "s");
        assert!(check(&large).unwrap_err().contains("65538 bytes"));
    }

    #[test]
    fn of_a_bad_document_the_summary_stays() {
        let widgets = vec![
            Widget::new("card", object! { "title": 7_u64 }.into(), "Seven."),
            Widget::new("card", object! { "title": "T" }.into(), "T."),
        ];
        let outcome = ToolOutcome::Done { content: "c".to_owned(), sources: Vec::new(), widgets };
        let ToolOutcome::Done { widgets, .. } = checked(outcome, "show", Some("hr")) else { panic!() };
        let shown: Vec<_> = widgets.iter().map(|w| (w.doc.text(), &*w.summary)).collect();
        assert_eq!(shown, [("null".to_owned(), "Seven."), (r#"{"title":"T"}"#.to_owned(), "T.")]);
    }
}
