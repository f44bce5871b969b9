//! Run slots, follow-ups that queue or steer, and permissions, over HTTP against the program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use mindset_core::json::{self, Value};
use support::{Answer, CONFIG, Folder, Running, Server, events, input, kind, last, program};

/// Two turns at once for `demo`; `still` answers so slowly that only a stop ends it.
fn config() -> String {
    let still = "[models.still]\nprovider = \"demo\"\ndelay = \"60s\"\n[models.words]\nprovider = \"demo\"\ndelay = \"40ms\"\n";
    let access = "uid = \"demo\"\nagent_access = [\"session.run\"]\nagent_concurrency = 2\napi_keys";
    let agents = "[[apps.agents]]\nuid = \"still\"\nmodel = \"still\"\n[[apps.agents]]\nuid = \"words\"\nmodel = \"words\"\n";
    let config = CONFIG.replacen("uid = \"demo\"\napi_keys", access, 1).replacen(
        "[[apps]]",
        &format!("{still}\n[[apps]]"),
        1,
    );
    config.replacen(
        "[[apps.agents]]\nuid = \"closed\"",
        &format!("{agents}[[apps.agents]]\nuid = \"closed\""),
        1,
    )
}

struct Fixture {
    server: Server,
    token: String,
    running: Running,
    folder: Folder,
}

impl Fixture {
    async fn new() -> Fixture {
        let folder = Folder::new();
        let (running, server) = Running::start(&mut program(&folder, &config()));
        let token = server.user("ada").await;
        Fixture { server, token, running, folder }
    }

    /// The same database after a crash.
    async fn crash(self) -> Fixture {
        let Fixture { token, running, folder, .. } = self;
        running.kill();
        let (running, server) = Running::start(&mut program(&folder, &config()));
        Fixture { server, token, running, folder }
    }

    /// The same database after a signal; gives what was logged, too.
    async fn restart(self) -> (Fixture, String) {
        let Fixture { token, running, folder, .. } = self;
        let log = running.stop();
        let (running, server) = Running::start(&mut program(&folder, &config()));
        (Fixture { server, token, running, folder }, log)
    }

    /// Posts a run; `props` are its `forwardedProps.mindset`.
    fn request(&self, agent: &str, ids: (&str, &str), text: &str, props: &str) -> support::Request {
        let body = input(ids.0, ids.1, text);
        let body =
            body.replace(r#""forwardedProps":{}"#, &format!(r#""forwardedProps":{{"mindset":{props}}}"#));
        self.server.post(&format!("/v1/agents/{agent}/runs"), &body).bearer(&self.token)
    }

    async fn post(&self, agent: &str, ids: (&str, &str), props: &str) -> Answer {
        let request = self.request(agent, ids, "hello", props).header("accept", "application/json");
        request.send().await
    }

    /// Posts a run of the application to the agent that only a stop ends.
    async fn application(&self, run: &str, session: &str) -> Answer {
        self.post("still", (run, session), r#"{"agentSession":true}"#).await
    }

    async fn stop(&self, run: &str) -> Answer {
        self.server.post(&format!("/v1/runs/{run}/cancel"), "").bearer(&self.token).send().await
    }

    async fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        let request = self.server.request(method, path).bearer(&self.token);
        let request = if body.is_empty() {
            request
        } else {
            request.header("content-type", "application/json").body(body)
        };
        request.send().await
    }

    async fn active(&self, session: &str) -> Option<String> {
        let conversation = self.server.conversation(&self.token, session).await.body;
        let active = conversation.get("activeRun")?;
        Some(format!("{} {}", active.str("runId")?, active.str("state")?))
    }

    /// `run state position text` of all that waits in a session.
    async fn queue(&self, session: &str) -> Vec<String> {
        let conversation = self.server.conversation(&self.token, session).await.body;
        let line = |item: &Value| {
            let text = |key: &str| item.str(key).unwrap().to_owned();
            let position = item.get("position").and_then(Value::as_u64).unwrap();
            format!("{} {} {position} {}", text("runId"), text("state"), text("text"))
        };
        conversation.get("queue").and_then(Value::as_array).unwrap().iter().map(line).collect()
    }

    /// Waits until a run runs in a session.
    async fn until_active(&self, session: &str, run: &str) {
        for _ in 0..200 {
            if self.active(session).await == Some(format!("{run} running")) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{run} did not begin: {:?}", self.active(session).await);
    }

    async fn events(&self, run: &str) -> Vec<Value> {
        let request = self.server.request("GET", &format!("/v1/runs/{run}/events")).bearer(&self.token);
        events(request.open().await).await
    }
}

fn accepted(answer: &Answer) -> (String, u64) {
    assert_eq!(answer.status, 202, "{}", answer.text);
    (answer.string("state"), answer.body.get("position").and_then(Value::as_u64).unwrap())
}

fn context<'a>(answer: &'a Answer, key: &str) -> Option<&'a str> {
    answer.body.get("error")?.get("context")?.str(key)
}

/// The events that tell of waiting, and the last one.
fn told(events: &[Value]) -> Vec<String> {
    let told = |event: &Value| match kind(event) {
        "RUN_STARTED" => Some("started".to_owned()),
        "RUN_FINISHED" => {
            let status = event.get("metadata").and_then(|m| m.get("mindset")?.str("status"));
            let outcome = event.get("outcome").and_then(|o| o.str("type")).unwrap_or("");
            Some(format!("finished {outcome} {}", status.unwrap_or("")).trim_end().to_owned())
        }
        "RUN_ERROR" => Some("error".to_owned()),
        _ => match (event.str("name"), event.get("value")) {
            (Some("mindset.run_queued"), Some(value)) => {
                Some(format!("queued {}", value.get("position").and_then(Value::as_u64).unwrap()))
            }
            (Some("mindset.turn_started"), _) => Some("turn".to_owned()),
            (Some("mindset.steered"), Some(value)) => Some(format!("reads {}", value.str("runId").unwrap())),
            _ => None,
        },
    };
    events.iter().filter_map(told).collect()
}

#[tokio::test]
async fn slots_and_the_line_for_them() {
    let fixture = Fixture::new().await;
    for n in 0..2 {
        let answer = fixture.application(&format!("r{n}"), &format!("s{n}")).await;
        assert_eq!(accepted(&answer), ("running".into(), 0));
    }
    for n in 2..10 {
        let answer = fixture.application(&format!("r{n}"), &format!("s{n}")).await;
        assert_eq!(accepted(&answer), ("queued".into(), 1));
    }
    let more = fixture.application("more", "s10").await;
    assert_eq!(more.error(), (429, "rate-limited".into()));
    assert_eq!(context(&more, "reason"), Some("queue-full"));
    assert_eq!(fixture.server.conversation(&fixture.token, "s10").await.status, 404, "nothing is left of it");
    // The user needs no slot, and who gives up a place makes room.
    assert_eq!(accepted(&fixture.post("still", ("own", "mine"), "{}").await), ("running".into(), 0));
    assert_eq!(fixture.stop("r5").await.string("state"), "cancelled");
    assert_eq!(told(&fixture.events("r5").await), ["started", "queued 4", "finished cancelled"]);
    assert_eq!(accepted(&fixture.application("last", "s10").await), ("queued".into(), 1));
    // First come, first served.
    let order = ["r2", "r3", "r4", "r6", "r7", "r8", "r9", "last"];
    let running = ["r0", "r1"].iter().chain(&order);
    for (ended, next) in running.zip(order) {
        fixture.stop(ended).await;
        fixture.until_active(&format!("s{}", next.trim_start_matches('r').replace("last", "10")), next).await;
    }
    fixture.stop("last").await;
    let places =
        ["queued 8", "queued 7", "queued 6", "queued 5", "queued 4", "queued 3", "queued 2", "queued 1"];
    let wanted = [&["started"], &places[..], &["turn", "finished cancelled"]].concat();
    assert_eq!(told(&fixture.events("last").await), wanted);
}

#[tokio::test]
async fn one_turn_per_session_and_follow_ups_behind_it() {
    let fixture = Fixture::new().await;
    let follow = async |run: &str| fixture.post("still", (run, "s"), r#"{"whenBusy":"queue"}"#).await;
    assert_eq!(accepted(&follow("r0").await), ("running".into(), 0));
    let busy = fixture.post("still", ("no", "s"), "{}").await;
    assert_eq!(busy.error(), (409, "busy".into()));
    assert_eq!(context(&busy, "runId"), Some("r0"));
    for (n, run) in ["r1", "r2", "r3"].iter().enumerate() {
        assert_eq!(accepted(&follow(run).await), ("queued".into(), n as u64 + 1));
    }
    // The same id and body finds it; another body does not.
    assert_eq!(accepted(&follow("r3").await), ("queued".into(), 3));
    assert_eq!(fixture.post("still", ("r3", "s"), "{}").await.error(), (409, "conflict".into()));
    let edited = fixture.call("PATCH", "/v1/runs/r1", r#"{"text":"rather this"}"#).await;
    assert_eq!((edited.status, edited.string("text").as_str()), (200, "rather this"));
    assert_eq!(
        fixture.call("PATCH", "/v1/runs/r1", r#"{"text":" "}"#).await.error(),
        (422, "invalid-request".into())
    );
    assert_eq!(fixture.call("DELETE", "/v1/runs/r2", "").await.status, 204);
    assert_eq!(fixture.call("DELETE", "/v1/runs/r2", "").await.error(), (409, "conflict".into()));
    assert_eq!(fixture.call("DELETE", "/v1/runs/r0", "").await.error(), (409, "conflict".into()));
    assert_eq!(fixture.call("DELETE", "/v1/runs/none", "").await.error(), (404, "not-found".into()));
    assert_eq!(fixture.queue("s").await, ["r1 queued 1 rather this", "r3 queued 2 hello"]);
    // A stop pauses; `resume` releases.
    fixture.stop("r0").await;
    assert_eq!(fixture.queue("s").await, ["r1 paused 1 rather this", "r3 paused 2 hello"]);
    assert_eq!(fixture.active("s").await, None);
    assert_eq!(fixture.call("POST", "/v1/conversations/s/queue/resume", "").await.status, 200);
    fixture.until_active("s", "r1").await;
    let conversation = fixture.server.conversation(&fixture.token, "s").await.body;
    let messages = conversation.get("messages").and_then(Value::as_array).unwrap();
    assert!(messages.iter().any(|m| m.str("content") == Some("rather this")), "{conversation}");
    // The user's next message releases, too, and comes first.
    fixture.stop("r1").await;
    assert_eq!(accepted(&fixture.post("still", ("r4", "s"), "{}").await), ("running".into(), 0));
    assert_eq!(fixture.queue("s").await, ["r3 queued 1 hello"]);
    // A deleted conversation takes what waits with it.
    assert_eq!(fixture.call("DELETE", "/v1/conversations/s", "").await.status, 204);
    assert_eq!(fixture.call("GET", "/v1/runs/r3/events", "").await.status, 404);
}

#[tokio::test]
async fn a_steer_is_read_by_the_running_turn() {
    let fixture = Fixture::new().await;
    let tools = r#""tools":[{"name":"set_color","description":"Paints the page","parameters":{"type":"object","properties":{"color":{"enum":["teal","pink"]}},"required":["color"]}}]"#;
    let post = async |body: String| {
        let body = body.replace(r#""tools":[]"#, tools);
        events(fixture.server.post("/v1/agents/demo/runs", &body).bearer(&fixture.token).open().await).await
    };
    let first = post(input("r1", "s", "make it teal")).await;
    let call = first.iter().find_map(|e| e.get("toolCallId").and_then(Value::as_str)).unwrap().to_owned();
    // The turn waits for its page and is not over: what steers it waits for its next request.
    let steer = fixture.post("demo", ("r2", "s"), r#"{"whenBusy":"steer"}"#).await;
    assert_eq!(accepted(&steer), ("queued".into(), 1));
    assert_eq!(fixture.queue("s").await, ["r2 steering 1 hello"]);
    let answer = format!(
        r#"{{"threadId":"s","runId":"r3","state":{{}},"tools":[],"context":[],"forwardedProps":{{}},
        "messages":[{{"id":"result","role":"tool","toolCallId":"{call}","content":"painted"}}]}}"#
    );
    let second = post(answer).await;
    assert_eq!(told(&second), ["started", "reads r2", "finished success"]);
    assert_eq!(second[0].get("metadata").and_then(|m| m.get("mindset")?.str("turnId")), Some("r1"));
    assert_eq!(told(&fixture.events("r2").await), ["started", "finished success steered"]);
    assert!(fixture.queue("s").await.is_empty());
    let conversation = fixture.server.conversation(&fixture.token, "s").await.body;
    let messages = conversation.get("messages").and_then(Value::as_array).unwrap();
    let said: Vec<&str> = messages
        .iter()
        .filter(|m| m.str("role") == Some("user"))
        .map(|m| m.str("content").unwrap())
        .collect();
    assert_eq!(said, ["make it teal", "hello"], "once");
    assert_eq!(conversation.get("lastRun").and_then(|run| run.str("runId")), Some("r3"));
}

#[tokio::test]
async fn a_steer_that_is_not_read_is_the_next_turn() {
    let fixture = Fixture::new().await;
    let open = fixture.request("words", ("r1", "s"), "thanks", "{}").open().await;
    let steer = fixture.post("words", ("r2", "s"), r#"{"whenBusy":"steer"}"#).await;
    assert_eq!(accepted(&steer), ("queued".into(), 1));
    assert_eq!(told(&events(open).await), ["started", "finished success"]);
    let next = fixture.events("r2").await;
    assert_eq!(told(&next), ["started", "turn", "finished success"]);
    assert!(!support::text(&next).is_empty());
    let conversation = fixture.server.conversation(&fixture.token, "s").await.body;
    let messages = conversation.get("messages").and_then(Value::as_array).unwrap();
    let runs: Vec<(&str, &str)> =
        messages.iter().map(|m| (m.str("role").unwrap(), m.str("runId").unwrap())).collect();
    assert_eq!(runs, [("user", "r1"), ("assistant", "r1"), ("user", "r2"), ("assistant", "r2")]);
    // On an idle session it begins at once, and says so.
    let open = fixture.request("demo", ("r3", "t"), "thanks", r#"{"whenBusy":"steer"}"#).open().await;
    assert_eq!(told(&events(open).await), ["started", "turn", "finished success"]);
}

#[tokio::test]
async fn three_waiting_messages_survive_a_crash() {
    let fixture = Fixture::new().await;
    fixture.post("still", ("r0", "s"), "{}").await;
    for run in ["r1", "r2", "r3"] {
        let props = r#"{"whenBusy":"queue","inputType":"HUMAN"}"#;
        let request = fixture.request("still", (run, "s"), &format!("say {run}"), props);
        accepted(&request.header("accept", "application/json").send().await);
    }
    assert_eq!(fixture.call("PATCH", "/v1/runs/r2", r#"{"text":"edited"}"#).await.status, 200);
    let fixture = fixture.crash().await;
    assert_eq!(fixture.queue("s").await, ["r1 paused 1 say r1", "r2 paused 2 edited", "r3 paused 3 say r3"]);
    assert_eq!(fixture.active("s").await, None);
    // Nothing starts by itself, nor by a word of the person: their pages are gone.
    assert_eq!(fixture.call("POST", "/v1/conversations/s/queue/resume", "").await.status, 200);
    assert_eq!(fixture.active("s").await, None);
    // Another text under the same id is another message.
    let props = r#"{"whenBusy":"queue","inputType":"HUMAN"}"#;
    let other = fixture.request("still", ("r1", "s"), "something else", props).send().await;
    assert_eq!(other.error(), (409, "conflict".into()));
    // What is posted again goes on where its readers were.
    let again = fixture.request("still", ("r2", "s"), "edited", props).header("accept", "application/json");
    assert_eq!(accepted(&again.send().await), ("running".into(), 0));
    let first = fixture.request("still", ("r1", "s"), "say r1", props).header("accept", "application/json");
    assert_eq!(accepted(&first.send().await), ("queued".into(), 1));
    assert_eq!(fixture.queue("s").await, ["r1 queued 1 say r1", "r3 paused 2 say r3"]);
    assert_eq!(fixture.call("DELETE", "/v1/runs/r3", "").await.status, 204);
    assert_eq!(told(&fixture.events("r3").await), ["started", "queued 3", "finished cancelled"]);
    fixture.stop("r2").await;
    assert_eq!(told(&fixture.events("r2").await), ["started", "queued 2", "turn", "finished cancelled"]);
    let conversation = fixture.server.conversation(&fixture.token, "s").await.body;
    let messages = conversation.get("messages").and_then(Value::as_array).unwrap();
    let said: Vec<&str> = messages
        .iter()
        .filter(|m| m.str("role") == Some("user"))
        .map(|m| m.str("content").unwrap())
        .collect();
    assert_eq!(said, ["hello", "edited"]);
    // Again, with one that has been posted anew.
    let fixture = fixture.crash().await;
    assert_eq!(fixture.queue("s").await, ["r1 paused 1 say r1"]);
}

#[tokio::test]
async fn a_shutdown_keeps_what_waits() {
    let fixture = Fixture::new().await;
    accepted(&fixture.application("r0", "s0").await);
    accepted(&fixture.application("r1", "s1").await);
    accepted(&fixture.application("r2", "s2").await);
    accepted(&fixture.post("still", ("r3", "s0"), r#"{"agentSession":true,"whenBusy":"queue"}"#).await);
    accepted(&fixture.post("still", ("r4", "s0"), r#"{"agentSession":true,"whenBusy":"steer"}"#).await);
    let (fixture, log) = fixture.restart().await;
    assert!(!log.contains("did not end in time"), "{log}");
    assert_eq!(told(&fixture.events("r0").await).last().unwrap(), "error");
    assert_eq!(fixture.queue("s0").await, ["r3 paused 1 hello", "r4 paused 2 hello"]);
    assert_eq!(fixture.queue("s2").await, ["r2 paused 1 hello"]);
    // What is paused takes no slot until it is posted again.
    for (run, session) in [("r5", "s5"), ("r6", "s6")] {
        assert_eq!(accepted(&fixture.application(run, session).await), ("running".into(), 0));
    }
    assert_eq!(accepted(&fixture.application("r2", "s2").await), ("queued".into(), 1));
    fixture.stop("r5").await;
    fixture.until_active("s2", "r2").await;
}

#[tokio::test]
async fn what_applications_may() {
    let fixture = Fixture::new().await;
    let me = fixture.call("GET", "/v1/me/permissions", "").await;
    assert_eq!(me.text, r#"{"run":true,"read":true,"declared":{"run":true,"read":false}}"#);
    // Their sessions are not in the user's list, and keep their agent.
    accepted(&fixture.application("r0", "s0").await);
    accepted(&fixture.application("r1", "s1").await);
    accepted(&fixture.application("r2", "s2").await);
    accepted(&fixture.post("still", ("own", "mine"), "{}").await);
    let follow = r#"{"agentSession":true,"whenBusy":"queue"}"#;
    let listed = async |query: &str| {
        let list = fixture.call("GET", &format!("/v1/conversations{query}"), "").await.body;
        let ids = list.get("conversations").and_then(Value::as_array).unwrap().iter();
        let mut ids: Vec<String> = ids.map(|c| c.str("id").unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(listed("").await, ["mine"]);
    assert_eq!(listed("?owner=app").await, ["s0", "s1", "s2"]);
    assert_eq!(
        fixture.call("GET", "/v1/conversations?owner=me", "").await.error(),
        (422, "invalid-request".into())
    );
    let other = fixture.post("demo", ("r9", "s0"), follow).await;
    assert_eq!(other.error(), (409, "conflict".into()));
    let made = r#"{"agentUid":"demo","id":"made","agentSession":true}"#;
    let made = fixture.call("POST", "/v1/conversations", made).await;
    assert_eq!((made.status, made.string("owner").as_str()), (201, "app"));
    for taken in [
        r#"{"agentUid":"words","id":"made","agentSession":true}"#,
        r#"{"agentUid":"still","id":"mine","agentSession":true}"#,
    ] {
        assert_eq!(fixture.call("POST", "/v1/conversations", taken).await.error(), (409, "conflict".into()));
    }
    // Switched off: what runs is stopped, what waits is gone, nothing begins; the user goes on.
    let off = fixture.call("PUT", "/v1/me/permissions", r#"{"run":false,"read":true}"#).await;
    assert_eq!(off.body.get("run").and_then(Value::as_bool), Some(false), "{}", off.text);
    for run in ["r0", "r1", "r2"] {
        assert_eq!(told(&fixture.events(run).await).last().unwrap(), "finished cancelled", "{run}");
    }
    assert_eq!(fixture.active("mine").await.as_deref(), Some("own running"));
    let refused = fixture.application("r3", "s3").await;
    assert_eq!(refused.error(), (403, "forbidden".into()));
    assert_eq!(context(&refused, "permission"), Some("session.run"));
    assert_eq!(
        fixture.call("GET", "/v1/conversations?owner=app", "").await.error(),
        (403, "forbidden".into())
    );
    assert_eq!(
        fixture.call("PUT", "/v1/me/permissions", r#"{"run":1}"#).await.error(),
        (422, "invalid-request".into())
    );
    // It stays so over a restart, until it is switched on.
    let fixture = fixture.crash().await;
    assert_eq!(fixture.application("r3", "s3").await.error(), (403, "forbidden".into()));
    fixture.call("PUT", "/v1/me/permissions", r#"{"run":true,"read":true}"#).await;
    assert_eq!(accepted(&fixture.application("r3", "s3").await), ("running".into(), 0));
    // In the user's own conversation too it takes a slot.
    fixture.stop("own").await;
    accepted(&fixture.post("still", ("r4", "mine"), r#"{"agentSession":true}"#).await);
    assert_eq!(accepted(&fixture.application("r5", "s5").await), ("queued".into(), 1));
}

#[tokio::test]
async fn an_application_that_declares_nothing_may_nothing() {
    let server = Server::start().await;
    let (token, _) = server.anonymous().await;
    let body = input("r1", "s", "hi")
        .replace(r#""forwardedProps":{}"#, r#""forwardedProps":{"mindset":{"agentSession":true}}"#);
    let refused = server.post("/v1/agents/demo/runs", &body).bearer(&token).send().await;
    assert_eq!(refused.error(), (403, "forbidden".into()));
    assert_eq!(context(&refused, "permission"), Some("session.run"));
    for props in [r#"{"whenBusy":"later"}"#, r#"{"agentSession":"yes"}"#] {
        let body = input("r1", "s", "hi")
            .replace(r#""forwardedProps":{}"#, &format!(r#""forwardedProps":{{"mindset":{props}}}"#));
        let refused = server.post("/v1/agents/demo/runs", &body).bearer(&token).send().await;
        assert_eq!(refused.error(), (422, "invalid-request".into()));
    }
    // The user's own follow-ups need no permission.
    let body = input("r1", "s", "hi")
        .replace(r#""forwardedProps":{}"#, r#""forwardedProps":{"mindset":{"whenBusy":"queue"}}"#);
    let open = server.post("/v1/agents/demo/runs", &body).bearer(&token).open().await;
    assert_eq!(kind(last(&events(open).await)), "RUN_FINISHED");
    assert!(json::parse(&body).is_ok());
}
