//! What `cargo xtask bench server` prints: a line for each server, and the ratios.

use anyhow::{Context, Result};

use super::process::Usage;
use super::ratio;
use super::server::Schedule;

/// What the client and the system tell of one run. Times in microseconds.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// Streams of which every event came once and in its order.
    pub(super) streams: u64,
    pub(super) events: u64,
    wall: u64,
    ideal: u64,
    p50: u64,
    p99: u64,
    worst: u64,
    client_p99: u64,
    /// Bytes that the server took more than before.
    memory: u64,
    /// Processor time of server and client, milliseconds.
    server_time: u64,
    client_time: u64,
}

impl Measured {
    /// From the client's lines, and what was taken before and at most, by server and client.
    ///
    /// # Errors
    /// A number is missing.
    pub(super) fn read(lines: &[String], before: (Usage, Usage), most: (Usage, Usage)) -> Result<Measured> {
        let number = |name: &str| {
            let mut found = lines.iter().filter_map(|line| line.split_once(' '));
            let text = found.find_map(|(key, number)| (key == name).then_some(number));
            text.and_then(|number| number.parse().ok())
                .with_context(|| format!("the client printed no `{name}`"))
        };
        Ok(Measured {
            streams: number("streams")?,
            events: number("events")?,
            wall: number("wall")?,
            ideal: number("ideal")?,
            p50: number("p50")?,
            p99: number("p99")?,
            worst: number("worst")?,
            client_p99: number("client_p99")?,
            memory: most.0.memory.saturating_sub(before.0.memory),
            server_time: most.0.time.saturating_sub(before.0.time),
            client_time: most.1.time.saturating_sub(before.1.time),
        })
    }

    /// Hundredths of a KiB that each stream took.
    fn each(&self, schedule: Schedule) -> u64 {
        self.memory * 100 / 1024 / schedule.streams.max(1)
    }

    /// Hundredths of the ideal time that the whole took.
    fn stretch(&self) -> u64 {
        self.wall * 1000 / self.ideal.max(1)
    }
}

/// What is measured, and the head of the table.
pub(super) fn head(schedule: Schedule) -> String {
    let Schedule { streams, events, pace, ramp } = schedule;
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!(
        "{streams} streams of {events} events, one every {pace} ms, opened over {ramp} ms; {cores} cores, client included.\n\
         Delays count from the moment when an event should have been sent.\n\
         {:<18}{:>16}{:>12}{:>11}{:>11}{:>11}{:>13}{:>9}{:>9}{:>14}",
        "",
        "delivered",
        "wall/ideal",
        "p50 ms",
        "p99 ms",
        "worst ms",
        "KiB/stream",
        "CPU s",
        "client s",
        "late p99 ms"
    )
}

/// A server's line.
pub(super) fn row(name: &str, schedule: Schedule, measured: &Measured) -> String {
    let all = schedule.streams * schedule.events;
    format!(
        "{name:<18}{:>16}{:>12}{:>11}{:>11}{:>11}{:>13}{:>9}{:>9}{:>14}",
        format!("{}/{all}", measured.events),
        decimal(measured.stretch(), 3),
        decimal(measured.p50 / 10, 2),
        decimal(measured.p99 / 10, 2),
        decimal(measured.worst / 10, 2),
        decimal(measured.each(schedule), 2),
        decimal(measured.server_time / 100, 1),
        decimal(measured.client_time / 100, 1),
        decimal(measured.client_p99 / 10, 2),
    )
}

/// How many times better we are than a peer.
pub(super) fn ratios(name: &str, schedule: Schedule, ours: &Measured, theirs: &Measured) -> String {
    format!(
        "against {name}: p99 {}, memory {}, processor time {}",
        ratio(ours.p99, theirs.p99),
        ratio(ours.each(schedule), theirs.each(schedule)),
        ratio(ours.server_time, theirs.server_time),
    )
}

/// A whole number as one with `places` decimal places.
fn decimal(number: u64, places: u32) -> String {
    let unit = 10_u64.pow(places);
    let width = usize::try_from(places).unwrap_or_default();
    format!("{}.{:0width$}", number / unit, number % unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_what_was_measured() {
        let lines =
            "streams 10\nevents 200\nwall 10100\nideal 10000\np50 900\np99 1234\nworst 5000\nclient_p99 50";
        let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
        let usage = |memory, time| Usage { memory, time };
        let before = (usage(1024, 100), usage(0, 0));
        let measured = Measured::read(&lines, before, (usage(21 * 1024, 2_100), usage(0, 300))).unwrap();
        let schedule = Schedule { streams: 10, events: 20, pace: 1, ramp: 1 };
        let row = row("us", schedule, &measured);
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["us", "200/200", "1.010", "0.90", "1.23", "5.00", "2.00", "2.0", "0.3", "0.05"]);
        assert!(Measured::read(&[], before, before).is_err());
    }
}
