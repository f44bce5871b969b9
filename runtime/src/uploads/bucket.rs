//! Where the bytes are: a folder of this machine or an S3-compatible bucket.

use std::path::Path as FilePath;
use std::sync::Arc;

use axum::body::Bytes;
use futures_util::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Error, MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, Result};

use super::s3;
use crate::config::Place;

/// What is held in memory of a file before it is written. S3 takes no smaller parts.
const PART_OF_BUCKET: usize = 5 * 1024 * 1024;
const PART_OF_FOLDER: usize = 256 * 1024;

/// All stored files, by id.
#[derive(Debug, Clone)]
pub(super) struct Bucket {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    part: usize,
}

impl Bucket {
    /// Opens it, or makes the folder.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub(super) fn open(place: &Place) -> std::result::Result<Bucket, String> {
        match place {
            Place::Folder(folder) => {
                let store = local(folder).map_err(|why| {
                    format!(
                        "The folder {} for uploads cannot be used ({why}). Check its rights, or name another one in \
                         uploads.folder.",
                        folder.display()
                    )
                })?;
                Ok(Bucket { store: Arc::new(store), prefix: Path::default(), part: PART_OF_FOLDER })
            }
            Place::S3(config) => {
                let store = s3::open(config).map_err(|why| {
                    format!("The bucket for uploads cannot be used ({why}). Correct [uploads.s3] in the configuration.")
                })?;
                let prefix = Path::from(config.prefix.as_str());
                Ok(Bucket { store: Arc::new(store), prefix, part: PART_OF_BUCKET })
            }
        }
    }

    /// Ids are ours and hold nothing that means something in a path.
    fn path(&self, id: &str) -> Path {
        self.prefix.clone().join(id)
    }

    /// A new file. Nothing of it can be read before [`Writer::finish`].
    pub(super) fn writer(&self, id: &str) -> Writer {
        Writer {
            store: Arc::clone(&self.store),
            path: self.path(id),
            part: self.part,
            waiting: Vec::new(),
            upload: None,
        }
    }

    /// The bytes of a file; `None`: it is not there.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn read(&self, id: &str) -> Result<Option<BoxStream<'static, Result<Bytes>>>> {
        match self.store.get(&self.path(id)).await {
            Ok(found) => Ok(Some(found.into_stream())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes a file; one that is not there is deleted.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn delete(&self, id: &str) -> Result<()> {
        match self.store.delete(&self.path(id)).await {
            Err(Error::NotFound { .. }) => Ok(()),
            other => other,
        }
    }
}

/// A file that is being written, a part at a time.
pub(super) struct Writer {
    store: Arc<dyn ObjectStore>,
    path: Path,
    part: usize,
    waiting: Vec<u8>,
    upload: Option<Box<dyn MultipartUpload>>,
}

impl Writer {
    /// Adds bytes at the end.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= self.part {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<()> {
        let payload = PutPayload::from(std::mem::take(&mut self.waiting));
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => none.insert(self.store.put_multipart(&self.path).await?),
        };
        upload.put_part(payload).await
    }

    /// Makes the file whole and readable.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn finish(&mut self) -> Result<()> {
        if self.upload.is_none() {
            let payload = PutPayload::from(std::mem::take(&mut self.waiting));
            return self.store.put(&self.path, payload).await.map(drop);
        }
        if !self.waiting.is_empty() {
            self.flush().await?;
        }
        match self.upload.as_mut() {
            Some(upload) => upload.complete().await.map(drop),
            None => Ok(()),
        }
    }

    /// Throws away what was written.
    pub(super) async fn abort(mut self) {
        if let Some(mut upload) = self.upload.take()
            && let Err(error) = upload.abort().await
        {
            tracing::warn!(%error, "the parts of an upload that broke off were not deleted");
        }
    }
}

fn local(folder: &FilePath) -> std::result::Result<LocalFileSystem, String> {
    private(folder).map_err(|error| error.kind().to_string())?;
    clear(folder).map_err(|error| error.kind().to_string())?;
    let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| error.to_string())?;
    Ok(store.with_fsync(true))
}

/// Makes the folder, for its owner only.
fn private(folder: &FilePath) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Deletes what a killed server has left half written: an id, `#` and a number. Whatever else is in
/// the folder is not ours.
fn clear(folder: &FilePath) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if is_half(&entry.file_name().to_string_lossy()) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn is_half(name: &str) -> bool {
    let digit = |b: u8| b.is_ascii_digit();
    name.split_once('#').is_some_and(|(id, n)| {
        let hex = |b: u8| b.is_ascii_hexdigit() || b == b'-';
        id.len() == 36 && id.bytes().all(hex) && !n.is_empty() && n.bytes().all(digit)
    })
}
