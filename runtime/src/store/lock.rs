//! One process has the database: a second one would take the first one's runs for lost.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::{OpenError, failed, private};

/// Locks the database for this process, by a file beside it. The system drops the lock with
/// the process, however it ends.
///
/// # Errors
/// Another process has it, or the folder cannot be written to.
pub(super) fn acquire(database: &Path) -> Result<File, OpenError> {
    let mut name = database.as_os_str().to_owned();
    name.push("-lock");
    let file = private(&PathBuf::from(name)).map_err(|kind| failed(database, &kind))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let path = std::path::absolute(database).unwrap_or_else(|_| database.to_owned());
            Err(OpenError(format!(
                "The database {} is in use by another mindset-runtime. End that one, or name another file in server.database.",
                path.display()
            )))
        }
        Err(TryLockError::Error(error)) => Err(failed(database, &error.to_string())),
    }
}
