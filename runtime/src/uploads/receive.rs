//! A file on its way in: looked at, counted and written, a piece at a time.

use axum::body::Bytes;
use axum::http::StatusCode;
use futures_util::{Stream, StreamExt};
use mindset_core::error::ErrorCode;
use mindset_core::turn::StoredFile;

use super::bucket::Writer;
use super::{Kind, Uploads, broken, kind, name};
use crate::auth::User;
use crate::error::{ApiError, ApiResult};
use crate::ids;
use crate::store::Full;

/// A file as its sender describes it.
#[derive(Debug)]
pub(crate) struct Arriving {
    /// What it is called.
    pub(crate) name: String,
    /// What it is said to be, without parameters.
    pub(crate) media_type: String,
    /// How large the whole request is, if it says so.
    pub(crate) announced: Option<u64>,
}

/// What came of a file.
pub(crate) type Received = StoredFile;

/// The pieces of a file, or why they break off.
pub(crate) type Piece = Result<Bytes, ApiError>;

impl Uploads {
    /// Takes a file for the user. Whoever gives up in the middle must let this end: it deletes
    /// what has come.
    ///
    /// # Errors
    /// It is too large, of a kind that is not taken, empty, or broke off; the user has too many;
    /// or something of ours failed. Nothing is left of it then.
    pub(crate) async fn receive(
        &self,
        user: &User,
        arriving: &Arriving,
        pieces: &mut (impl Stream<Item = Piece> + Unpin + Send),
    ) -> ApiResult<Received> {
        let id = ids::uuid();
        let expected = arriving.announced.map_or(self.config.max_file, |size| size.min(self.config.max_file));
        let limits = (self.config.per_user, self.config.total);
        if let Some(full) = self.store.reserve_upload(user, &id, expected, limits).await? {
            return Err(no_room(&full));
        }
        let mut writer = self.bucket.writer(&id);
        let written =
            tokio::time::timeout(self.config.timeout, self.write(&mut writer, arriving, pieces)).await;
        let written = written.unwrap_or_else(|_| Err(too_slow()));
        let (kind, size) = match written {
            Ok(written) => written,
            Err(error) => {
                writer.abort().await;
                self.give_up(&id).await;
                return Err(error);
            }
        };
        let file = StoredFile {
            id,
            name: name::safe(&arriving.name, kind),
            media_type: kind.media_type.to_owned(),
            size,
        };
        if let Err(error) = self.store.keep_upload(&file).await {
            self.give_up(&file.id).await;
            return Err(error.into());
        }
        Ok(file)
    }

    /// The row says that nothing is there; whatever is, is deleted.
    async fn give_up(&self, id: &str) {
        match self.store.drop_upload(id).await {
            Ok(()) => self.wake(),
            // The next look at what arrives for too long finds it.
            Err(error) => tracing::error!(%error, "an upload that broke off could not be marked"),
        }
    }

    async fn write(
        &self,
        writer: &mut Writer,
        arriving: &Arriving,
        pieces: &mut (impl Stream<Item = Piece> + Unpin + Send),
    ) -> ApiResult<(Kind, u64)> {
        let (mut head, mut whole) = (Vec::new(), true);
        while let Some(piece) = pieces.next().await {
            head.extend_from_slice(&piece?);
            if head.len() >= kind::HEAD {
                whole = false;
                break;
            }
        }
        if head.is_empty() {
            let message = "The file is empty. Choose one with content.";
            return Err(ApiError::new(ErrorCode::InvalidRequest, message));
        }
        let first = head.get(..kind::HEAD).unwrap_or(&head);
        let told = Kind::told_by(first, whole, &arriving.media_type);
        let taken = |kind: &Kind| self.config.types.iter().any(|name| name == kind.media_type);
        let kind = told.filter(taken).ok_or_else(|| self.wrong_kind(told))?;
        let mut size = head.len() as u64;
        self.check_size(size)?;
        writer.write(&head).await.map_err(|error| broken(&error))?;
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            size += piece.len() as u64;
            self.check_size(size)?;
            writer.write(&piece).await.map_err(|error| broken(&error))?;
        }
        writer.finish().await.map_err(|error| broken(&error))?;
        Ok((kind, size))
    }

    fn check_size(&self, size: u64) -> ApiResult<()> {
        if size > self.config.max_file { Err(self.too_large(None)) } else { Ok(()) }
    }

    /// The file is too large; `size`, if it is known.
    pub(crate) fn too_large(&self, size: Option<u64>) -> ApiError {
        let limit = self.config.max_file;
        let found = size.map_or("more".to_owned(), |size| format!("{size} bytes"));
        let message = format!("The file has {found}, the limit is {limit} bytes. Choose a smaller one.");
        let error = ApiError::new(ErrorCode::TooLarge, message).with("limit", limit);
        match size {
            Some(size) => error.with("size", size),
            None => error,
        }
    }

    fn wrong_kind(&self, told: Option<Kind>) -> ApiError {
        let is = told.map_or("of none of the kinds that are taken".to_owned(), |k| {
            format!("of kind {}", k.media_type)
        });
        let message = format!(
            "The file is, by its content, {is}. Choose one of these: {}.",
            self.config.types.join(", ")
        );
        ApiError::new(ErrorCode::InvalidRequest, message).status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
    }
}

fn no_room(full: &Full) -> ApiError {
    match *full {
        Full::User { used, limit } => {
            let message = format!(
                "Your files take {used} bytes already, the limit is {limit} bytes. Delete a conversation with files, \
                 and try again."
            );
            ApiError::new(ErrorCode::TooLarge, message).with("used", used).with("limit", limit)
        }
        Full::Server => {
            tracing::error!("uploads.total is reached: no file is taken until some are deleted");
            let message = "The server has no room for files now. Try again later.";
            ApiError::new(ErrorCode::ServerError, message).status(StatusCode::INSUFFICIENT_STORAGE)
        }
    }
}

fn too_slow() -> ApiError {
    let message = "The file took too long to arrive. Send it again, or a smaller one.";
    ApiError::new(ErrorCode::Timeout, message).status(StatusCode::REQUEST_TIMEOUT)
}
