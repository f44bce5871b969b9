//! Which tests failed and with what words, as the test runners say it themselves: in short, for
//! the end of a long log.

/// Lines shown of one test.
const LINES: usize = 15;

/// Lines shown of all tests; of what comes after them only the names.
const ALL_LINES: usize = 60;

/// Names shown at most.
const NAMES: usize = 60;

/// Characters shown of a line.
const WIDTH: usize = 240;

/// Tests that failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures(Vec<Failure>);

/// What failed, and the lines that say how.
#[derive(Debug, PartialEq, Eq)]
struct Failure {
    name: String,
    said: Vec<String>,
}

impl Failures {
    /// Reads the log of the stage `stage`: the blocks that cargo (native and wasm) shows of each test that failed,
    /// and the list at the end of Node's report. Without any, the end of the log has to say it.
    pub(crate) fn read(stage: &str, log: &str, problem: Option<&str>) -> Failures {
        let mut found = Vec::new();
        let mut open: Option<Failure> = None;
        let (mut listed, mut place) = (false, "");
        for line in log.lines() {
            if let Some(name) = cargo_name(line) {
                found.extend(open.replace(Failure::new(stage, name, "")));
            } else if line == "✖ failing tests:" {
                listed = true;
            } else if let Some(at) = line.strip_prefix("test at ").filter(|_| listed) {
                found.extend(open.take());
                place = at;
            } else if let Some(name) = line.strip_prefix("✖ ").filter(|_| listed) {
                found.extend(open.replace(Failure::new(stage, name, place)));
            } else if !listed && ends_block(line) {
                found.extend(open.take());
            } else if let Some(failure) = &mut open {
                failure.hear(line);
            }
        }
        found.extend(open);
        if found.is_empty() {
            found.push(Failure::unknown(stage, log, problem));
        }
        Failures(found)
    }

    /// Adds another stage's.
    pub(crate) fn add(&mut self, other: Failures) {
        self.0.extend(other.0);
    }

    /// The lines to show: as many as are read with one look.
    pub(crate) fn lines(&self) -> Vec<String> {
        let (mut shown, mut left) = (Vec::new(), ALL_LINES);
        for failure in self.0.iter().take(NAMES) {
            shown.push(format!("FAILED {}", cut(&failure.name)));
            let some = failure.said.iter().take(LINES.min(left));
            let before = shown.len();
            shown.extend(some.map(|line| format!("    {}", cut(line))));
            left -= shown.len() - before;
        }
        if self.0.len() > NAMES {
            shown.push(format!("FAILED … and {} more", self.0.len() - NAMES));
        }
        shown
    }
}

impl Failure {
    fn new(stage: &str, name: &str, place: &str) -> Failure {
        let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
        Failure { name: format!("{stage}: {name}{place}"), said: Vec::new() }
    }

    /// Of a stage whose log names no test: how the log ends, and the error.
    fn unknown(stage: &str, log: &str, problem: Option<&str>) -> Failure {
        let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
        let end = lines.len().saturating_sub(LINES - 1);
        let said = lines.into_iter().skip(end).chain(problem).map(str::to_owned).collect();
        Failure { name: stage.to_owned(), said }
    }

    /// What was printed before the panic is passed over.
    fn hear(&mut self, line: &str) {
        if line.contains("panicked at ") && !self.said.iter().any(|said| said.contains("panicked at ")) {
            self.said.clear();
        }
        if !line.trim().is_empty() && self.said.len() < LINES {
            self.said.push(line.to_owned());
        }
    }
}

/// The name in `---- name stdout ----` or, of wasm, `---- name output ----`.
fn cargo_name(line: &str) -> Option<&str> {
    let inner = line.trim().strip_prefix("---- ")?.strip_suffix(" ----")?;
    inner.strip_suffix(" stdout").or_else(|| inner.strip_suffix(" output"))
}

fn ends_block(line: &str) -> bool {
    let line = line.trim();
    line == "failures:" || line.starts_with("test result: ")
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARGO: &str = "
running 3 tests
test a::works ... ok
test a::fails ... FAILED

failures:

---- a::fails stdout ----
told before

thread 'a::fails' (12) panicked at runtime/src/a.rs:4:9:
assertion `left == right` failed: words
  left: 1
 right: 2
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

---- a::other stdout ----
Error: it ended


failures:
    a::fails
    a::other

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s

error: test failed, to rerun pass `-p a --lib`
     Running tests/b.rs (target/debug/deps/b-1)
running 1 test
test b ... ok
";

    const WASM: &str = "
test json::fails ... FAIL

failures:

---- json::fails output ----
    error output:
        panicked at core/src/json.rs:1:1:
        no number
    JS exception that was thrown:
        RuntimeError: unreachable

failures:

    json::fails

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 filtered out
";

    const NODE: &str = "✔ fine (1.09ms)
✖ two differ (2.25ms)
  AssertionError [ERR_ASSERTION]: Expected
ℹ tests 2
ℹ pass 1
ℹ fail 1

✖ failing tests:

test at tests/browser/a.test.mjs:3:1
✖ two differ (2.25ms)
  AssertionError [ERR_ASSERTION]: Expected
  + actual - expected

  +   1
  -   2

test at tests/browser/a.test.mjs:9:1
✖ tests/browser/a.test.mjs (1003.3ms)
  'test timed out after 1000ms'
";

    fn shown(log: &str) -> Vec<String> {
        Failures::read("tests", log, Some("error: ended")).lines()
    }

    #[test]
    fn tests_of_cargo() {
        let expected = [
            "FAILED tests: a::fails",
            "    thread 'a::fails' (12) panicked at runtime/src/a.rs:4:9:",
            "    assertion `left == right` failed: words",
            "      left: 1",
            "     right: 2",
            "    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
            "FAILED tests: a::other",
            "    Error: it ended",
        ];
        assert_eq!(shown(CARGO), expected);
        let two = shown(&format!("{CARGO}{CARGO}"));
        assert_eq!(two, [expected, expected].concat());
    }

    #[test]
    fn tests_in_wasm() {
        let expected = [
            "FAILED tests: json::fails",
            "            panicked at core/src/json.rs:1:1:",
            "            no number",
            "        JS exception that was thrown:",
            "            RuntimeError: unreachable",
        ];
        assert_eq!(shown(WASM), expected);
    }

    #[test]
    fn tests_of_node() {
        let expected = [
            "FAILED tests: two differ (2.25ms) at tests/browser/a.test.mjs:3:1",
            "      AssertionError [ERR_ASSERTION]: Expected",
            "      + actual - expected",
            "      +   1",
            "      -   2",
            "FAILED tests: tests/browser/a.test.mjs (1003.3ms) at tests/browser/a.test.mjs:9:1",
            "      'test timed out after 1000ms'",
        ];
        assert_eq!(shown(NODE), expected);
    }

    #[test]
    fn a_stage_that_names_no_test_ends_with_its_error() {
        let expected = ["FAILED tests", "    Compiling a", "    error[E0001]: no", "    error: ended"];
        assert_eq!(shown("Compiling a\n\nerror[E0001]: no\n"), expected);
        assert_eq!(shown(""), ["FAILED tests", "    error: ended"]);
        let long = shown(&"line\n".repeat(400));
        assert_eq!((long.len(), long.last().map(String::as_str)), (LINES + 1, Some("    error: ended")));
    }

    #[test]
    fn what_is_long_is_cut() {
        let one = format!("---- a stdout ----\n{}", "ä".repeat(1000) + "\n" + &"more\n".repeat(100));
        let lines = shown(&one);
        assert_eq!(lines.len(), LINES + 1);
        assert_eq!(lines.iter().map(|line| line.chars().count()).max(), Some(4 + WIDTH + 1));
        let mut many = Failures::default();
        for _ in 0..100 {
            many.add(Failures::read("tests", &one, None));
        }
        let lines = many.lines();
        assert_eq!(lines.len(), ALL_LINES + NAMES + 1);
        assert_eq!(lines.last().map(String::as_str), Some("FAILED … and 40 more"));
    }
}
