//! The UI-less client: the same handle as an element's, without an element.

use js_sys::Function;
use mindset_core::json::Value;
use mindset_core::queue::WhenBusy;
use mindset_core::session::{AgentCall, Config};
use wasm_bindgen::prelude::*;

use crate::convert;
use crate::effects::tool::Tools;
use crate::element::Agent;
use crate::host::{Chat, Host};
use crate::page::{self, Init};

#[wasm_bindgen]
impl Agent {
    /// A client for what `readChat` gave. `listener` hears every event and does not throw.
    pub fn chat(given: &JsValue, listener: Function, tools: Tools) -> Agent {
        let text = |name: &str| convert::text(given, name).filter(|text| !text.is_empty());
        Agent::of(
            Host::Chat(Chat {
                listener,
                init: std::rc::Rc::new(Init::of(given)),
                agent_uid: text("agentUid").unwrap_or_default(),
                conversation_id: text("conversationId"),
                approvals: text("approvals").is_some(),
                call: call(&convert::member(given, "call")),
            }),
            tools,
        )
    }

    /// The conversation, once it is known.
    #[wasm_bindgen(getter, js_name = conversationId)]
    pub fn conversation_id(&self) -> Option<String> {
        self.driver.conversation_id()
    }

    /// The transcript, oldest first, frozen.
    #[wasm_bindgen(getter)]
    pub fn messages(&self) -> JsValue {
        convert::frozen(&Value::Array(self.driver.messages()))
    }
}

impl Chat {
    /// What its session needs.
    pub(crate) fn config(&self) -> Config {
        let init = &self.init;
        Config {
            server: init.server.clone(),
            protocol: init.protocol,
            app_uid: init.app_uid.clone(),
            agent_uid: self.agent_uid.clone(),
            page_auth: init.hands_out(),
            anonymous_key: None,
            conversation_id: self.conversation_id.clone(),
            extended_awareness: init.extended_awareness,
            can_ask: self.approvals,
            client_id: page::client_id(),
            timing: init.timing,
            call: self.call.clone(),
        }
    }
}

/// A call of the agent API, of `{ model?, whenBusy?, reads? }`.
fn call(given: &JsValue) -> Option<AgentCall> {
    given.is_object().then(|| AgentCall {
        model: convert::text(given, "model"),
        when_busy: convert::text(given, "whenBusy").and_then(|wish| WhenBusy::parse(&wish)),
        reads: convert::member(given, "reads").is_truthy(),
    })
}
