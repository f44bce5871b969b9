//! How fast the core reads an AG-UI event stream: bytes to frames, to JSON, to events.
//! Prints the events in the stream and the nanoseconds per event of the best round.

use std::process::ExitCode;
use std::time::Instant;

use mindset_core::{agui, json, sse};

/// The best of many: what the machine can do when nobody disturbs it.
const ROUNDS: u32 = 30;
/// About what a network read brings.
const CHUNK: usize = 16 * 1024;

fn main() -> ExitCode {
    match measure() {
        Ok((events, nanoseconds)) => {
            println!("{events} {nanoseconds}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(u32, u128), String> {
    let path = std::env::args().nth(1).ok_or("name the file with the stream")?;
    let stream = std::fs::read(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let mut best = u128::MAX;
    let mut events = 0;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        events = read(&stream)?;
        best = best.min(started.elapsed().as_nanos());
    }
    Ok((events, best / u128::from(events.max(1))))
}

fn read(stream: &[u8]) -> Result<u32, String> {
    let mut decoder = sse::Decoder::new(1 << 20);
    let mut events = 0;
    for chunk in stream.chunks(CHUNK) {
        decoder.push(chunk);
        while let Some(frame) = decoder.next_frame().map_err(|error| error.to_string())? {
            let value = json::parse(&frame.data).map_err(|error| error.to_string())?;
            agui::decode_event(&value).map_err(|error| error.to_string())?;
            events += 1;
        }
    }
    Ok(events)
}
