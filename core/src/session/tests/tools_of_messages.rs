//! Suggestions and thinking, as the panel is told of them.

use super::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn suggested(bench: &Bench) -> Vec<Vec<String>> {
    let items = |patch: &&Patch| match patch {
        Patch::SetSuggestions(items) => Some(items.clone()),
        _ => None,
    };
    bench.patches().iter().filter_map(items).collect()
}

fn with(items: &str) -> String {
    [r#"{"type":"CUSTOM","name":"mindset.suggestions","value":"#, items, "}"].concat()
}

#[test]
fn suggestions_are_offered_until_the_next_message() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let long = "é".repeat(201);
    let items = [r#"{"items":["One"," ","Two","One",7,""#, &long, r#"","4","5","6","7"]}"#].concat();
    bench.stream(&[STARTED, SAY, HEL, SAID, &with(&items), FINISHED]);
    let cut = "é".repeat(200);
    let all = ["One", "Two", &cut, "4", "5", "6"].map(str::to_owned).to_vec();
    assert_eq!(suggested(&bench), std::slice::from_ref(&all));
    assert!(bench.session.redraw().contains(&Patch::SetSuggestions(all.clone())));
    let told = bench.out.iter().find_map(|output| match output {
        Output::Event(DomEvent::Runtime(RuntimeEvent::Suggestions { items })) => Some(items.clone()),
        _ => None,
    });
    assert_eq!(told, Some(all));
    bench.send(2, "Two");
    assert_eq!(suggested(&bench).last(), Some(&Vec::new()));
    bench.stream(HELLO);
    assert!(!bench.session.redraw().iter().any(|patch| matches!(patch, Patch::SetSuggestions(_))));
}

#[test]
fn suggestions_of_another_shape_are_none() {
    for items in ["null", "[]", r#"{"items":"One"}"#, r#"{"items":[null,{},""]}"#] {
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        bench.stream(&[STARTED, SAY, HEL, SAID, &with(items), FINISHED]);
        assert!(suggested(&bench).iter().all(Vec::is_empty), "{items}");
        assert_eq!(bench.result().status, TurnStatus::Finished);
    }
}

#[test]
fn thinking_is_drawn_once_and_kept_nowhere() {
    let mut bench = Bench::ready();
    bench.send(1, "hi");
    let thinking = r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"z","delta":"hm"}"#;
    bench.stream(&[STARTED, thinking, SAY, HEL, SAID, FINISHED]);
    let think = Patch::Think { text: "hm".into() };
    assert!(bench.patches().contains(&&think));
    assert!(!bench.session.redraw().contains(&think));
    assert!(!bench.session.export().text().contains("hm"));
}
