//! What always holds for applications that run turns, each once over HTTP against the program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "../src/mcp/tests/peer.rs"]
mod peer;
#[path = "support/scripted.rs"]
mod scripted;
mod support;
#[path = "support/watch.rs"]
mod watch;

use std::time::Duration;

use mindset_core::json::Value;
use peer::Peer;
use scripted::{ASK, UPDATE, asked, decided, posted, result_of};
use support::{Answer, Folder, Running, Server, events, input, kind, last, program, text};
use watch::Watch;

/// One turn at once for each user; `still` answers only until it is stopped, `paint` makes the page
/// do something.
fn config(model: &Peer, hr: &Peer) -> String {
    let app = "uid = \"demo\"\nagent_access = [\"session.run\", \"session.read\"]\nagent_concurrency = 1";
    let agents = "[models.still]\nprovider = \"demo\"\ndelay = \"60s\"\n[models.quick]\nprovider = \"demo\"\ndelay = \"0s\"\n";
    let more = "[[apps.agents]]\nuid = \"still\"\nmodel = \"still\"\nanonymous = true\n\
                [[apps.agents]]\nuid = \"paint\"\nmodel = \"quick\"\nanonymous = true\n";
    format!("{agents}{}{more}", scripted::config(model, hr).replacen("uid = \"demo\"", app, 1))
}

struct Stage {
    hr: Peer,
    model: Peer,
    folder: Folder,
    running: Running,
    server: Server,
    token: String,
}

const CALL: &str = r#"{"mindset":{"agentSession":true,"answers":true}}"#;
const ALONE: &str = r#"{"mindset":{"agentSession":true}}"#;
const QUEUE: &str = r#"{"mindset":{"agentSession":true,"answers":true,"whenBusy":"queue"}}"#;
const STEER: &str = r#"{"mindset":{"agentSession":true,"answers":true,"whenBusy":"steer"}}"#;

/// What is posted to a session.
fn order(session: &str, run: &str, said: &str, props: &str) -> String {
    posted(run, Some(said), "", props).replace(r#""threadId":"t""#, &format!(r#""threadId":"{session}""#))
}

/// What answers the questions of a session.
fn answers(session: &str, run: &str, entry: &str) -> String {
    posted(run, None, entry, CALL).replace(r#""threadId":"t""#, &format!(r#""threadId":"{session}""#))
}

impl Stage {
    async fn start() -> Stage {
        let (hr, model, folder) = (scripted::hr().await, scripted::model().await, Folder::new());
        let (running, server) = Running::start(&mut program(&folder, &config(&model, &hr)));
        let (token, _) = server.anonymous().await;
        Stage { hr, model, folder, running, server, token }
    }

    /// Ends the process as `kill -9` does, and starts another one.
    async fn crash(self) -> Stage {
        let Stage { hr, model, folder, running, token, .. } = self;
        running.kill();
        let (running, server) = Running::start(&mut program(&folder, &config(&model, &hr)));
        Stage { hr, model, folder, running, server, token }
    }

    fn post(&self, agent: &str, body: &str) -> support::Request {
        self.server.post(&format!("/v1/agents/{agent}/runs"), body).bearer(&self.token)
    }

    /// Posts a run and reads it to its end.
    async fn run(&self, agent: &str, body: &str) -> Vec<Value> {
        events(self.post(agent, body).open().await).await
    }

    /// Posts a run and reads no more than that it is there: `state position`, or its error.
    async fn place(&self, agent: &str, body: &str) -> String {
        let answer = self.post(agent, body).header("accept", "application/json").send().await;
        if answer.status != 202 {
            let (status, code) = answer.error();
            return format!("{status} {code}");
        }
        let position = answer.body.get("position").and_then(Value::as_u64).unwrap();
        format!("{} {position}", answer.string("state"))
    }

    async fn events(&self, run: &str) -> Vec<Value> {
        let request = self.server.request("GET", &format!("/v1/runs/{run}/events")).bearer(&self.token);
        events(request.open().await).await
    }

    async fn stop(&self, run: &str) -> String {
        let stop = self.server.post(&format!("/v1/runs/{run}/cancel"), "").bearer(&self.token).send().await;
        stop.string("state")
    }

    async fn session(&self, id: &str) -> Answer {
        self.server.conversation(&self.token, id).await
    }

    async fn active(&self, session: &str) -> Option<String> {
        self.session(session).await.body.get("activeRun")?.str("runId").map(str::to_owned)
    }

    async fn until_active(&self, session: &str, run: &str) {
        for _ in 0..600 {
            if self.active(session).await.as_deref() == Some(run) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{run} does not begin");
    }

    async fn open(&self, session: &str) -> Vec<Value> {
        let session = self.session(session).await.body;
        session.get("openInterrupts").and_then(Value::as_array).unwrap().to_vec()
    }

    fn asked_of_the_model(&self, what: &str) -> usize {
        self.model.seen().iter().filter(|seen| seen.text.contains(what)).count()
    }

    fn updates(&self) -> usize {
        let is = |seen: &&peer::Seen| seen.is("tools/call") && seen.text.contains("\"update\"");
        self.hr.seen().iter().filter(is).count()
    }
}

fn ends(events: &[Value]) -> usize {
    events.iter().filter(|event| matches!(kind(event), "RUN_FINISHED" | "RUN_ERROR")).count()
}

/// How a run ended.
fn outcome(events: &[Value]) -> String {
    assert_eq!(ends(events), 1, "one end");
    let last = last(events);
    let status = last.get("metadata").and_then(|m| m.get("mindset")?.str("status")).unwrap_or("");
    let outcome = last.get("outcome").and_then(|outcome| outcome.str("type")).unwrap_or("");
    format!("{} {outcome} {status}", kind(last)).trim_end().to_owned()
}

#[tokio::test]
async fn slots_and_the_line_behind_them() {
    let stage = Stage::start().await;
    let hello = |session: &str, run: &str| order(session, run, "hello", CALL);
    assert_eq!(stage.place("still", &hello("s0", "r0")).await, "running 0");
    // One turn in a session, whatever else there is room for.
    assert_eq!(stage.place("still", &hello("s0", "r")).await, "409 busy");
    for n in 1..=4 {
        let place = stage.place("still", &hello(&format!("s{n}"), &format!("r{n}"))).await;
        assert_eq!(place, "queued 1", "in its session");
    }
    let refused = stage.post("still", &hello("s5", "r5")).send().await;
    assert_eq!(refused.error(), (429, "rate-limited".into()));
    let context = refused.body.get("error").and_then(|error| error.get("context")).unwrap();
    assert_eq!(context.text(), r#"{"reason":"queue-full","limit":4}"#);
    // A slot that is free goes to who came first.
    for n in 0..4 {
        assert_eq!(stage.stop(&format!("r{n}")).await, "cancelled");
        stage.until_active(&format!("s{}", n + 1), &format!("r{}", n + 1)).await;
        for later in n + 2..=4 {
            assert_eq!(stage.active(&format!("s{later}")).await, None, "one at once");
        }
    }
    stage.stop("r4").await;
    let heard = stage.events("r4").await;
    let places = heard.iter().filter(|event| event.str("name") == Some("mindset.run_queued"));
    let places: Vec<u64> = places.filter_map(|e| e.get("value")?.get("position")?.as_u64()).collect();
    assert_eq!(places, [4, 3, 2, 1]);
    stage.running.kill();
}

#[tokio::test]
async fn one_end_for_each_call_and_none_for_what_is_steered() {
    let stage = Stage::start().await;
    let mut watch = Watch::open(&stage.server, &stage.token, "all=true").await;
    let tools = r#""tools":[{"name":"set_color","description":"Paints the page","parameters":{"type":"object","properties":{"color":{"enum":["teal","pink"]}},"required":["color"]}}]"#;
    let first = stage.run("paint", &input("r1", "t", "make it teal").replace(r#""tools":[]"#, tools)).await;
    let call = first.iter().find_map(|e| e.str("toolCallId")).unwrap();
    // Read by the turn at its next request, once, or it is the next turn.
    assert_eq!(stage.place("paint", &order("t", "r2", "rather pink", STEER)).await, "queued 1");
    let result = format!(
        r#"{{"threadId":"t","runId":"r3","state":{{}},"tools":[],"context":[],"forwardedProps":{{}},
        "messages":[{{"id":"result","role":"tool","toolCallId":"{call}","content":"painted"}}]}}"#
    );
    let second = stage.run("paint", &result).await;
    assert_eq!(second.iter().filter(|e| e.str("name") == Some("mindset.steered")).count(), 1);
    assert_eq!(outcome(&stage.events("r2").await), "RUN_FINISHED success steered");
    let third = stage.run("paint", &order("t", "r4", "thanks", STEER)).await;
    for run in [&first, &second, &third] {
        assert_eq!(outcome(run), "RUN_FINISHED success");
    }
    // What observers hear of the ends is what the runs and the conversation say.
    for (turn, events) in [("r1", &second), ("r4", &third)] {
        let (heard, reply) = watch.turn().await;
        let wanted = [
            format!("t {turn} turn.started quick"),
            format!("t {turn} message.committed"),
            format!("t {turn} turn.finished finished"),
        ];
        assert_eq!(heard, wanted);
        assert_eq!(reply, text(events));
    }
    let session = stage.session("t").await;
    assert_eq!(session.string("reply"), text(&third));
    let messages = session.body.get("messages").and_then(Value::as_array).unwrap();
    let said: Vec<&str> = messages
        .iter()
        .filter(|m| m.str("role") == Some("user"))
        .map(|m| m.str("content").unwrap())
        .collect();
    assert_eq!(said, ["make it teal", "rather pink", "thanks"], "each once");
    stage.running.kill();
}

#[tokio::test]
async fn questions_come_before_the_end_and_are_answered_first() {
    let stage = Stage::start().await;
    let made = r#"{"agentUid":"demo","id":"q","agentSession":true}"#;
    assert_eq!(stage.server.post("/v1/conversations", made).bearer(&stage.token).send().await.status, 201);
    let mut watch = Watch::open(&stage.server, &stage.token, "sessionId=q").await;
    let asks = asked(&stage.run("demo", &order("q", "r1", ASK, CALL)).await);
    assert_eq!(asks[0].str("reason"), Some("input_required"));
    assert_eq!(stage.open("q").await, asks, "known when the end is");
    assert_eq!(watch.turn().await.0, ["q r1 turn.started scripted", "q r1 turn.finished finished"]);
    // The session takes no other call before; the slot is free for others.
    for props in [CALL, QUEUE, STEER] {
        let busy = stage.post("demo", &order("q", "r2", "go on", props)).send().await;
        assert_eq!(busy.error(), (409, "busy".into()));
        let context = busy.body.get("error").and_then(|error| error.get("context")).unwrap();
        assert_eq!(context.get("openInterrupts").and_then(Value::as_array).unwrap(), asks);
    }
    assert_eq!(
        outcome(&stage.run("demo", &order("other", "r3", "hello", CALL)).await),
        "RUN_FINISHED success"
    );
    let answer = decided(&asks[0], r#"{"answers":[{"stepId":"room","selectedOptionIds":["b"]}]}"#);
    let second = stage.run("demo", &answers("q", "r4", &answer)).await;
    assert_eq!((outcome(&second).as_str(), text(&second).as_str()), ("RUN_FINISHED success", "Done."));
    stage.running.kill();
}

#[tokio::test]
async fn approvals_reach_nobody_who_cannot_answer() {
    let stage = Stage::start().await;
    let made = r#"{"agentUid":"demo","id":"t","agentSession":true}"#;
    assert_eq!(stage.server.post("/v1/conversations", made).bearer(&stage.token).send().await.status, 201);
    let mut watch = Watch::open(&stage.server, &stage.token, "sessionId=t").await;
    // Nobody can answer: denied at once, for a reason that the model reads.
    let alone = stage.run("demo", &order("t", "r1", UPDATE, ALONE)).await;
    assert_eq!((outcome(&alone).as_str(), text(&alone).as_str()), ("RUN_FINISHED success", "Done."));
    assert_eq!(stage.asked_of_the_model("Nobody can approve this call now"), 1);
    // Somebody can: the turn waits, and only what they allow runs.
    let asks = asked(&stage.run("demo", &order("t", "r2", UPDATE, CALL)).await);
    assert_eq!((asks.len(), stage.updates()), (1, 0));
    let allow = decided(&asks[0], r#"{"approved":true}"#);
    let allowed = stage.run("demo", &answers("t", "r3", &allow)).await;
    assert_eq!(result_of(&allowed, asks[0].str("toolCallId").unwrap()).str("content"), Some("saved"));
    assert_eq!(stage.updates(), 1);
    for _ in 0..2 {
        let heard = watch.turn().await.0.join("\n");
        assert!(!heard.contains("permission") && !heard.contains("question"), "{heard}");
    }
    stage.running.kill();
}

#[tokio::test]
async fn nothing_is_heard_after_a_stop_and_a_late_word_finds_nothing() {
    let stage = Stage::start().await;
    let asks = asked(&stage.run("demo", &order("t", "r1", UPDATE, CALL)).await);
    assert_eq!(stage.stop("r1").await, "cancelled");
    let known = stage.events("r1").await.len();
    let allow = decided(&asks[0], r#"{"approved":true}"#);
    let late = stage.post("demo", &answers("t", "r2", &allow)).send().await;
    assert_eq!(late.error(), (409, "conflict".into()));
    assert_eq!((stage.updates(), stage.open("t").await.len()), (0, 0));
    assert_eq!(stage.events("r1").await.len(), known);
    // The same of one that runs, and of one that waits in line.
    assert_eq!(stage.place("still", &order("s", "r3", "hello", CALL)).await, "running 0");
    assert_eq!(stage.place("still", &order("s2", "r4", "hello", CALL)).await, "queued 1");
    for run in ["r4", "r3"] {
        assert_eq!(stage.stop(run).await, "cancelled");
        let heard = stage.events(run).await;
        assert_eq!(outcome(&heard), "RUN_FINISHED cancelled");
        assert_eq!(stage.events(run).await.len(), heard.len());
    }
    stage.running.kill();
}

#[tokio::test]
async fn one_run_id_runs_once() {
    let stage = Stage::start().await;
    let once = order("t", "r1", "Once and never again.", CALL);
    let (a, b) = tokio::join!(stage.run("demo", &once), stage.run("demo", &once));
    assert_eq!(a, b);
    assert_eq!(stage.asked_of_the_model("Once and never again."), 1);
    // One whose process is gone has an end, and is not run again.
    assert_eq!(stage.place("still", &order("s", "r2", "hello", CALL)).await, "running 0");
    let stage = stage.crash().await;
    assert_eq!(stage.run("demo", &once).await, a);
    let lost = stage.run("still", &order("s", "r2", "hello", CALL)).await;
    assert_eq!(outcome(&lost), "RUN_ERROR");
    assert_eq!(stage.asked_of_the_model("Once and never again."), 1);
    assert_eq!(stage.active("s").await, None);
    let other = stage.post("demo", &order("t", "r1", "Something else.", CALL)).send().await;
    assert_eq!(other.error(), (409, "conflict".into()));
    stage.running.kill();
}

#[tokio::test]
async fn what_waits_outlives_a_crash() {
    let stage = Stage::start().await;
    let approval = asked(&stage.run("demo", &order("t", "r1", UPDATE, CALL)).await);
    let questions = asked(
        &stage
            .run(
                "demo",
                &input("r2", "q", "x")
                    .replace(r#""content":"x""#, &format!(r#""content":{}"#, Value::from(ASK).text())),
            )
            .await,
    );
    // A person's own messages need no slot.
    let line = |run: &str| {
        input(run, "s", &format!("say {run}"))
            .replace(r#""forwardedProps":{}"#, r#""forwardedProps":{"mindset":{"whenBusy":"queue"}}"#)
    };
    assert_eq!(stage.place("still", &line("m0")).await, "running 0");
    for n in 1..=3 {
        assert_eq!(stage.place("still", &line(&format!("m{n}"))).await, format!("queued {n}"));
    }
    let stage = stage.crash().await;
    assert_eq!(stage.open("t").await, approval);
    assert_eq!(stage.open("q").await, questions);
    let queue = stage.session("s").await.body;
    let queue = queue.get("queue").and_then(Value::as_array).unwrap();
    let waits: Vec<String> = queue
        .iter()
        .map(|item| ["runId", "state", "text"].map(|key| item.str(key).unwrap()).join(" "))
        .collect();
    assert_eq!(waits, ["m1 paused say m1", "m2 paused say m2", "m3 paused say m3"]);
    // All of it goes on.
    let allow = decided(&approval[0], r#"{"approved":true}"#);
    assert_eq!(text(&stage.run("demo", &answers("t", "r3", &allow)).await), "Done.");
    assert_eq!(stage.updates(), 1);
    let answer = decided(&questions[0], r#"{"answers":[{"stepId":"room","selectedOptionIds":["a"]}]}"#);
    assert_eq!(text(&stage.run("demo", &answers("q", "r4", &answer)).await), "Done.");
    assert_eq!(stage.place("still", &line("m1")).await, "running 0");
    assert_eq!(stage.place("still", &line("m2")).await, "queued 1");
    stage.stop("m1").await;
    stage.running.kill();
}
