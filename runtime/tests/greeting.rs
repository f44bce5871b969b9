//! How an agent's conversations begin: configured, asked for, and refused where it is wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use mindset_runtime::config::{Environment, load_text};
use support::Server;

fn config(greeting: &str) -> String {
    format!(
        r#"
[[apps]]
uid = "demo"
origins = ["loopback"]
allow_no_origin = true
[[apps.agents]]
uid = "demo"
model = "demo"
anonymous = true
{greeting}
[[apps.agents]]
uid = "closed"
model = "demo"
icebreaker = "Nobody sees this."
"#
    )
}

#[tokio::test]
async fn whoever_may_use_the_agent_learns_how_it_begins() {
    let text = config("icebreaker = \" Greet them. \"\nstarters = [\"Where is my order?\", \" Hello \"]");
    let server = Server::with(&text, &[]).await;
    let (token, _) = server.anonymous().await;
    let agent = server.request("GET", "/v1/agents/demo").bearer(&token).send().await;
    assert_eq!(agent.text, r#"{"starters":["Where is my order?","Hello"],"icebreaker":"Greet them."}"#);
    for (path, status) in [("closed", 403), ("none", 404), ("demo::x", 403)] {
        let refused = server.request("GET", &format!("/v1/agents/{path}")).bearer(&token).send().await;
        assert_eq!(refused.status, status, "{path}: {}", refused.text);
        assert!(!refused.text.contains("Nobody"));
    }
    assert_eq!(server.request("GET", "/v1/agents/demo").send().await.status, 401);
    server.stop().await;
    let server = Server::with(&config(""), &[]).await;
    let (token, _) = server.anonymous().await;
    let agent = server.request("GET", "/v1/agents/demo").bearer(&token).send().await;
    assert_eq!(agent.text, r#"{"starters":[]}"#);
    server.stop().await;
}

#[test]
fn faults_and_what_is_printed() {
    let long = "x".repeat(2_001);
    for (greeting, says) in [
        (format!("icebreaker = \"{long}\""), "agents[0].icebreaker: longer than 2000 characters"),
        (
            "starters = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"]".into(),
            "agents[0].starters: 7 entries",
        ),
        ("starters = [\" \"]".into(), "agents[0].starters: an entry is empty or too long"),
        (
            format!("starters = [\"{}\"]", "x".repeat(201)),
            "agents[0].starters: an entry is empty or too long",
        ),
    ] {
        let faults = load_text("t.toml", &config(&greeting), &Environment::new()).unwrap_err();
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(told.join("\n").contains(says), "{told:?}");
    }
    let good = load_text("t.toml", &config("starters = [\"a\"]"), &Environment::new()).unwrap();
    let printed = good.to_toml();
    assert!(printed.contains("starters = [\"a\"]"), "{printed}");
    assert!(printed.contains("icebreaker = \"Nobody sees this.\""), "{printed}");
}
