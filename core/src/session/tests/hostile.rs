//! Input that means harm: it must end in a usable session, never in a panic.

use super::*;
use crate::queue::WhenBusy;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A small deterministic generator (xorshift), seeded per round.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

const PIECES: &[&str] = &[
    r#"{"type":"CUSTOM","name":"mindset.widget","value":{"widgetId":"w","kind":"card","doc":1,"summary":"s"}}"#,
    STARTED,
    FINISHED,
    SAY,
    HEL,
    LO,
    SAID,
    r#"{"type":"RUN_ERROR","message":""}"#,
    r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"id3","delta":"x"}"#,
    r#"{"type":"TEXT_MESSAGE_CHUNK","delta":""}"#,
    r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"n","parentMessageId":"nobody","delta":"{"}"#,
    r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[]}"#,
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["","c"]}}"#,
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"weird"}}"#,
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","metadata":{"mindset":{"bound":{"reason":"deadline","limit":-1}}}}"#,
    r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"","role":"assistant","toolCalls":[]}]}"#,
    "{",
];

#[test]
fn random_bytes() {
    for seed in 1..200 {
        let mut dice = Dice(seed * 0x9e37_79b9);
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        let fetch = bench.fetch();
        bench.head(200, "text/event-stream");
        for _ in 0..dice.roll(20) {
            let bytes: Vec<u8> = (0..dice.roll(200)).map(|_| dice.roll(256) as u8).collect();
            bench.input(Input::Bytes { fetch, bytes: b"data: {\"type\":" });
            bench.input(Input::Bytes { fetch, bytes: &bytes });
        }
        bench.input(Input::End { fetch, result: Ok(()) });
        if bench.session.is_busy() {
            bench.break_down();
        }
        assert_eq!(bench.results().len(), 1);
        assert!(!bench.session.is_busy());
    }
}

fn some_ask(dice: &mut Dice) -> Ask {
    let id = ["a", "b"][dice.roll(2) as usize].to_owned();
    match dice.roll(6) {
        0 => Ask::List,
        1 => Ask::New,
        2 => Ask::Earlier,
        3 => Ask::Switch { id },
        4 => Ask::Delete { id },
        _ => Ask::Rename { id, title: "T".into() },
    }
}

fn settled_once(bench: &Bench, sent: u32, seed: u64) {
    assert_eq!(bench.results().len() as u32, sent, "seed {seed}");
    let mut ids: Vec<u32> = bench.results().iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len() as u32, sent, "seed {seed}");
}

/// What was answered, by number.
fn answers(bench: &Bench) -> Vec<u32> {
    let answer = |output: &Output| match output {
        Output::Answer { id, .. } => Some(id.0),
        _ => None,
    };
    let mut answers: Vec<_> = bench.out.iter().filter_map(answer).collect();
    answers.sort_unstable();
    answers
}

const KINDS: [&str; 3] = ["text/event-stream", "application/json", ""];

fn some_options(dice: &mut Dice) -> SendOptions {
    let wishes = [None, None, Some(WhenBusy::Queue), Some(WhenBusy::Steer)];
    let when_busy = wishes[dice.roll(4) as usize];
    SendOptions { silent: dice.roll(2) == 0, when_idle: dice.roll(2) == 0, when_busy }
}

#[test]
fn anything_in_any_order() {
    for seed in 1..600 {
        let mut dice = Dice(seed * 0x9e37_79b9);
        let mut bench = Bench::new();
        let (mut sent, mut asked) = (0, 0);
        for step in 0..120 {
            let purposes = bench.requests().len() as u64 + 1;
            let fetch = FetchId(dice.roll(purposes + 1) as u32);
            let fetch = if dice.roll(3) == 0 { fetch } else { FetchId(purposes as u32 - 1) };
            let event = format!("data: {}\n\n", PIECES[dice.roll(PIECES.len() as u64) as usize]);
            let input = match dice.roll(19) {
                0 if step == 0 || dice.roll(8) == 0 => {
                    let page_auth = dice.roll(2) == 0;
                    let config = if dice.roll(2) == 0 { config() } else { agui_config() };
                    Input::Start(Config { page_auth, ..config })
                }
                1 => Input::Token(Ok(Token::new("t"))),
                2 | 3 => {
                    Input::Send { id: SendId(step), text: "hi", options: some_options(&mut dice) }
                }
                14 => Input::Queue { run_id: "", change: QueueChange::Resume },
                4 => Input::Retry { id: SendId(step) },
                18 => Input::WidgetAction { id: SendId(step), widget: "w", action: "go", payload: "[1]" },
                5 => Input::Stop,
                6 => Input::Reconnect,
                7 => Input::Head {
                    fetch,
                    status: [200, 200, 401, 404, 500][dice.roll(5) as usize],
                    content_type: "",
                },
                8 | 9 => Input::Head { fetch, status: 200, content_type: KINDS[dice.roll(3) as usize] },
                10 => Input::Bytes { fetch, bytes: br#"{"authToken":"t"}"# },
                16 => {
                    asked += 1;
                    Input::Ask { id: AskId(asked), ask: some_ask(&mut dice) }
                }
                17 => Input::Bytes { fetch, bytes: br#"{"messages":[],"conversations":[],"before":"m","queue":[{"runId":"q","messageId":"n","text":"later","state":"queued"}]}"# },
                11 if dice.roll(2) == 0 => Input::End { fetch, result: Ok(()) },
                12 if dice.roll(2) == 0 => {
                    Input::End { fetch, result: Err(FetchFailure { message: String::new() }) }
                }
                13 => {
                    bench.now += dice.roll(40_000);
                    Input::Tick
                }
                _ => Input::Bytes { fetch, bytes: event.as_bytes() },
            };
            let counts =
                matches!(input, Input::Send { .. } | Input::Retry { .. } | Input::WidgetAction { .. });
            sent += u32::from(bench.try_input(input).is_ok() && counts);
        }
        // However it went: started anew, everything is settled exactly once. What
        // was sent before the first start of all still waits for it.
        bench.start(config());
        bench.start(config());
        settled_once(&bench, sent, seed);
        bench.answer_json(200, r#"{"authToken":"t"}"#);
        bench.settle_down();
        assert_eq!(answers(&bench), (1..=asked).collect::<Vec<_>>(), "seed {seed}");
        bench.send(1000, "hi");
        bench.stream(HELLO);
        assert_eq!(bench.story().last().unwrap(), "settle 1000 finished", "seed {seed}");
    }
}

#[test]
fn left_alone_every_turn_ends_by_itself() {
    for events in 0..HELLO.len() {
        let mut bench = Bench::ready();
        bench.send(1, "hi");
        if events > 0 {
            bench.head(200, "text/event-stream");
        }
        for event in &HELLO[..events] {
            bench.event(event);
        }
        bench.settle_down();
        assert_eq!((bench.results().len(), bench.session.is_busy()), (1, false));
    }
}

#[test]
fn time_at_its_end() {
    let mut bench = Bench::new();
    bench.now = Millis::MAX;
    bench.start(config());
    bench.fail();
    bench.input(Input::Tick);
    bench.answer_json(200, r#"{"authToken":"t"}"#);
    bench.send(1, "hi");
    bench.stream(HELLO);
    assert_eq!(bench.results().len(), 1);
}
