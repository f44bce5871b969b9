//! Core stays pure: what its manifest and its lints promise is still there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const MANIFEST: &str = include_str!("../Cargo.toml");
const CLIPPY: &str = include_str!("../clippy.toml");

/// Crates that core may use in the browser and on the server: none. Each one here
/// is paid by every visitor, so adding a name needs a reason.
const ALLOWED: &[&str] = &[];

/// Crates that only core's own tests may use.
const ALLOWED_IN_TESTS: &[&str] = &["wasm-bindgen-test"];

/// Sections and their lines, without comments and empty lines.
fn sections() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut sections = vec![("", Vec::new())];
    for line in MANIFEST.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        match line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            Some(name) => sections.push((name, Vec::new())),
            None => sections.last_mut().unwrap().1.push(line),
        }
    }
    sections
}

#[test]
fn dependencies_are_on_the_list() {
    let mut seen = Vec::new();
    for (section, lines) in sections().into_iter().filter(|(name, _)| name.contains("dependencies")) {
        // A `[target…]` or `[dependencies.name]` section would hide from this test.
        let allowed = match section {
            "dependencies" => ALLOWED,
            "dev-dependencies" => ALLOWED_IN_TESTS,
            other => panic!("[{other}] is no section that core may have"),
        };
        for line in lines {
            let name = line.split(['.', '=', ' ']).next().unwrap();
            assert!(allowed.contains(&name), "{name} in [{section}] is not on the list");
        }
        seen.push(section);
    }
    assert_eq!(seen, ["dependencies", "dev-dependencies"]);
}

#[test]
fn core_has_no_build_script_and_takes_the_common_lints() {
    let sections = sections();
    assert!(!MANIFEST.contains("build ="), "a build script could read the machine it runs on");
    let lints = sections.iter().find(|(name, _)| *name == "lints").unwrap();
    assert_eq!(lints.1, ["workspace = true"]);
}

#[test]
fn clock_threads_and_environment_are_banned() {
    let banned = |list: &str| {
        let (_, rest) = CLIPPY.split_once(list).unwrap();
        rest.split_once("\n]").unwrap().0
    };
    let methods = banned("disallowed-methods = [");
    for method in
        ["std::time::Instant::now", "std::time::SystemTime::now", "std::thread::spawn", "std::env::var"]
    {
        assert!(methods.contains(&format!("path = \"{method}\"")), "{method} is allowed in core");
    }
    assert!(banned("disallowed-types = [").contains("path = \"std::collections::HashMap\""));
}
