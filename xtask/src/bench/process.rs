//! What a process takes of the machine, as Linux tells it; elsewhere nothing is known.

use std::fs;

/// Clock ticks in a second, as `/proc` counts processor time on every Linux.
const TICKS: u64 = 100;

/// What a process has taken so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    /// Resident memory, bytes.
    pub(super) memory: u64,
    /// Processor time, milliseconds.
    pub(super) time: u64,
}

impl Usage {
    /// The larger of each.
    pub(super) fn max(self, other: Usage) -> Usage {
        Usage { memory: self.memory.max(other.memory), time: self.time.max(other.time) }
    }
}

/// Looks at a process.
pub(super) fn usage(id: u32) -> Usage {
    let read = |name: &str| fs::read_to_string(format!("/proc/{id}/{name}")).unwrap_or_default();
    Usage { memory: memory(&read("status")), time: time(&read("stat")) }
}

fn memory(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kib = line.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

/// The program's name stands in parentheses and may hold anything.
fn time(stat: &str) -> u64 {
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
    ticks * 1000 / TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_tells() {
        assert_eq!(memory("Name:\tx\nVmPeak:\t  9 kB\nVmRSS:\t  20 kB\n"), 20 * 1024);
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 5 1 1";
        assert_eq!(time(stat), 2_000);
        assert_eq!((memory(""), time("")), (0, 0));
    }
}
