//! Files that people upload: taken in, kept, handed to tools by signed addresses, and deleted.
//!
//! A file's row comes first and its bytes are whole before the row says so; what broke off leaves
//! neither. Deleting goes the other way: the row says at once that the file is gone, and the bytes
//! follow.

mod bucket;
mod kind;
mod links;
mod name;
mod receive;
mod s3;

pub(crate) use kind::Kind;
pub(crate) use links::{Links, Refused};
pub(crate) use receive::{Arriving, Received};

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::stream::BoxStream;
use tokio::sync::Notify;

use crate::clock;
use crate::config;
use crate::error::{ApiError, ApiResult};
use crate::store::{Store, StoreError, UploadRow};
use bucket::Bucket;
use mindset_core::error::ErrorCode;

/// The longest pause between two looks for what is old.
const PAUSE: Duration = Duration::from_secs(60);
const LEAST: Duration = Duration::from_millis(20);

/// Files deleted in one go.
const BATCH: u64 = 100;

/// All uploaded files.
#[derive(Debug)]
pub(crate) struct Uploads {
    config: config::Uploads,
    store: Store,
    bucket: Bucket,
    links: Arc<Links>,
    /// There is something to delete now.
    gone: Notify,
}

impl Uploads {
    /// Opens the place where they are. What was half there when the server was killed is deleted.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub(crate) async fn open(
        config: &config::Uploads,
        store: Store,
        links: Arc<Links>,
    ) -> Result<Uploads, String> {
        store.end_arrivals(clock::now()).await.map_err(|e| format!("The database failed: {e}."))?;
        let bucket = Bucket::open(&config.place)?;
        Ok(Uploads { config: config.clone(), store, bucket, links, gone: Notify::new() })
    }

    /// What is taken.
    pub(crate) fn config(&self) -> &config::Uploads {
        &self.config
    }

    /// Signs and checks addresses.
    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// A file's bytes; `None`: it is gone.
    ///
    /// # Errors
    /// The place where it is failed.
    pub(crate) async fn read(
        &self,
        row: &UploadRow,
    ) -> ApiResult<Option<BoxStream<'static, object_store::Result<Bytes>>>> {
        self.bucket.read(&row.file.id).await.map_err(|error| broken(&error))
    }

    /// Something was marked as gone: it is deleted soon.
    pub(crate) fn wake(&self) {
        self.gone.notify_one();
    }

    /// Deletes what was never sent, what is too old and what is gone. Never ends.
    pub(crate) async fn sweep(self: Arc<Uploads>) {
        let shortest = self.config.keep.map_or(self.config.unused_keep, |k| k.min(self.config.unused_keep));
        let pause = PAUSE.min(shortest / 2).max(LEAST);
        loop {
            if let Err(error) = self.sweep_once().await {
                tracing::error!(%error, "uploads that are old could not be deleted");
            }
            // Whichever comes first.
            let _ = tokio::time::timeout(pause, self.gone.notified()).await;
        }
    }

    async fn sweep_once(&self) -> Result<(), StoreError> {
        let ago = |time: Duration| clock::now().saturating_sub(millis(time));
        let arriving = ago(self.config.timeout * 2);
        self.store.end_arrivals(arriving).await?;
        self.store.end_uploads(ago(self.config.unused_keep), self.config.keep.map(ago)).await?;
        loop {
            let ids = self.store.gone_uploads(BATCH).await?;
            let mut deleted = Vec::new();
            for id in &ids {
                match self.bucket.delete(id).await {
                    Ok(()) => deleted.push(id.clone()),
                    Err(error) => {
                        tracing::warn!(%error, "an uploaded file was not deleted; it is tried again")
                    }
                }
            }
            self.store.forget_uploads(&deleted).await?;
            if deleted.len() < ids.len() || ids.is_empty() {
                return Ok(());
            }
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// `Content-Disposition` of a file.
pub(crate) fn disposition(row: &UploadRow) -> String {
    name::disposition(&row.file.name)
}

/// The folder or the bucket failed; which one and why is for the log.
fn broken(error: &object_store::Error) -> ApiError {
    tracing::error!(%error, "the store of uploads failed");
    ApiError::new(
        ErrorCode::ServerError,
        "The server could not reach its store of files. Try again in a moment.",
    )
}
