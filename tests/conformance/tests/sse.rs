//! The SSE decoder against what Chromium's own makes of the same bytes, however
//! they are split, and against recorded and reported streams.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mindset_conformance::{MODELS, SSE};
use mindset_core::json::{Object, Value, parse};
use mindset_core::sse::{Decoder, Frame, encode};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Event type, data and last event id, as the oracle lists them.
type Seen = (String, String, String);

fn decode(pieces: &[&[u8]]) -> Vec<Frame> {
    let mut decoder = Decoder::new(1 << 20);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(frame) = decoder.next_frame().unwrap() {
            frames.push(frame);
        }
    }
    frames
}

fn seen(pieces: &[&[u8]]) -> Vec<Seen> {
    decode(pieces).into_iter().map(|f| (f.event, f.data, f.id)).collect()
}

fn file(name: &str) -> Object {
    let (_, text) = SSE.iter().find(|(file, _)| *file == name).unwrap();
    parse(text).unwrap().as_object().unwrap().clone()
}

/// Every case with its bytes and what Chromium dispatches for it.
fn cases() -> Vec<(String, Vec<u8>, Vec<Seen>)> {
    let oracle = file("oracle-chromium");
    let cases = file("cases");
    assert_eq!(cases.len(), oracle.len());
    let case = |(name, bytes): (&str, &Value)| {
        let text = |v: &Value| v.as_str().unwrap().to_owned();
        let frames = oracle.get(name).unwrap().as_array().unwrap().iter().map(|frame| {
            let parts = frame.as_array().unwrap();
            (text(&parts[0]), text(&parts[1]), text(&parts[2]))
        });
        (name.to_owned(), base64(bytes.as_str().unwrap()), frames.collect())
    };
    cases.iter().map(case).collect()
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for c in text.chars().filter(|&c| c != '=') {
        bits = bits << 6 | u32::try_from(DIGITS.find(c).unwrap()).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}

#[test]
fn agrees_with_chromium_at_every_split() {
    for (name, bytes, expected) in cases() {
        for at in 0..=bytes.len() {
            let (a, b) = bytes.split_at(at);
            assert_eq!(seen(&[a, b]), expected, "{name} split at {at}");
        }
    }
}

#[test]
fn agrees_with_chromium_byte_by_byte() {
    for (name, bytes, expected) in cases() {
        let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(seen(&pieces), expected, "{name}");
    }
}

/// Every pair of splits of the short cases, and thousands of random cuts of all.
/// Takes a while, so only with `MINDSET_SOAK=1`.
#[cfg(not(target_arch = "wasm32"))]
#[test]
fn soak_agrees_with_chromium_at_many_splits() {
    if std::env::var_os("MINDSET_SOAK").is_none() {
        return;
    }
    let mut seed = mindset_conformance::seed();
    let mut below = |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % (n as u64)).unwrap()
    };
    for (name, bytes, expected) in cases() {
        if bytes.len() <= 200 {
            for i in 0..=bytes.len() {
                for j in i..=bytes.len() {
                    let pieces = [&bytes[..i], &bytes[i..j], &bytes[j..]];
                    assert_eq!(seen(&pieces), expected, "{name} split at {i} and {j}");
                }
            }
        }
        for round in 0..2000 {
            let mut cuts: Vec<usize> = (0..below(8)).map(|_| below(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts.iter().copied().chain([bytes.len()]) {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            assert_eq!(seen(&pieces), expected, "{name} round {round} split at {cuts:?}");
        }
    }
}

/// Signs of life that are no events, in all their forms.
#[test]
fn keep_alives_are_skipped() {
    let stream = concat!(
        ": still working\n\n",
        ": still working\r\n\r\n",
        "data: : alive\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        "data:\n\n",
        ":\n",
        "data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    );
    for at in 0..=stream.len() {
        let (a, b) = stream.as_bytes().split_at(at);
        let frames = decode(&[a, b]);
        assert_eq!(
            frames.iter().map(|f| f.is_keep_alive()).collect::<Vec<_>>(),
            [true, false, true, false, false]
        );
        let events: Vec<_> = frames.iter().filter(|f| !f.is_keep_alive()).collect();
        assert_eq!(
            events.iter().map(|f| f.event.as_str()).collect::<Vec<_>>(),
            ["ping", "message", "message"]
        );
        assert!(events.iter().all(|f| parse(&f.data).is_ok()), "nothing sticks to a later event");
    }
}

/// Fault 28: characters cut in the middle.
#[test]
fn characters_survive_every_cut() {
    let stream = "data: {\"t\":\"你🙂\"}\n\n".as_bytes();
    for at in 0..=stream.len() {
        let (a, b) = stream.split_at(at);
        assert_eq!(decode(&[a, b])[0].data, "{\"t\":\"你🙂\"}", "cut at {at}");
    }
}

/// Fault 29: line ends of every kind, cut in the middle; and a bare CR in data
/// must not become a field of its own.
#[test]
fn line_ends_survive_every_cut() {
    let stream = "\u{feff}data: A\r\ndata: B\r\ndata: C\r\n\r\n".as_bytes();
    for i in 0..=stream.len() {
        for j in i..=stream.len() {
            let frames = decode(&[&stream[..i], &stream[i..j], &stream[j..]]);
            assert_eq!(frames.len(), 1, "cut at {i} and {j}");
            assert_eq!(frames[0].data, "A\nB\nC", "cut at {i} and {j}");
        }
    }
    let forged = encode("r:1", "x\rid: r:9\revent: forged\r\rdata: y");
    let frames = decode(&[forged.as_bytes()]);
    assert_eq!(frames.len(), 1);
    assert_eq!((frames[0].event.as_str(), frames[0].id.as_str()), ("message", "r:1"));
    assert_eq!(frames[0].data, "x\nid: r:9\nevent: forged\n\ndata: y");
}

/// A stream cut after any byte gives the events that were whole, and no other.
#[test]
fn a_cut_stream_gives_whole_events_only() {
    let stream = "id: 1\ndata: {\"a\":1}\n\nid: 2\ndata: {\"a\":2}\n\n";
    let first = stream.find("\n\n").unwrap() + 2;
    for at in 0..=stream.len() {
        let frames = decode(&[&stream.as_bytes()[..at]]);
        assert_eq!(frames.len(), usize::from(at >= first) + usize::from(at == stream.len()), "cut at {at}");
    }
}

#[test]
fn recorded_model_answers_are_events_with_json() {
    assert_eq!(MODELS.len(), 3);
    for (name, text) in MODELS {
        for size in [1, 7, 1000] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let frames = decode(&pieces);
            assert!(frames.len() > 5, "{name}");
            for frame in frames {
                assert!(frame.data == "[DONE]" || parse(&frame.data).is_ok(), "{name}: {}", frame.data);
            }
        }
    }
}
