//! How many tests passed and failed, as the test runners say it themselves.

/// Tests passed and failed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
}

impl Counts {
    /// Sums up a log: `test result:` lines of cargo (native and wasm), and the summary of
    /// Node's runner, whose cancelled tests count as failed.
    pub(crate) fn read(log: &str) -> Counts {
        let mut counts = Counts::default();
        for line in log.lines() {
            if let Some(result) = line.trim_start().strip_prefix("test result: ") {
                counts.passed += number_before(result, " passed");
                counts.failed += number_before(result, " failed");
            } else if let Some(summary) = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# ")) {
                counts.passed += number_after(summary, "pass ");
                counts.failed += number_after(summary, "fail ") + number_after(summary, "cancelled ");
            }
        }
        counts
    }

    /// Adds another stage's counts.
    pub(crate) fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// No test ran at all.
    pub(crate) fn is_empty(self) -> bool {
        self == Counts::default()
    }
}

fn number_before(text: &str, word: &str) -> u32 {
    let before = text.split_once(word).map(|(before, _)| before);
    before.and_then(|before| before.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

fn number_after(text: &str, word: &str) -> u32 {
    text.strip_prefix(word).and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn logs_are_summed_up() {
        let cargo =
            "running 2 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n";
        let bad = "test result: FAILED. 10 passed; 3 failed; 0 ignored\n";
        let node = "ℹ tests 6\nℹ suites 1\nℹ pass 4\nℹ fail 1\nℹ cancelled 1\nℹ skipped 0\n";
        let tap = "# tests 1\n# pass 1\n# fail 0\n# passing by\n";
        let cases = [(cargo, 2, 0), (bad, 10, 3), (node, 4, 2), (tap, 1, 0), ("nothing", 0, 0)];
        for (log, passed, failed) in cases {
            assert_eq!(Counts::read(log), Counts { passed, failed }, "{log}");
        }
        assert_eq!(Counts::read(&[cargo, bad, node, tap].concat()), Counts { passed: 17, failed: 5 });
    }
}
