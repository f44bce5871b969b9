//! Agents and models that applications choose from, and what they can read of a conversation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use mindset_core::json::Value;
use support::{Answer, CONFIG, Folder, Server, events, input, kind};

/// `demo` may run and read; the models of its agents are `quick` and `slow`, `better` is offered
/// besides, and `hidden` belongs to nobody.
fn config() -> String {
    let models = "[models.better]\ntitle = \"Better\"\nprovider = \"demo\"\ndelay = \"0s\"\n\
                  [models.hidden]\nprovider = \"demo\"\n[models.private]\nprovider = \"demo\"\n[[apps]]";
    let app = "uid = \"demo\"\nagent_access = [\"session.run\", \"session.read\"]\ndefault_agent = \"demo\"\n\
               models = [\"better\", \"quick\"]\napi_keys";
    CONFIG
        .replacen("[[apps]]", models, 1)
        .replacen("uid = \"demo\"\napi_keys", app, 1)
        .replacen("uid = \"closed\"\nmodel = \"quick\"", "uid = \"closed\"\nmodel = \"private\"", 1)
        .replacen("uid = \"demo\"\nmodel", "uid = \"demo\"\ndescription = \"Answers\"\nmodel", 1)
}

async fn get(server: &Server, token: &str, path: &str) -> Answer {
    server.request("GET", path).bearer(token).send().await
}

fn props(body: &str, props: &str) -> String {
    body.replace(r#""forwardedProps":{}"#, &format!(r#""forwardedProps":{{"mindset":{props}}}"#))
}

async fn run(server: &Server, token: &str, ids: (&str, &str), mindset: &str) -> Vec<Value> {
    let body = props(&input(ids.0, ids.1, "thanks"), mindset);
    events(server.post("/v1/agents/demo/runs", &body).bearer(token).open().await).await
}

/// The model and the provider's name of it, as the first event of a run names them.
fn told(events: &[Value]) -> (&str, Option<&str>) {
    let mindset = events[0].get("metadata").unwrap().get("mindset").unwrap();
    (mindset.str("model").unwrap(), mindset.str("modelName"))
}

#[tokio::test]
async fn what_users_can_choose_from() {
    let server = Server::with(&config(), &[]).await;
    let (visitor, _) = server.anonymous().await;
    let ada = server.user("ada").await;
    assert_eq!(
        get(&server, &visitor, "/v1/agents").await.text,
        r#"{"agents":[{"agentUid":"demo","name":"demo","description":"Answers","default":true},{"agentUid":"slow","name":"slow"}]}"#
    );
    assert!(get(&server, &ada, "/v1/agents").await.text.contains(r#"{"agentUid":"closed","name":"closed"}"#));
    assert_eq!(
        get(&server, &visitor, "/v1/models").await.text,
        r#"{"models":[{"id":"quick","default":true},{"id":"slow"},{"id":"better","name":"Better"}]}"#
    );
    let ids = get(&server, &ada, "/v1/models").await.text;
    assert!(ids.contains(r#"{"id":"private"}"#) && !ids.contains("hidden"), "{ids}");
    // What a visitor cannot see they cannot have, and what nobody offers nobody has.
    for (token, model) in
        [(&visitor, "private"), (&visitor, "hidden"), (&ada, "hidden"), (&ada, "gpt"), (&ada, "")]
    {
        let body = props(&input("r", "t", "hi"), &format!(r#"{{"model":"{model}"}}"#));
        let refused = server.post("/v1/agents/demo/runs", &body).bearer(token).send().await;
        assert_eq!(refused.error(), (404, "model-not-found".into()), "{model}");
        assert_eq!(get(&server, token, "/v1/conversations/t").await.status, 404, "nothing has begun");
    }
    let body = props(&input("r", "t", "hi"), r#"{"model":7}"#);
    let refused = server.post("/v1/agents/demo/runs", &body).bearer(&ada).send().await;
    assert_eq!(refused.error(), (422, "invalid-request".into()));
}

#[tokio::test]
async fn the_model_that_is_chosen_answers_and_is_told() {
    let folder = Folder::new();
    let server = Server::at(&folder.path("test.db"), &config(), &[]).await;
    let ada = server.user("ada").await;
    assert_eq!(told(&run(&server, &ada, ("r1", "t"), "{}").await), ("quick", Some("demo")));
    let better = run(&server, &ada, ("r2", "t"), r#"{"model":"better","agentSession":true}"#).await;
    assert_eq!(told(&better), ("better", Some("demo")));
    let begun = better.iter().find(|e| e.str("name") == Some("mindset.turn_started")).unwrap();
    assert_eq!(begun.get("value").unwrap().text(), r#"{"model":"better"}"#);
    // The same id with another model is another order.
    let body = props(&input("r2", "t", "thanks"), r#"{"model":"slow","agentSession":true}"#);
    let other = server.post("/v1/agents/demo/runs", &body).bearer(&ada).send().await;
    assert_eq!(other.error(), (409, "conflict".into()));
    // It is the conversation's from now on, in this process and the next.
    server.stop().await;
    let server = Server::at(&folder.path("test.db"), &config(), &[]).await;
    assert_eq!(told(&run(&server, &ada, ("r3", "t"), "{}").await), ("better", Some("demo")));
    assert_eq!(get(&server, &ada, "/v1/conversations/t").await.string("model"), "better");
    assert_eq!(told(&run(&server, &ada, ("r4", "t2"), "{}").await), ("quick", Some("demo")));
    // Until it is not offered any more.
    server.stop().await;
    let less = config().replace("models = [\"better\", \"quick\"]\n", "");
    let server = Server::at(&folder.path("test.db"), &less, &[]).await;
    assert_eq!(told(&run(&server, &ada, ("r5", "t"), "{}").await), ("quick", Some("demo")));
    assert_eq!(get(&server, &ada, "/v1/conversations/t").await.string("model"), "quick");
}

#[tokio::test]
async fn what_applications_read() {
    let server = Server::with(&config(), &[]).await;
    let ada = server.user("ada").await;
    let made = r#"{"agentUid":"demo","id":"own","agentSession":true}"#;
    let made = server.post("/v1/conversations", made).bearer(&ada).send().await;
    assert_eq!(
        (made.status, made.string("state").as_str(), made.string("model").as_str()),
        (201, "idle", "quick")
    );
    assert_eq!(made.body.get("reply"), None);
    let said = run(&server, &ada, ("r1", "mine"), "{}").await;
    run(&server, &ada, ("r2", "own"), r#"{"agentSession":true}"#).await;
    let mine = get(&server, &ada, "/v1/conversations/mine?agentSession=true").await;
    assert_eq!(mine.string("reply"), support::text(&said));
    assert_eq!((mine.string("state").as_str(), mine.string("agentUid").as_str()), ("idle", "demo"));
    let slow = server.run(&ada, "slow", ("r3", "busy"), "Tell me a long story.").await;
    assert_eq!(get(&server, &ada, "/v1/conversations/busy").await.string("state"), "running");
    drop(slow);
    // Each permission reads what it is for. The chat itself needs none.
    let put = async |switches: &str| {
        let put = server
            .request("PUT", "/v1/me/permissions")
            .bearer(&ada)
            .header("content-type", "application/json");
        assert_eq!(put.body(switches).send().await.status, 200);
    };
    let seen = async || {
        let mut seen = Vec::new();
        for path in ["conversations/mine", "conversations/own", "conversations", "agents", "models"] {
            seen.push(get(&server, &ada, &format!("/v1/{path}?agentSession=true")).await.status);
        }
        seen
    };
    assert_eq!(seen().await, [200, 200, 200, 200, 200]);
    put(r#"{"run":true,"read":false}"#).await;
    assert_eq!(seen().await, [403, 200, 403, 200, 200]);
    let refused = get(&server, &ada, "/v1/conversations/mine?agentSession=true").await;
    assert_eq!(refused.error(), (403, "forbidden".into()));
    let context = refused.body.get("error").and_then(|e| e.get("context")).unwrap();
    assert_eq!(context.str("permission"), Some("session.read"));
    put(r#"{"run":false,"read":true}"#).await;
    assert_eq!(seen().await, [200, 200, 200, 200, 200]);
    put(r#"{"run":false,"read":false}"#).await;
    assert_eq!(seen().await, [403, 403, 403, 403, 403]);
    for path in ["conversations/mine", "conversations"] {
        assert_eq!(get(&server, &ada, &format!("/v1/{path}")).await.status, 200);
    }
    let wrong = get(&server, &ada, "/v1/conversations?agentSession=yes").await;
    assert_eq!(wrong.error(), (422, "invalid-request".into()));
    assert!(said.iter().any(|event| kind(event) == "RUN_FINISHED"));
}
