//! What `/metrics` tells, in the text format of Prometheus: counted for the whole process.
//!
//! Labels hold words of the configuration, routes and closed lists only, so their sets are
//! bounded; should one grow beyond reason all the same, its newcomers are counted as `other`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Series of one metric.
const SERIES: usize = 1000;

/// Upper ends of a histogram's buckets, in seconds.
const BUCKETS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0];

/// Runs that have ended.
pub(crate) static RUNS: Family =
    Family::new("mindset_runs_total", Kind::Counter, &["state"], "Runs that have ended, by how.");
/// Runs that run now.
pub(crate) static RUNNING: Family =
    Family::new("mindset_runs_running", Kind::Gauge, &[], "Runs that run now.");
/// Events of runs.
pub(crate) static EVENTS: Family =
    Family::new("mindset_events_total", Kind::Counter, &[], "Events written to the logs of runs.");
/// Tokens.
pub(crate) static TOKENS: Family = Family::new(
    "mindset_tokens_total",
    Kind::Counter,
    &["model", "direction"],
    "Tokens that providers have counted, in and out.",
);
/// How long runs took.
pub(crate) static RUN_SECONDS: Family =
    Family::new("mindset_run_duration_seconds", Kind::Histogram, &["state"], "How long runs took.");
/// How long model calls took.
pub(crate) static MODEL_SECONDS: Family = Family::new(
    "mindset_model_call_duration_seconds",
    Kind::Histogram,
    &["model", "outcome"],
    "How long model calls took.",
);
/// How long tool calls took.
pub(crate) static TOOL_SECONDS: Family = Family::new(
    "mindset_tool_call_duration_seconds",
    Kind::Histogram,
    &["outcome"],
    "How long calls of the server's tools took.",
);
/// How long requests took until the head of the answer.
pub(crate) static HTTP_SECONDS: Family = Family::new(
    "mindset_http_request_duration_seconds",
    Kind::Histogram,
    &["method", "route", "status"],
    "How long requests took until the head of their answer.",
);
/// Event streams that are open.
pub(crate) static STREAMS: Family =
    Family::new("mindset_open_streams", Kind::Gauge, &[], "Event streams that are open now.");
/// Runs that wait for their turn.
pub(crate) static QUEUED: Family =
    Family::new("mindset_runs_queued", Kind::Gauge, &[], "Runs that wait for their turn now.");
/// Turns that wait for an approval.
pub(crate) static APPROVALS: Family =
    Family::new("mindset_approvals_waiting", Kind::Gauge, &[], "Turns that wait for an approval now.");
/// Those who observe.
pub(crate) static OBSERVERS: Family =
    Family::new("mindset_observers", Kind::Gauge, &[], "Observations that are open now.");
/// Requests answered with an error.
pub(crate) static REJECTED: Family = Family::new(
    "mindset_rejected_requests_total",
    Kind::Counter,
    &["code"],
    "Requests that were answered with an error, by its code.",
);
/// Spans that reached no collector.
pub(crate) static LOST_SPANS: Family =
    Family::new("mindset_lost_spans_total", Kind::Counter, &[], "Spans that reached no collector.");

static ALL: [&Family; 14] = [
    &RUNS,
    &RUNNING,
    &EVENTS,
    &TOKENS,
    &RUN_SECONDS,
    &MODEL_SECONDS,
    &TOOL_SECONDS,
    &HTTP_SECONDS,
    &STREAMS,
    &QUEUED,
    &APPROVALS,
    &OBSERVERS,
    &REJECTED,
    &LOST_SPANS,
];

/// One metric with all its series.
#[derive(Debug)]
pub(crate) struct Family {
    name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    help: &'static str,
    series: Mutex<BTreeMap<Vec<String>, Series>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Debug, Default, Clone, Copy)]
struct Series {
    /// The value, or the sum of a histogram.
    sum: f64,
    count: u64,
    buckets: [u64; BUCKETS.len()],
}

impl Family {
    const fn new(
        name: &'static str,
        kind: Kind,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Family {
        Family { name, kind, labels, help, series: Mutex::new(BTreeMap::new()) }
    }

    /// Adds to the series with these labels; to a gauge also something negative.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn add(&self, labels: &[&str], amount: i64) {
        self.change(labels, |series| series.sum += amount as f64);
    }

    /// Takes a duration into the series with these labels.
    pub(crate) fn observe(&self, labels: &[&str], duration: Duration) {
        let seconds = duration.as_secs_f64();
        self.change(labels, |series| {
            series.sum += seconds;
            series.count += 1;
            for (bucket, _) in series.buckets.iter_mut().zip(BUCKETS).filter(|(_, end)| seconds <= *end) {
                *bucket += 1;
            }
        });
    }

    fn change(&self, labels: &[&str], change: impl FnOnce(&mut Series)) {
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        if all.len() >= SERIES && !all.contains_key(&key) {
            key = vec!["other".to_owned(); labels.len()];
        }
        change(all.entry(key).or_default());
    }

    fn write(&self, out: &mut String) {
        let all = self.series.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (name, help) = (self.name, self.help);
        let kind = match self.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a text cannot fail.
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        if all.is_empty() && self.labels.is_empty() && self.kind != Kind::Histogram {
            let _ = writeln!(out, "{name} 0");
        }
        for (values, series) in &all {
            if self.kind != Kind::Histogram {
                let _ = writeln!(out, "{name}{} {}", self.braces(values, None), series.sum);
                continue;
            }
            let ends = BUCKETS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
            for (end, count) in ends.zip(series.buckets.iter().chain([&series.count])) {
                let _ = writeln!(out, "{name}_bucket{} {count}", self.braces(values, Some(&end)));
            }
            let braces = self.braces(values, None);
            let _ = writeln!(out, "{name}_sum{braces} {}\n{name}_count{braces} {}", series.sum, series.count);
        }
    }

    fn braces(&self, values: &[String], end: Option<&str>) -> String {
        let mut pairs: Vec<String> = Vec::new();
        for (label, value) in self.labels.iter().zip(values).map(|(l, v)| (*l, v.as_str())) {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            pairs.push(format!("{label}=\"{value}\""));
        }
        pairs.extend(end.map(|end| format!("le=\"{end}\"")));
        if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
    }
}

/// One more, until it is dropped.
#[derive(Debug)]
pub(crate) struct Open(&'static Family);

impl Open {
    /// Counts one more in a gauge without labels.
    pub(crate) fn one(gauge: &'static Family) -> Open {
        gauge.add(&[], 1);
        Open(gauge)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.add(&[], -1);
    }
}

/// All metrics as text.
pub(crate) fn text() -> String {
    let mut out = String::new();
    for family in ALL {
        family.write(&mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_gauges_and_histograms() {
        static COUNTER: Family = Family::new("c", Kind::Counter, &["a", "b"], "Help.");
        COUNTER.add(&["x\"\\\n", "1"], 2);
        COUNTER.add(&["x\"\\\n", "1"], 3);
        static GAUGE: Family = Family::new("g", Kind::Gauge, &[], "Help.");
        let open = (Open::one(&GAUGE), Open::one(&GAUGE));
        drop(open.0);
        static SECONDS: Family = Family::new("s", Kind::Histogram, &["l"], "Help.");
        for ms in [1, 20, 700_000] {
            SECONDS.observe(&["v"], Duration::from_millis(ms));
        }
        let mut out = String::new();
        for family in [&COUNTER, &GAUGE, &SECONDS] {
            family.write(&mut out);
        }
        for line in [
            "# HELP c Help.\n# TYPE c counter\nc{a=\"x\\\"\\\\\\n\",b=\"1\"} 5\n",
            "# TYPE g gauge\ng 1\n",
            "# TYPE s histogram\ns_bucket{l=\"v\",le=\"0.005\"} 1\ns_bucket{l=\"v\",le=\"0.01\"} 1\n\
             s_bucket{l=\"v\",le=\"0.025\"} 2\n",
            "s_bucket{l=\"v\",le=\"600\"} 2\ns_bucket{l=\"v\",le=\"+Inf\"} 3\ns_sum{l=\"v\"} 700.021\n\
             s_count{l=\"v\"} 3\n",
        ] {
            assert!(out.contains(line), "{out}");
        }
    }

    #[test]
    fn a_set_of_labels_is_bounded() {
        static COUNTER: Family = Family::new("c", Kind::Counter, &["a"], "Help.");
        for n in 0..SERIES + 5 {
            COUNTER.add(&[&n.to_string()], 1);
        }
        let mut out = String::new();
        COUNTER.write(&mut out);
        assert!(out.contains("c{a=\"other\"} 5\n"));
        assert_eq!(out.lines().count(), SERIES + 3);
    }
}
