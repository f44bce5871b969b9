//! Whole turns with a canary in every channel, over random tools and keys: each is seen
//! exactly where its channel may be seen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)]
mod dice;
#[allow(dead_code, unused_imports)]
mod pair;
#[allow(dead_code)]
mod schemas;

use std::collections::{BTreeMap, BTreeSet};

use dice::{Dice, Named, seeds};
use mindset_core::event::ToolSource;
use mindset_core::json::{Object, Value};
use mindset_core::passthrough::FullArgs;
use mindset_core::session::{self, PageTool};
use mindset_core::turn::{ModelEvent, ModelRequest, ServerTool, ToolOutcome};
use pair::{Pair, ScriptedModel, call, config, text, tool};
use schemas::{arguments, key, named, schema, tool_names};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Where something can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Requests of the page to the runtime.
    Wire,
    System,
    /// Messages and tools of a model request.
    Model,
    Stream,
    Store,
    /// What tools of the runtime were called with.
    ServerTool,
    /// What handlers of the page were called with.
    PageTool,
    /// Events and panel of the page.
    Page,
    /// What a log could print of the calls.
    Printed,
}

use Place::{Model, Page, PageTool as Handlers, Printed, ServerTool as Called, Store, Stream, System, Wire};

/// Canaries and where each may be seen; the ones of pass-through parameters are
/// followed by their number.
const CHANNELS: [(&str, &[Place]); 7] = [
    ("canary-instructions", &[System]),
    ("canary-aware", &[Wire, System]),
    ("canary-person", &[Wire, Model, Store, Page]),
    ("canary-page-result", &[Wire, Model, Store]),
    ("canary-tool-result", &[Model, Stream, Store]),
    ("canary-kept-", &[Handlers]),
    ("canary-sent-", &[Wire, Called, Handlers]),
];

/// Which canary was seen where, over all turns.
type Seen = BTreeSet<(&'static str, Place)>;

fn page_tools(dice: &mut Dice) -> Vec<PageTool> {
    let names = ["look", "a", "s__a", "jump"];
    let mut tools = Vec::new();
    for name in names {
        if dice.once_in(2) {
            continue;
        }
        let mut declared = schema(dice);
        declared.insert("type", "object");
        let mut tool = tool(name, "");
        tool.parameters = Some(declared);
        // Not every schema is one that a page may set.
        let mut page = Pair::unstarted(ScriptedModel::default());
        page.add_page(config());
        if page.input(0, session::Input::SetPageTools(vec![tool.clone()])).is_err() {
            tool.parameters = None;
        }
        tools.push(tool);
    }
    tools
}

fn server_tools(dice: &mut Dice) -> Vec<ServerTool> {
    let names = tool_names(dice).into_iter();
    names
        .map(|name| ServerTool {
            source: if name.server.is_some() { ToolSource::Mcp } else { ToolSource::Builtin },
            server: name.server.map(str::to_owned),
            name: name.tool.to_owned(),
            description: String::new(),
            title: Some("Title".to_owned()),
            parameters: Some(Value::Object(schema(dice))),
            read_only: dice.once_in(2),
        })
        .collect()
}

/// Whether a key stays in the page, told by the rule.
fn stays(key: &str, tools: &[PageTool]) -> bool {
    let Some((name, parameter)) = key.split_once('.') else { return false };
    let declares = |tool: &&PageTool| {
        let declared = tool.parameters.as_ref().map(|schema| named(schema).declared).unwrap_or_default();
        tool.name == name && declared.iter().any(|d| d == parameter)
    };
    tools.iter().any(|tool| declares(&tool))
}

/// Values for random keys; their keys are kept by number.
fn supplied(dice: &mut Dice, tools: &[PageTool], keys: &mut BTreeMap<usize, String>) -> Object {
    let mut values = Object::new();
    for _ in 0..dice.below(8) {
        let key = match dice.below(3) {
            0 => format!(
                "{}.{}",
                dice.pick(&["look", "a", "s__a", "jump"]),
                dice.pick(&["key", "q", "a.b", "x"])
            ),
            _ => key(dice),
        };
        let number = keys.len();
        let canary = if stays(&key, tools) { "canary-kept-" } else { "canary-sent-" };
        values.insert(&key, format!("{canary}{number}."));
        keys.insert(number, key);
    }
    values
}

/// What the model says to one request.
fn improvise(dice: &mut Dice, request: &ModelRequest) -> Vec<(u64, ModelEvent)> {
    let mut events = vec![text("Well. ")];
    for number in 0..u32::try_from(dice.below(5)).unwrap() {
        if let Some(tool) = request.tools.get(usize::try_from(dice.below(20)).unwrap()) {
            events.extend(call(number, &tool.name, &arguments(dice).text()));
        }
    }
    events.push(ModelEvent::End { usage: None });
    events.into_iter().map(|event| (dice.pick(&[0, 5]), event)).collect()
}

fn pair(dice: &mut Dice, tools: &[PageTool]) -> Pair {
    let mut model_dice = Dice(dice.roll());
    let mut pair =
        Pair::unstarted(ScriptedModel::improvising(move |request| improvise(&mut model_dice, request)));
    pair.server.agent.instructions = "canary-instructions".into();
    pair.server.agent.tools = server_tools(dice);
    pair.server.agent.bounds.steps = 6;
    let mut tool_dice = Dice(dice.roll());
    pair.server.handler = Box::new(move |_| {
        let outcome = match tool_dice.below(4) {
            0 => ToolOutcome::Failed("It failed.".into()),
            1 => ToolOutcome::Unknown("It broke.".into()),
            _ => ToolOutcome::Done {
                content: "canary-tool-result".into(),
                sources: Vec::new(),
                widgets: Vec::new(),
            },
        };
        Some((tool_dice.pick(&[0, 3, 50]), outcome))
    });
    pair.add_page(config());
    pair.pages[0].handler = Box::new(|_| Some((2, Ok("canary-page-result".into()))));
    pair.input(0, session::Input::SetPageTools(tools.to_vec())).unwrap();
    pair.drive();
    pair
}

fn play(seed: u64, seen: &mut Seen) {
    let mut dice = Dice(seed);
    let tools = page_tools(&mut dice);
    let mut pair = pair(&mut dice, &tools);
    let mut keys = BTreeMap::new();
    for _ in 0..3 {
        let values = supplied(&mut dice, &tools, &mut keys);
        pair.input(0, session::Input::SetPassthrough(values)).unwrap();
        pair.input(0, session::Input::SetAwareness("{\"c\":\"canary-aware\"}")).unwrap();
        pair.send("canary-person");
        if dice.once_in(2) {
            pair.drive_for(dice.below(20));
            let values = supplied(&mut dice, &tools, &mut keys);
            pair.input(0, session::Input::SetPassthrough(values)).unwrap();
        }
        if dice.once_in(6) {
            pair.drive_for(dice.below(20));
            pair.stop();
        }
        pair.drive();
    }
    check(&pair, &keys, seen);
}

fn check(pair: &Pair, keys: &BTreeMap<usize, String>, seen: &mut Seen) {
    for (place, text) in places(pair) {
        for (canary, allowed) in CHANNELS {
            if text.contains(canary) {
                assert!(allowed.contains(&place), "{canary} is in {place:?}: {text}");
                seen.insert((canary, place));
            }
        }
    }
    let server = pair.server.called.iter().map(|request| &request.arguments);
    let page = pair.page().runs.iter().map(|run| &run.arguments);
    for arguments in server.chain(page) {
        check_keys(arguments, keys);
    }
}

/// A value is found under the parameter that its key names.
fn check_keys(arguments: &FullArgs, keys: &BTreeMap<usize, String>) {
    for (name, value) in arguments.expose().iter() {
        let Some(value) = value.as_str().filter(|v| v.starts_with("canary-")) else { continue };
        let number: usize = value.trim_end_matches('.').rsplit('-').next().unwrap().parse().unwrap();
        let key = &keys[&number];
        assert!(key == name || key.ends_with(&format!(".{name}")), "{key} came as {name}");
        assert!(arguments.supplied().any(|(supplied, _)| supplied == name));
    }
}

fn places(pair: &Pair) -> Vec<(Place, String)> {
    let server = &pair.server;
    let page = pair.page();
    let requests = &server.model.requests;
    let exposed = |arguments: &FullArgs| arguments.expose().text();
    vec![
        (Wire, server.posted.concat()),
        (Wire, server.changed.iter().map(Object::text).collect()),
        (System, requests.iter().map(|r| r.system.as_str()).collect()),
        (Model, requests.iter().map(|r| format!("{:?}{:?}", r.messages, r.tools)).collect()),
        (Stream, server.streams.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect()),
        (Store, format!("{:?}", server.store)),
        (Called, server.called.iter().map(|request| exposed(&request.arguments)).collect()),
        (Handlers, page.runs.iter().map(|run| exposed(&run.arguments)).collect()),
        (Page, format!("{:?}{:?}{:?}", page.events, page.patches, page.transcript())),
        (Printed, format!("{:?}{:?}", server.called, page.runs)),
    ]
}

#[test]
fn every_canary_where_it_belongs_and_nowhere_else() {
    let mut seen = Seen::new();
    for seed in seeds() {
        let _named = Named(seed);
        play(seed, &mut seen);
    }
    // Each was really there where it may be.
    for (canary, allowed) in CHANNELS {
        for place in allowed {
            assert!(seen.contains(&(canary, *place)), "{canary} was never in {place:?}");
        }
    }
}
