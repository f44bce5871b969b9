//! `/v1/uploads`: files that people attach. What is sent is a form with the field `file`; what is
//! read back is authorised by the signature in its address and nothing else.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use mindset_core::error::ErrorCode;
use mindset_core::object;
use mindset_core::turn::MAX_FILES;
use multer::{Field, Multipart};
use tracing::Instrument;

use super::{Segment, asked, body, json, query};
use crate::app::App;
use crate::auth::User;
use crate::clock;
use crate::error::{ApiError, ApiResult};
use crate::uploads::{self, Arriving, Received, Refused};

/// What a form has around its file, at most: boundaries and heads.
const AROUND: u64 = 64 * 1024;

/// `?agentUid=`: whether its conversations take files, and which: `{ enabled, types, maxBytes,
/// maxFiles }`.
pub(super) async fn limits(State(app): State<App>, headers: HeaderMap, uri: Uri) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    let query = query(&uri);
    let agent = query.iter().find(|(key, _)| key == "agentUid").map(|(_, value)| value.as_str());
    let agent = agent.ok_or_else(|| body::field("`agentUid` is missing. Name the agent to be asked."))?;
    let asked = asked::find(&app, &user, agent).await?;
    let config = app.uploads().config();
    let types: Vec<&str> = config.types.iter().map(String::as_str).collect();
    Ok(json(
        object! {
            "enabled": asked.agent.uploads, "types": types, "maxBytes": config.max_file,
            "maxFiles": MAX_FILES as u64,
        }
        .into(),
    ))
}

/// Takes one file. The work is a task of its own, so that a client that hangs up in the middle
/// leaves nothing half there.
pub(super) async fn create(State(app): State<App>, headers: HeaderMap, body: Body) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    if !may_send(&app, &user) {
        let message =
            "No agent of the app takes files from you. Set `uploads = true` on one in the configuration.";
        return Err(ApiError::new(ErrorCode::Forbidden, message));
    }
    let boundary = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| multer::parse_boundary(kind.to_str().ok()?).ok())
        .ok_or_else(|| {
            let message = "The body is no form. Send multipart/form-data with the file in the field `file`.";
            ApiError::new(ErrorCode::InvalidRequest, message).status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
        })?;
    let length = headers.get(header::CONTENT_LENGTH).and_then(|n| n.to_str().ok()?.parse().ok());
    let work = async move {
        let limit = app.uploads().config().max_file;
        if let Some(length) = length.filter(|length| *length > limit.saturating_add(AROUND)) {
            return Err(app.uploads().too_large(Some(length)));
        }
        receive(&app, &user, Multipart::new(body.into_data_stream(), boundary), length).await
    };
    let received = tokio::spawn(work.in_current_span()).await.map_err(|_| {
        ApiError::new(ErrorCode::Internal, "The file could not be taken. Try again in a moment.")
    })??;
    let answer = object! {
        "uploadId": &received.id, "name": &received.name, "mimeType": &received.media_type, "size": received.size,
    };
    Ok((StatusCode::CREATED, json(answer.into())).into_response())
}

/// Whether any agent that the user may talk to takes files.
fn may_send(app: &App, user: &User) -> bool {
    let agents = app.config().app(&user.app).map(|app| app.agents.as_slice()).unwrap_or_default();
    agents.iter().any(|agent| agent.uploads && (agent.anonymous || !user.anonymous))
}

async fn receive(
    app: &App,
    user: &User,
    mut form: Multipart<'static>,
    length: Option<u64>,
) -> ApiResult<Received> {
    let patience = app.config().server.request_timeout;
    let mut file = loop {
        let next = tokio::time::timeout(patience, form.next_field()).await.map_err(|_| stalled())?;
        match next.map_err(|error| broken_form(&error))? {
            Some(field) if field.name() == Some("file") => break field,
            // What is not read of it is passed over.
            Some(_) => {}
            None => return Err(body::field("The form has no field `file`. Put the file there.")),
        }
    };
    let arriving = Arriving {
        name: file_name(&file),
        media_type: file.content_type().map_or(String::new(), |kind| kind.essence_str().to_owned()),
        announced: length,
    };
    let mut pieces = Box::pin(pieces(&mut file, patience).fuse());
    app.uploads().receive(user, &arriving, &mut pieces).await
}

/// The pieces of a file as they come, or why they do not.
fn pieces(
    file: &mut Field<'static>,
    patience: Duration,
) -> impl futures_util::Stream<Item = ApiResult<Bytes>> + Send {
    stream::unfold(file, move |file| async move {
        let next = match tokio::time::timeout(patience, file.chunk()).await {
            Ok(next) => next.map_err(|error| broken_form(&error)),
            Err(_) => Err(stalled()),
        };
        next.transpose().map(|piece| (piece, file))
    })
}

/// Browsers write quotes and line ends in names so.
fn file_name(file: &Field<'_>) -> String {
    let name = file.file_name().unwrap_or("");
    name.replace("%22", "\"").replace("%0D", "").replace("%0A", " ")
}

fn stalled() -> ApiError {
    let message = "The file stopped arriving. Send it again.";
    ApiError::new(ErrorCode::Timeout, message).status(StatusCode::REQUEST_TIMEOUT)
}

fn broken_form(error: &multer::Error) -> ApiError {
    tracing::debug!(%error, "an upload broke off");
    let message = "The file did not arrive whole, or the form is not well made. Send it again.";
    ApiError::new(ErrorCode::InvalidRequest, message).status(StatusCode::BAD_REQUEST)
}

/// The file, to whoever has a signed address of it.
pub(super) async fn read(State(app): State<App>, Segment(id): Segment, uri: Uri) -> ApiResult<Response> {
    let query = query(&uri);
    let named =
        |name: &str| query.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
    match app.uploads().links().check(&id, named("expires"), named("signature"), clock::now()) {
        Ok(()) => {}
        Err(Refused::Forged) => {
            let message =
                "The address of the file is not one that this server has signed. Take it as it was given.";
            return Err(ApiError::new(ErrorCode::Forbidden, message));
        }
        Err(Refused::Expired) => {
            let message =
                "The address of the file is no longer good. Send the message again to get a new one.";
            return Err(ApiError::new(ErrorCode::Gone, message));
        }
    }
    let gone = || ApiError::new(ErrorCode::Gone, "The file was deleted. Upload it again if it is needed.");
    let row = app.store().upload(&id).await?.ok_or_else(gone)?;
    let bytes = app.uploads().read(&row).await?.ok_or_else(gone)?;
    let headers = [
        (header::CONTENT_TYPE, row.file.media_type.clone()),
        (header::CONTENT_LENGTH, row.file.size.to_string()),
        (header::CONTENT_DISPOSITION, uploads::disposition(&row)),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'".to_owned()),
        (header::REFERRER_POLICY, "no-referrer".to_owned()),
        (header::CACHE_CONTROL, "private, no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(bytes)).into_response())
}

/// Takes back a file that was not sent.
pub(super) async fn delete(
    State(app): State<App>,
    Segment(id): Segment,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let user = app.tokens().bearer(&headers, clock::now())?;
    if !app.store().take_back_upload(&user, &id).await? {
        let message =
            "There is no file with this id that was not sent. Delete the conversation to delete its files.";
        return Err(ApiError::new(ErrorCode::NotFound, message));
    }
    app.uploads().wake();
    Ok(StatusCode::NO_CONTENT.into_response())
}
