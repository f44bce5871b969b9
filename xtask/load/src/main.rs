//! Opens thousands of event streams against one server and times every event.
//!
//! Each stream has a moment at which it should start, and each of its events one at which it
//! should be sent; delays are counted from there, so that a server that holds up the client
//! is not measured less often for it. The argument is the plan as JSON. When the users are
//! signed in the program prints `ready` and waits for a line; then it prints what it
//! measured, a name and a number in each line. Durations are microseconds.

mod http;
mod plan;
mod report;
mod stream;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use plan::Plan;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::Instant;

use crate::stream::Outcome;

/// Sign-ins at a time.
const SIGN_INS: usize = 32;

/// How long after its ideal end the whole may take.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let measured = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no timer or network: {error}"))
        .and_then(|runtime| runtime.block_on(measure()));
    match measured {
        Ok(lines) => {
            print!("{lines}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

async fn measure() -> Result<String, String> {
    let text = std::env::args().nth(1).ok_or("give the plan as JSON")?;
    let plan = Arc::new(Plan::read(&text)?);
    let tokens = sign_in(&plan).await?;
    println!("ready");
    BufReader::new(tokio::io::stdin()).lines().next_line().await.map_err(|error| error.to_string())?;

    let begin = Instant::now();
    let streams: Vec<_> = tokens
        .into_iter()
        .enumerate()
        .map(|(number, token)| {
            let due = begin + plan.start_of(number);
            tokio::spawn(stream::run(Arc::clone(&plan), number, token, due))
        })
        .collect();
    let mut outcomes = Vec::with_capacity(streams.len());
    let end = begin + plan.ideal() + PATIENCE;
    for stream in streams {
        outcomes.push(match tokio::time::timeout_at(end, stream).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => Outcome::failed(format!("a stream's task broke: {error}")),
            Err(_) => Outcome::failed("a stream did not end".to_owned()),
        });
    }
    Ok(report::lines(&plan, begin, &outcomes))
}

/// A token for each stream's user, of a server that wants one.
async fn sign_in(plan: &Arc<Plan>) -> Result<Vec<Option<String>>, String> {
    if plan.key.is_empty() {
        return Ok(vec![None; plan.streams]);
    }
    let places = Arc::new(tokio::sync::Semaphore::new(SIGN_INS));
    let tasks: Vec<_> = (0..plan.streams)
        .map(|number| {
            let (plan, places) = (Arc::clone(plan), Arc::clone(&places));
            tokio::spawn(async move {
                let _place = places.acquire().await.map_err(|error| error.to_string())?;
                stream::token(&plan, number).await
            })
        })
        .collect();
    let mut tokens = Vec::with_capacity(plan.streams);
    for task in tasks {
        tokens.push(Some(task.await.map_err(|error| error.to_string())??));
    }
    Ok(tokens)
}
