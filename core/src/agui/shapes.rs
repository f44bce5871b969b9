//! What every event, message and input must look like, as text: an interpreter
//! and a table are a tenth of the wasm that one reader per type is.
//!
//! A line is `TAG/KIND` and its members; records that come in one kind only have
//! no kind. Event lines name their place in a run first (see
//! [`order`](super::order)): a letter for what they belong to and one for what
//! they do with it; the first member is its id.
//!
//! A member is a name, how often it stands there, and a letter for its shape:
//!
//! - `:` once, `?` once or not at all, `*` a list that may be absent, `=` a list
//!   that may be empty, `+` a list that may not.
//! - `s` string, `o` object, `b` boolean, `n` whole number, `v` anything, `w`
//!   anything that is there, `r` role of streamed text, `k` subtype, `p` JSON
//!   Pointer, `c` string or content parts, and a capital for a record of that tag.

/// The records that events and inputs share.
macro_rules! messages {
    () => {
        "\
M/developer id:s content:s name?s encryptedValue?s metadata?o
M/system id:s content:s name?s encryptedValue?s metadata?o
M/assistant id:s content?s name?s toolCalls*C encryptedValue?s metadata?o
M/user id:s content:c name?s encryptedValue?s metadata?o
M/tool id:s content:c toolCallId:s error?s encryptedValue?s metadata?o
M/activity id:s activityType:s content:o metadata?o
M/reasoning id:s content:s encryptedValue?s metadata?o
C/ id:s function:F
F/ name:s arguments:s
P/text text:s
P/image source:S
P/audio source:S
P/video source:S
P/document source:S
S/ value:s
"
    };
}

/// Events, those that come most often first, and what is looked up for each of them.
pub(super) const EVENTS: &str = concat!(
    "\
E/TEXT_MESSAGE_CONTENT t. messageId:s delta:s
E/REASONING_MESSAGE_CONTENT r. messageId:s delta:s
E/TOOL_CALL_ARGS c. toolCallId:s delta:s
B/ timestamp?n metadata?o
B/attributable subagentRunId?s
E/TEXT_MESSAGE_START t+ messageId:s role?r name?s
E/TEXT_MESSAGE_END t- messageId:s
E/TEXT_MESSAGE_CHUNK t~ messageId?s role?r delta?s name?s
E/TOOL_CALL_START c+ toolCallId:s toolCallName:s parentMessageId?s
E/TOOL_CALL_END c- toolCallId:s
E/TOOL_CALL_CHUNK c~ toolCallId?s toolCallName?s parentMessageId?s delta?s
E/TOOL_CALL_RESULT __ messageId:s toolCallId:s content:c
E/STATE_SNAPSHOT __ snapshot?v
E/STATE_DELTA __ delta=J
E/MESSAGES_SNAPSHOT !_ messages=M
E/ACTIVITY_SNAPSHOT __ messageId:s activityType:s content:o replace?b
E/ACTIVITY_DELTA __ messageId:s activityType:s patch=J
E/RAW __ event?v source?s
E/CUSTOM __ name:s value?v
E/RUN_STARTED !_ threadId:s runId:s protocolVersion?s parentRunId?s
E/RUN_FINISHED !_ threadId:s runId:s result?v outcome?O usage*U
E/RUN_ERROR !_ message:s code?s usage*U
E/STEP_STARTED s+ stepName:s
E/STEP_FINISHED s- stepName:s
E/REASONING_START __ messageId:s
E/REASONING_MESSAGE_START r+ messageId:s
E/REASONING_MESSAGE_END r- messageId:s
E/REASONING_MESSAGE_CHUNK r~ messageId?s delta?s
E/REASONING_END __ messageId:s
E/REASONING_ENCRYPTED_VALUE __ subtype:k entityId:s encryptedValue:s
E/SUBAGENT_STARTED a+ subagentRunId:s name:s description?s parentSubagentRunId?s parentToolCallId?s \
     parentMessageId?s
E/SUBAGENT_FINISHED a- subagentRunId:s result?v outcome?v
E/SUBAGENT_ERROR a- subagentRunId:s message:s code?s
O/success pendingToolCallIds*s
O/interrupt interrupts+I
O/cancelled
I/ id:s reason:s message?s toolCallId?s responseSchema?o expiresAt?s metadata?o
U/ provider?s model?s inputTokens?n outputTokens?n totalTokens?n reasoningTokens?n \
     cachedInputTokens?n cacheWriteInputTokens?n
J/add value:w path:p
J/replace value:w path:p
J/test value:w path:p
J/move from:p path:p
J/copy from:p path:p
J/remove path:p
",
    messages!()
);

/// What clients post.
pub(super) const INPUT: &str = concat!(
    "\
A/ threadId:s runId:s protocolVersion?s parentRunId?s state?v messages=M tools*T context*X \
     forwardedProps?v resume*R
T/ name:s description:s parameters?v metadata?o
X/ description:s value:s
R/ interruptId:s status:s payload?v metadata?o
",
    messages!()
);
