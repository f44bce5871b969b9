//! Whatever a server says, in whatever shape: nothing panics, and what matters goes
//! through as it was written.

use mindset_core::json::{Value, parse};

use super::*;
use crate::mcp::wire::{BESIDE, Expect, incoming};

/// Random JSON from a fixed start, the same in every run.
struct Shapes(u64);

const WORDS: &[&str] = &[
    "content",
    "type",
    "text",
    "image",
    "resource",
    "uri",
    "isError",
    "structuredContent",
    "resultType",
    "task",
    "input_required",
    "inputRequests",
    "params",
    "message",
    "tools",
    "name",
    "inputSchema",
    "nextCursor",
    "ttlMs",
    "annotations",
    "readOnlyHint",
    "title",
    "code",
    "data",
    "error",
    "result",
    "id",
    "method",
    "_meta",
    "é😀\u{0}\"",
    "protocolVersion",
    "supportedVersions",
    "capabilities",
    "serverInfo",
    "execution",
    "taskSupport",
    BESIDE,
];

impl Shapes {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 => parse(["0", "-1", "1.50", "1E400", "99999999999999999999"][self.below(5)]).unwrap(),
            3 | 4 => self.word().into(),
            5 | 6 => Value::Array((0..self.below(4)).map(|_| self.value(depth - 1)).collect()),
            _ => Value::Object(self.object(depth - 1)),
        }
    }

    fn object(&mut self, depth: usize) -> Object {
        (0..self.below(5)).map(|_| (self.word().to_owned(), self.value(depth))).collect()
    }
}

#[test]
fn any_result_of_a_call_comes_through_unchanged() {
    let mut shapes = Shapes(0x5eed_0001);
    for _ in 0..3000 {
        let result = shapes.value(5);
        let _ = outcome::outcome(&result);
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, result.text());
        let text = incoming(&message, Expect::Call, None, None).unwrap();
        let beside = parse(&text).unwrap().get("result").unwrap().str("structuredContent").map(str::to_owned);
        assert_eq!(beside.as_deref(), Some(&*result.text()), "{message}");
    }
}

#[test]
fn any_message_is_taken_or_left() {
    let mut shapes = Shapes(0x5eed_0002);
    let id = Value::from(7u64);
    for _ in 0..3000 {
        let message = Value::Object(shapes.object(5)).text();
        for expect in [Expect::Start, Expect::Tools, Expect::Call, Expect::Any] {
            for id in [None, Some(&id)] {
                let taken = incoming(&message, expect, id, None);
                assert!(taken.is_none_or(|text| parse(&text).is_ok()), "{message}");
            }
        }
    }
}

#[test]
fn any_list_of_tools_is_a_list() {
    let mut shapes = Shapes(0x5eed_0003);
    let (server, mask) =
        (server("http://127.0.0.1:1/mcp"), Mask::new(&caller("one"), &server("http://127.0.0.1:1/")));
    for _ in 0..2000 {
        let items = Value::Array((0..shapes.below(6)).map(|_| shapes.value(4)).collect());
        let message = format!(r#"{{"id":1,"result":{{"tools":{}}}}}"#, items.text());
        let text = incoming(&message, Expect::Tools, None, None).unwrap();
        let listed = parse(&text).unwrap();
        let listed = listed.get("result").unwrap().get("tools").unwrap().as_array().unwrap();
        assert_eq!(listed.len(), items.as_array().unwrap().len());
        let texts: Vec<String> =
            listed.iter().map(|tool| tool.get("_meta").unwrap().str(BESIDE).unwrap().to_owned()).collect();
        let offered = tools::offered(&server, &texts, &mask);
        assert!(offered.tools.iter().all(|tool| !tool.name.is_empty()));
    }
}
