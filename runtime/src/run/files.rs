//! The files that a run's new message brings.

use mindset_core::error::ErrorCode;
use mindset_core::json::Value;
use mindset_core::turn::{MAX_FILES, StoredFile};

use super::{Order, Runs};
use crate::error::{ApiError, ApiResult};
use crate::store::ConversationRow;

impl Runs {
    /// Those that `forwardedProps.mindset.uploads` names, in its order, each once.
    ///
    /// # Errors
    /// The agent takes none, they are too many, or the user has none with such an id that is free
    /// or belongs to this conversation already.
    pub(super) async fn files(
        &self,
        order: &Order,
        row: Option<&ConversationRow>,
    ) -> ApiResult<Vec<StoredFile>> {
        let ids = ids(order.input.mindset("uploads"))?;
        if !ids.is_empty() && !order.agent.uploads {
            let message = "The agent takes no files. Set `uploads = true` on it in the configuration.";
            return Err(ApiError::new(ErrorCode::Forbidden, message));
        }
        let mut files: Vec<StoredFile> = Vec::new();
        for id in ids {
            if files.iter().any(|file| file.id == id) {
                continue;
            }
            let found = self.store.own_upload(&order.user, &id, row.map(|row| row.key)).await?;
            files.push(found.ok_or_else(|| unknown(&id))?.file);
        }
        Ok(files)
    }
}

fn ids(named: Option<&Value>) -> ApiResult<Vec<String>> {
    let place = "forwardedProps.mindset.uploads";
    let items = match named {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(invalid(format!("{place} must be a list of ids, not {}.", other.kind()))),
    };
    if items.len() > MAX_FILES {
        let message =
            format!("{place}: the message has {} files, the limit is {MAX_FILES}. Send fewer.", items.len());
        return Err(ApiError::new(ErrorCode::TooLarge, message).with("limit", MAX_FILES as u64));
    }
    let id = |(i, item): (usize, &Value)| {
        let text = item.as_str().map(str::to_owned);
        text.ok_or_else(|| invalid(format!("{place}[{i}] must be a text, not {}.", item.kind())))
    };
    items.iter().enumerate().map(id).collect()
}

fn invalid(message: String) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, message)
}

fn unknown(id: &str) -> ApiError {
    let id: String = id.chars().take(100).collect();
    let message =
        "There is no file with this id for this conversation; it may have been deleted. Upload it again.";
    ApiError::new(ErrorCode::NotFound, message).with("uploadId", id)
}
