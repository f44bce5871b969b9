//! `/v1/conversations`: what the user has said and heard.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use mindset_core::agui::encode_interrupt;
use mindset_core::error::ErrorCode;
use mindset_core::event::{Author, ChatMessage, Feedback};
use mindset_core::json::{self, Object, Value};
use mindset_core::limits::TITLE;
use mindset_core::object;
use mindset_core::time::iso_8601;
use mindset_core::turn::{Conversation, StoredCall, StoredFile, StoredMessage, StoredRole};

use super::{Segment, asked, body, json as answer_json, models, query};
use crate::app::App;
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::permissions::Permission;
use crate::run::{ActiveRun, FollowUp, RunsOf};
use crate::store::{ConversationRow, Cursor, LastRun, NewConversation, Owner, Page, RunStatus};
use crate::{clock, ids};

/// Conversations in one answer, unless `?limit` says otherwise.
const LISTED: usize = 100;

/// The most that `?limit` can ask for, and messages in one answer.
const MOST: usize = 200;

/// The user's conversations, the latest first: `?limit=` 1 to 200, `?cursor=` the `next` of an
/// earlier answer.
pub(super) async fn list(State(app): State<App>, headers: HeaderMap, uri: Uri) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let query = query(&uri);
    let named = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let limit = match named("limit") {
        None => LISTED,
        Some(text) => text
            .parse()
            .ok()
            .filter(|limit| (1..=MOST).contains(limit))
            .ok_or_else(|| body::field(&format!("`limit` must be a whole number of 1 to {MOST}.")))?,
    };
    let after = named("cursor")
        .map(|text| {
            Cursor::parse(text).ok_or_else(|| {
                body::field("`cursor` is not one that this list has given. Leave it out to begin again.")
            })
        })
        .transpose()?;
    let owner = match named("owner") {
        None => Owner::User,
        Some(text) => {
            let owner = Owner::parse(text).filter(|owner| *owner != Owner::Child);
            owner.ok_or_else(|| body::field("`owner` must be \"user\" or \"app\"."))?
        }
    };
    if owner == Owner::Application {
        app.permissions().check_either(&user)?;
    } else if asked::by_application(&query)? {
        app.permissions().check(&user, Permission::Read)?;
    }
    let (rows, next) = app.store().conversations(&user, owner, limit, after).await?;
    let mut answer = object! { "conversations": rows.iter().map(summary).collect::<Vec<_>>() };
    answer.insert_some("next", next.map(Cursor::to_text));
    Ok(answer_json(answer.into()))
}

/// `{ agentUid, id?, title?, agentSession? }`: a conversation without messages. One that exists
/// is answered as it is.
pub(super) async fn create(State(app): State<App>, headers: HeaderMap, body: Body) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let request = body::read_object(body, &app.config().server).await?;
    let agent = body::text(&request, "agentUid", 200)?;
    asked::find(&app, &user, agent).await?;
    let id = match body::optional_text(&request, "id", 200)? {
        Some(id) if id.chars().any(char::is_control) => {
            return Err(body::field("`id` may hold printable characters only, for example a UUID."));
        }
        Some(id) => id.to_owned(),
        None => ids::uuid(),
    };
    let title = body::optional_text(&request, "title", TITLE)?;
    let agent_session = body::agent_session(request.get("agentSession"))?;
    if agent_session {
        app.permissions().check(&user, Permission::Run)?;
    }
    let owner = if agent_session { Owner::Application } else { Owner::User };
    let existing = app.store().conversation(&user, &id).await?;
    if let Some(row) =
        existing.as_ref().filter(|row| agent_session && (row.owner != owner || row.agent != agent))
    {
        let message = "There is a conversation with this id that the application did not make with this agent. Take another id.";
        return Err(ApiError::new(ErrorCode::Conflict, message).with("agentUid", row.agent.as_str()));
    }
    let existed = existing.is_some();
    if !existed && app.store().conversation_is_deleted(&user, &id).await? {
        let message = "A conversation with this id was deleted. Take another id.";
        return Err(ApiError::new(ErrorCode::Gone, message));
    }
    app.store().add_conversation(&user, NewConversation { id: &id, agent, title, owner }).await?;
    let row = app.store().conversation(&user, &id).await?.ok_or_else(unknown)?;
    let status = if existed { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, answer_json(whole(&app, &user, &row, None).await?.into())).into_response())
}

/// One conversation with what a page needs to draw it: its newest 200 messages, or with
/// `?before=` those before that message.
pub(super) async fn read(
    State(app): State<App>,
    Segment(id): Segment,
    headers: HeaderMap,
    uri: Uri,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let row = app.store().conversation(&user, &id).await?.ok_or_else(unknown)?;
    let query = query(&uri);
    if asked::by_application(&query)? {
        match row.owner {
            Owner::User => app.permissions().check(&user, Permission::Read)?,
            Owner::Application => app.permissions().check_either(&user)?,
            Owner::Child => return Err(unknown()),
        }
    }
    app.runs().hear(row.key);
    let before = query.iter().find(|(key, _)| key == "before").map(|(_, value)| value.as_str());
    Ok(answer_json(whole(&app, &user, &row, before).await?.into()))
}

/// `{ title }`: gives a conversation another name.
pub(super) async fn rename(
    State(app): State<App>,
    Segment(id): Segment,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let request = body::read_object(body, &app.config().server).await?;
    let title = body::text(&request, "title", TITLE)?;
    let mut row = app.store().conversation(&user, &id).await?.ok_or_else(unknown)?;
    app.store().rename_conversation(row.key, title).await?;
    row.title = Some(title.to_owned());
    Ok(answer_json(summary(&row).into()))
}

/// Deletes a conversation; a run of it is cancelled first.
pub(super) async fn delete(
    State(app): State<App>,
    Segment(id): Segment,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let row = app.store().conversation(&user, &id).await?.ok_or_else(unknown)?;
    app.runs().delete(user, row).await?;
    app.uploads().wake();
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// There is no such conversation, or it is another user's.
pub(super) fn unknown() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "There is no conversation with this id. Start a new one.")
}

fn summary(row: &ConversationRow) -> Object {
    object! {
        "id": &row.id, "title": row.title.as_deref().unwrap_or(""), "agentUid": &row.agent,
        "owner": row.owner.as_str(), "createdAt": iso_8601(row.created_at), "updatedAt": iso_8601(row.updated_at),
    }
}

/// A conversation as its page draws it.
///
/// # Errors
/// `before` is no message of it, or the database failed.
pub(super) async fn whole(
    app: &App,
    user: &User,
    row: &ConversationRow,
    before: Option<&str>,
) -> ApiResult<Object> {
    let (page, runs) = consistent(app, user, row, before).await?;
    let mut answer = summary(row);
    if row.owner == Owner::Child {
        answer.insert_some("parentId", app.store().parent(row.key).await?);
        answer.insert("background", app.runs().background(user, &row.id).await?.is_some());
    }
    let mut feedback = app.store().feedback(row.key).await?;
    let one = |message: &StoredMessage| shown(message, feedback.remove(&message.id));
    answer.insert("messages", page.messages.iter().filter_map(one).collect::<Vec<_>>());
    let oldest = page.messages.first().filter(|_| page.more);
    answer.insert_some("before", oldest.map(|message| message.id.as_str()));
    if before.is_none() {
        let reply = page.messages.iter().rfind(|m| m.role == StoredRole::Assistant && !m.content.is_empty());
        answer.insert_some("reply", reply.map(|message| message.content.as_str()));
    }
    // One whose agent is gone has none.
    let plain = row.agent.split_once("::").map_or(row.agent.as_str(), |(agent, _)| agent);
    if let Some(agent) = asked::config(app, user)?.agent(plain) {
        answer.insert("model", models::of(app, user, row, agent).await?);
    }
    let state = match &runs.active {
        None => "idle",
        Some(run) if run.status == RunStatus::Running => "running",
        Some(_) => "waiting",
    };
    answer.insert("state", state);
    let mut open = Open::default();
    if let Some(run) = runs.active {
        answer.insert("activeRun", active_run(&run));
        if run.status != RunStatus::Running {
            open = Open::of(app, row, &run).await?;
        }
    }
    answer.insert_some("lastRun", runs.last.as_ref().map(last_run));
    answer.insert("openCalls", open.calls);
    answer.insert("openInterrupts", open.interrupts);
    let queue = app.runs().follow_ups(user, &row.id);
    answer.insert("queue", queue.iter().map(follow_up).collect::<Vec<_>>());
    let children = children(app, user, row).await?;
    if !children.is_empty() {
        answer.insert("children", children);
    }
    Ok(answer)
}

/// How work stands that goes on in the background of a conversation.
async fn children(app: &App, user: &User, row: &ConversationRow) -> ApiResult<Vec<Object>> {
    let mut all = Vec::new();
    for child in app.store().in_background(row.key).await? {
        let RunsOf { active, last } = app.runs().of(user, child.key).await?;
        let queued = app.runs().follow_ups(user, &child.id).into_iter().next();
        let (run_id, state) = match (&active, &queued, &last) {
            (Some(run), _, _) => (run.id.as_str(), run.status.as_str()),
            (None, Some(queued), _) => (queued.run_id.as_str(), RunStatus::Queued.as_str()),
            (None, None, Some(last)) => (last.id.as_str(), last.status.as_str()),
            (None, None, None) => continue,
        };
        let mut one = object! {
            "sessionId": &child.id, "agentUid": &child.agent, "runId": run_id, "state": state,
        };
        if let Some(run) = active.as_ref().filter(|run| run.status != RunStatus::Running) {
            one.insert("openInterrupts", Open::of(app, &child, run).await?.interrupts);
        }
        all.push(one);
    }
    Ok(all)
}

/// A run that waits, as lists show it.
pub(super) fn follow_up(follow_up: &FollowUp) -> Object {
    let message = &follow_up.message;
    object! {
        "runId": &follow_up.run_id, "messageId": &message.id, "text": &message.content,
        "inputType": if message.silent { "PSEUDO_HUMAN" } else { "HUMAN" },
        "position": follow_up.position as u64, "state": follow_up.state,
    }
}

/// The queue of a conversation goes on after a stop: `{ queue }`.
pub(super) async fn resume(
    State(app): State<App>,
    Segment(id): Segment,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let row = app.store().conversation(&user, &id).await?.ok_or_else(unknown)?;
    app.runs().resume(&user, &row.id);
    let queue = app.runs().follow_ups(&user, &row.id);
    Ok(answer_json(object! { "queue": queue.iter().map(follow_up).collect::<Vec<_>>() }.into()))
}

/// The messages and the runs of one moment: nothing ended between the two looks.
async fn consistent(
    app: &App,
    user: &User,
    row: &ConversationRow,
    before: Option<&str>,
) -> ApiResult<(Page, RunsOf)> {
    let mut runs = app.runs().of(user, row.key).await?;
    loop {
        let page = app.store().shown_messages(row.key, before, MOST).await?.ok_or_else(|| {
            body::field("`before` is no message of this conversation. Leave it out to get the newest.")
        })?;
        let now = app.runs().of(user, row.key).await?;
        if now == runs {
            return Ok((page, runs));
        }
        runs = now;
    }
}

fn active_run(run: &ActiveRun) -> Object {
    let mut active = object! { "runId": &run.id, "turnId": &run.turn_id, "state": run.status.as_str() };
    active.insert_some("clientId", run.client.as_deref());
    active
}

fn last_run(run: &LastRun) -> Object {
    let mut last = object! { "runId": &run.id, "turnId": &run.turn_id, "state": run.status.as_str() };
    last.insert_some("end", run.terminal.as_deref().and_then(|text| json::parse(text).ok()));
    last
}

/// What a waiting run waits for.
#[derive(Default)]
struct Open {
    /// The calls that it has left to its page.
    calls: Vec<Object>,
    /// What it asks people.
    interrupts: Vec<Value>,
}

impl Open {
    async fn of(app: &App, row: &ConversationRow, run: &ActiveRun) -> ApiResult<Open> {
        let messages = app.store().messages(row.key).await?;
        let conversation = Conversation { id: row.id.clone(), messages, ..Conversation::default() };
        let call = |call: &StoredCall| {
            let mut open = object! {
                "toolCallId": &call.id, "toolName": &call.name, "arguments": &call.arguments, "runId": &run.id,
            };
            open.insert_some("clientId", run.client.as_deref());
            open
        };
        let calls = conversation.open_calls().into_iter().map(call).collect();
        let interrupts = conversation.open_interrupts().iter().map(encode_interrupt).collect();
        Ok(Open { calls, interrupts })
    }
}

/// A message as the transcript shows it: no tool results, nothing silent, and no
/// assistant message that only calls.
fn shown(message: &StoredMessage, feedback: Option<Feedback>) -> Option<Value> {
    let role = match message.role {
        StoredRole::User if !message.silent => Author::User,
        StoredRole::Assistant if !message.content.is_empty() || message.status.is_some() => Author::Assistant,
        _ => return None,
    };
    let shown = ChatMessage {
        id: message.id.clone(),
        role,
        content: message.content.clone(),
        created_at: Some(iso_8601(message.created_at)),
        status: message.status,
        citations: message.citations.clone(),
        widget: message.widget.clone(),
        files: StoredFile::list(&message.files),
        feedback,
    };
    let mut shown = shown.to_json();
    if let Value::Object(shown) = &mut shown {
        shown.insert("runId", &message.run_id);
    }
    Some(shown)
}
