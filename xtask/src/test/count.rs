//! How many tests passed: parsed from the last lines of cargo, nextest and pytest.

use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Count {
    /// The count of a check that is one test.
    pub fn one(success: bool) -> Self {
        Count { passed: usize::from(success), failed: usize::from(!success), skipped: 0 }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// Every `test result: ok. 5 passed; 0 failed; 1 ignored; ...` of cargo, and nextest's
/// `Summary [0.2s] 7 tests run: 6 passed (1 slow), 1 failed, 2 skipped`.
pub fn cargo(lines: &[String]) -> Count {
    let mut sum = Count::default();
    for line in lines {
        let line = plain(line);
        if line.trim_start().starts_with("test result:") || line.trim_start().starts_with("Summary [") {
            sum += words(&line);
        }
    }
    sum
}

/// The last line that looks like `3 failed, 10 passed, 1 skipped in 12.30s`.
pub fn pytest(lines: &[String]) -> Count {
    let is_summary = |line: &&String| {
        line.contains(" in ")
            && (line.contains(" passed")
                || line.contains(" failed")
                || line.contains(" error")
                || line.contains(" skipped"))
    };
    lines.iter().rev().find(is_summary).map(|line| words(&plain(line))).unwrap_or_default()
}

/// The last lines of node's runner: `# pass 12`, `# fail 0`.
pub fn node(lines: &[String]) -> Count {
    let number = |word: &str| {
        let start = format!("# {word} ");
        lines.iter().filter_map(|line| plain(line).trim().strip_prefix(&start)?.parse::<usize>().ok()).sum()
    };
    Count { passed: number("pass"), failed: number("fail"), skipped: number("skipped") }
}

/// Numbers in front of the words that count.
fn words(line: &str) -> Count {
    let mut count = Count::default();
    let mut number: Option<usize> = None;
    for word in line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()) {
        if let Some(n) = number.take() {
            match word {
                "passed" | "xfailed" => count.passed += n,
                "failed" | "error" | "errors" | "exec" | "timed" => count.failed += n,
                "skipped" | "ignored" => count.skipped += n,
                _ => {}
            }
        }
        number = word.parse().ok();
    }
    count
}

/// Without the escape sequences of colours.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(|c| c.is_ascii_alphabetic());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(String::from).collect()
    }

    #[test]
    fn summaries_of_the_three_programs_are_read() {
        let text = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                    test result: FAILED. 3 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s";
        assert_eq!(cargo(&lines(text)), Count { passed: 5, failed: 4, skipped: 1 });
        let text =
            "     Summary [   0.213s] 9 tests run: 8 passed (1 slow), 1 failed, 2 skipped\nerror: test run failed";
        assert_eq!(cargo(&lines(text)), Count { passed: 8, failed: 1, skipped: 2 });
        let text = "FAILED tests/x.py::a - in b\n\u{1b}[31m\u{1b}[1m2 failed\u{1b}[0m, \u{1b}[32m10 passed\u{1b}[0m, 1 error in 12.30s\n";
        assert_eq!(pytest(&lines(text)), Count { passed: 10, failed: 3, skipped: 0 });
        assert_eq!(pytest(&lines("no tests ran in 0.01s")), Count::default());
    }
}
