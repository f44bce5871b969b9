//! What was measured, as lines of a name and a number.

use std::fmt::Write;

use tokio::time::Instant;

use crate::plan::Plan;
use crate::stream::Outcome;

/// Failures told in full.
const TOLD: usize = 5;

/// The report.
pub(crate) fn lines(plan: &Plan, begin: Instant, outcomes: &[Outcome]) -> String {
    let good = outcomes.iter().filter(|outcome| outcome.problem.is_none()).count();
    for problem in outcomes.iter().filter_map(|outcome| outcome.problem.as_ref()).take(TOLD) {
        eprintln!("{problem}");
    }
    let all = |pairs: &mut dyn Iterator<Item = (Instant, Instant)>| {
        let mut micros: Vec<u128> =
            pairs.map(|(came, due)| came.saturating_duration_since(due).as_micros()).collect();
        micros.sort_unstable();
        micros
    };
    let delays = all(&mut outcomes.iter().flat_map(|outcome| outcome.delays.iter().copied()));
    let starts = all(&mut outcomes.iter().filter_map(|outcome| outcome.started));
    let wall = outcomes
        .iter()
        .filter_map(|outcome| outcome.ended)
        .max()
        .map_or(0, |end| end.saturating_duration_since(begin).as_micros());
    let mut text = String::new();
    let mut line = |name: &str, number: u128| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} {number}");
    };
    line("streams", good as u128);
    line("events", delays.len() as u128);
    line("wall", wall);
    line("ideal", plan.ideal().as_micros());
    line("p50", of(&delays, 50));
    line("p99", of(&delays, 99));
    line("worst", delays.last().copied().unwrap_or_default());
    line("client_p99", of(&starts, 99));
    text
}

/// The percentile of sorted numbers, by nearest rank.
fn of(sorted: &[u128], percent: usize) -> u128 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let numbers: Vec<u128> = (1..=200).collect();
        assert_eq!((of(&numbers, 50), of(&numbers, 99)), (100, 198));
        assert_eq!((of(&[7], 99), of(&[], 99)), (7, 0));
    }
}
