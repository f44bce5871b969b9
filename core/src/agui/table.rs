//! The fields of our types and their names on the wire: one table for both
//! directions, so that what is written reads back.

use super::fields::{Field, Record};
use super::{Body, Context, Interrupt, ResumeEntry, RunAgentInput, TokenUsage, Tool};
use crate::json::Object;

macro_rules! events {
    ($( $kind:literal $variant:ident { $( $field:ident $key:literal ),* } )*) => {
        impl Body {
            /// The event type as it stands on the wire.
            pub fn type_name(&self) -> &'static str {
                match self { $( Body::$variant { .. } => $kind, )* }
            }

            /// The event of type `kind`, which is in the table.
            pub(super) fn read(kind: &str, o: &Object) -> Body {
                match kind {
                    $( $kind => Body::$variant { $( $field: Field::read(o, $key), )* }, )*
                    _ => Body::Raw { event: o.clone().into(), source: None },
                }
            }

            pub(super) fn write(&self, o: &mut Object) {
                match self { $( Body::$variant { $( $field ),* } => { $( $field.write(o, $key); )* } )* }
            }
        }
    };
}

macro_rules! records {
    ($( $name:ident { $( $field:ident $key:literal ),* } )*) => {
        $(impl Record for $name {
            fn read(o: &Object) -> $name {
                $name { $( $field: Field::read(o, $key), )* }
            }

            fn write(&self, o: &mut Object) {
                $( self.$field.write(o, $key); )*
            }
        })*
    };
}

events! {
    "TEXT_MESSAGE_START" TextMessageStart { message_id "messageId", role "role", name "name" }
    "TEXT_MESSAGE_CONTENT" TextMessageContent { message_id "messageId", delta "delta" }
    "TEXT_MESSAGE_END" TextMessageEnd { message_id "messageId" }
    "TEXT_MESSAGE_CHUNK" TextMessageChunk {
        message_id "messageId", role "role", delta "delta", name "name"
    }
    "TOOL_CALL_START" ToolCallStart {
        tool_call_id "toolCallId", tool_call_name "toolCallName", parent_message_id "parentMessageId"
    }
    "TOOL_CALL_ARGS" ToolCallArgs { tool_call_id "toolCallId", delta "delta" }
    "TOOL_CALL_END" ToolCallEnd { tool_call_id "toolCallId" }
    "TOOL_CALL_CHUNK" ToolCallChunk {
        tool_call_id "toolCallId", tool_call_name "toolCallName",
        parent_message_id "parentMessageId", delta "delta"
    }
    "TOOL_CALL_RESULT" ToolCallResult {
        message_id "messageId", tool_call_id "toolCallId", content "content"
    }
    "STATE_SNAPSHOT" StateSnapshot { snapshot "snapshot" }
    "STATE_DELTA" StateDelta { delta "delta" }
    "MESSAGES_SNAPSHOT" MessagesSnapshot { messages "messages" }
    "ACTIVITY_SNAPSHOT" ActivitySnapshot {
        message_id "messageId", activity_type "activityType", content "content", replace "replace"
    }
    "ACTIVITY_DELTA" ActivityDelta {
        message_id "messageId", activity_type "activityType", patch "patch"
    }
    "RAW" Raw { event "event", source "source" }
    "CUSTOM" Custom { name "name", value "value" }
    "RUN_STARTED" RunStarted {
        thread_id "threadId", run_id "runId", protocol_version "protocolVersion",
        parent_run_id "parentRunId"
    }
    "RUN_FINISHED" RunFinished {
        thread_id "threadId", run_id "runId", result "result", outcome "outcome", usage "usage"
    }
    "RUN_ERROR" RunError { message "message", code "code", usage "usage" }
    "STEP_STARTED" StepStarted { step_name "stepName" }
    "STEP_FINISHED" StepFinished { step_name "stepName" }
    "REASONING_START" ReasoningStart { message_id "messageId" }
    "REASONING_MESSAGE_START" ReasoningMessageStart { message_id "messageId" }
    "REASONING_MESSAGE_CONTENT" ReasoningMessageContent { message_id "messageId", delta "delta" }
    "REASONING_MESSAGE_END" ReasoningMessageEnd { message_id "messageId" }
    "REASONING_MESSAGE_CHUNK" ReasoningMessageChunk { message_id "messageId", delta "delta" }
    "REASONING_END" ReasoningEnd { message_id "messageId" }
    "REASONING_ENCRYPTED_VALUE" ReasoningEncryptedValue {
        subtype "subtype", entity_id "entityId", encrypted_value "encryptedValue"
    }
    "SUBAGENT_STARTED" SubagentStarted {
        subagent_run_id "subagentRunId", name "name", description "description",
        parent_subagent_run_id "parentSubagentRunId", parent_tool_call_id "parentToolCallId",
        parent_message_id "parentMessageId"
    }
    "SUBAGENT_FINISHED" SubagentFinished {
        subagent_run_id "subagentRunId", result "result", outcome "outcome"
    }
    "SUBAGENT_ERROR" SubagentError { subagent_run_id "subagentRunId", message "message", code "code" }
}

records! {
    Interrupt {
        id "id", reason "reason", message "message", tool_call_id "toolCallId",
        response_schema "responseSchema", expires_at "expiresAt", metadata "metadata"
    }
    TokenUsage {
        provider "provider", model "model", input_tokens "inputTokens",
        output_tokens "outputTokens", total_tokens "totalTokens",
        reasoning_tokens "reasoningTokens", cached_input_tokens "cachedInputTokens",
        cache_write_input_tokens "cacheWriteInputTokens"
    }
    Tool {
        name "name", description "description", parameters "parameters", metadata "metadata"
    }
    Context { description "description", value "value" }
    ResumeEntry {
        interrupt_id "interruptId", status "status", payload "payload", metadata "metadata"
    }
    RunAgentInput {
        thread_id "threadId", run_id "runId", protocol_version "protocolVersion",
        parent_run_id "parentRunId", state "state", messages "messages", tools "tools",
        context "context", forwarded_props "forwardedProps", resume "resume"
    }
}
