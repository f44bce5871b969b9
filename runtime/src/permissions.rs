//! What an application may do for a user: what the configuration declares, and the user has not
//! switched off.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mindset_core::error::ErrorCode;

use crate::auth::User;
use crate::config::{AgentAccess, Config};
use crate::error::{ApiError, ApiResult};
use crate::store::{Store, StoreError, Switches};

/// One of the two permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// To run turns.
    Run,
    /// To read and observe conversations.
    Read,
}

impl Permission {
    /// The word in the configuration and in errors.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Permission::Run => "session.run",
            Permission::Read => "session.read",
        }
    }
}

/// The switches of all users, as they stand now.
#[derive(Debug)]
pub(crate) struct Permissions {
    store: Store,
    apps: BTreeMap<String, AgentAccess>,
    /// Those who have switched something off.
    off: Mutex<BTreeMap<(String, String), Switches>>,
}

impl Permissions {
    /// As the configuration and the database say.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn open(store: &Store, config: &Config) -> Result<Permissions, StoreError> {
        let off = store.switches().await?.into_iter().map(|(app, user, switches)| ((app, user), switches));
        Ok(Permissions {
            store: store.clone(),
            apps: config.apps.iter().map(|app| (app.uid.clone(), app.agent_access)).collect(),
            off: Mutex::new(off.collect()),
        })
    }

    fn off(&self) -> MutexGuard<'_, BTreeMap<(String, String), Switches>> {
        self.off.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the application declares; nothing for one that is not configured.
    pub(crate) fn declared(&self, user: &User) -> Switches {
        let access = self.apps.get(&user.app);
        Switches { run: access.is_some_and(|a| a.run), read: access.is_some_and(|a| a.read) }
    }

    /// How many turns the application runs for a user at once.
    pub(crate) fn concurrency(&self, app: &str) -> usize {
        self.apps.get(app).map_or(1, |access| access.concurrency)
    }

    /// How the user's switches stand.
    pub(crate) fn switches(&self, user: &User) -> Switches {
        self.off().get(&(user.app.clone(), user.id.clone())).copied().unwrap_or_default()
    }

    /// Sets the user's switches. What they end is the caller's to end, when this is done.
    ///
    /// # Errors
    /// The database failed.
    pub(crate) async fn set(&self, user: &User, switches: Switches) -> Result<(), StoreError> {
        self.store.keep_switches(user, switches).await?;
        let key = (user.app.clone(), user.id.clone());
        if switches == Switches::default() {
            self.off().remove(&key);
        } else {
            self.off().insert(key, switches);
        }
        Ok(())
    }

    /// Whether the application may do this for the user.
    ///
    /// # Errors
    /// `forbidden`, with the permission and who withholds it.
    pub(crate) fn check(&self, user: &User, permission: Permission) -> ApiResult<()> {
        let of = |switches: Switches| match permission {
            Permission::Run => switches.run,
            Permission::Read => switches.read,
        };
        let message = if !of(self.declared(user)) {
            "The application does not declare this permission. Add it to agent_access in the configuration."
        } else if !of(self.switches(user)) {
            "The user has switched this permission of the application off. They can switch it on again in the chat's settings."
        } else {
            return Ok(());
        };
        Err(ApiError::new(ErrorCode::Forbidden, message).with("permission", permission.as_str()))
    }

    /// Whether the application may do one of both.
    ///
    /// # Errors
    /// As [`check`](Self::check) says of the first.
    pub(crate) fn check_either(&self, user: &User) -> ApiResult<()> {
        self.check(user, Permission::Run)
            .or_else(|error| self.check(user, Permission::Read).map_err(|_| error))
    }
}
