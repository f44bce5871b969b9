//! A runtime between a model and an MCP server whose every word the test knows, and a user of it.
#![allow(dead_code)]

use std::time::{Duration, Instant};

use mindset_core::json::Value;

use crate::peer::Peer;
use crate::scripted::{hr, model};
use crate::support::{Answer, Folder, Running, Server, events, program};

/// A runtime with both, and a user.
pub(crate) struct Case {
    pub(crate) hr: Peer,
    pub(crate) model: Peer,
    folder: Folder,
    config: String,
    pub(crate) running: Running,
    pub(crate) server: Server,
    pub(crate) token: String,
}

impl Case {
    pub(crate) async fn start(config: impl Fn(&Peer, &Peer) -> String) -> Case {
        let (hr, model) = (hr().await, model().await);
        let config = config(&model, &hr);
        Case::with(hr, model, Folder::new(), config).await
    }

    pub(crate) async fn with(hr: Peer, model: Peer, folder: Folder, config: String) -> Case {
        let (running, server) = Running::start(&mut program(&folder, &config));
        let (token, _) = server.anonymous().await;
        Case { hr, model, folder, config, running, server, token }
    }

    /// Ends the process as a crash does, and starts another one.
    pub(crate) async fn crash(self) -> Case {
        let Case { hr, model, folder, config, running, token, .. } = self;
        running.kill();
        let (running, server) = Running::start(&mut program(&folder, &config));
        Case { hr, model, folder, config, running, server, token }
    }

    pub(crate) async fn post(&self, agent: &str, body: &str) -> reqwest::Response {
        self.server.post(&format!("/v1/agents/{agent}/runs"), body).bearer(&self.token).open().await
    }

    pub(crate) async fn run(&self, body: &str) -> Vec<Value> {
        events(self.post("demo", body).await).await
    }

    pub(crate) async fn refused(&self, body: &str) -> (u16, String) {
        let answer = self.server.post("/v1/agents/demo/runs", body).bearer(&self.token).send().await;
        answer.error()
    }

    pub(crate) async fn interrupts(&self, thread: &str) -> Vec<Value> {
        let answer: Answer = self.server.conversation(&self.token, thread).await;
        answer.body.get("openInterrupts").and_then(Value::as_array).unwrap().to_vec()
    }

    /// Says for so long that somebody is there who can answer the run.
    pub(crate) async fn stay(&self, run: &str, time: Duration) {
        let since = Instant::now();
        while since.elapsed() < time {
            let seen = self.server.post(&format!("/v1/runs/{run}/seen"), "").bearer(&self.token).send().await;
            assert_eq!(seen.status, 204);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// What a conversation came to, once its turn is over.
    pub(crate) async fn reply(&self, thread: &str) -> String {
        for _ in 0..600 {
            let conversation = self.server.conversation(&self.token, thread).await;
            if conversation.string("state") == "idle" {
                return conversation.string("reply");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the turn of {thread} does not end");
    }

    /// The notes of the calls that the MCP server got.
    pub(crate) fn called(&self) -> Vec<String> {
        let calls = self.hr.seen().into_iter().filter(|s| s.is("tools/call"));
        calls.map(|s| s.body.get("params").unwrap().get("arguments").unwrap().text()).collect()
    }
}
