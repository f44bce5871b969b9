//! The application: what all handlers share, and the server around it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::HeaderMap;
use tokio::net::TcpListener;

use crate::assets::Assets;
use crate::auth::{self, MAX_LIFETIME, Tokens};
use crate::clock;
use crate::config::{self, Config, Environment};
use crate::error::ApiResult;
use crate::knowledge::Knowledge;
use crate::limits::Limits;
use crate::model::Models;
use crate::observe::trace;
use crate::permissions::Permissions;
use crate::routes;
use crate::run::{Runs, closing};
use crate::serve::{self, Patience};
use crate::store::{OpenError, Store};
use crate::tools::Tools;
use crate::uploads::{Links, Uploads};

/// How long runs may take to end when the server goes down.
const RUNS_PATIENCE: Duration = Duration::from_secs(3);

/// How long open connections may stay after that.
const CONNECTIONS_PATIENCE: Duration = Duration::from_secs(1);

/// The running application. Clones share one.
#[derive(Debug, Clone)]
pub struct App(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Config,
    store: Store,
    tokens: Tokens,
    models: Models,
    runs: Arc<Runs>,
    permissions: Arc<Permissions>,
    uploads: Arc<Uploads>,
    limits: Limits,
    stopping: AtomicBool,
    assets: Assets,
}

impl App {
    /// Opens the store and makes ready.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub async fn start(config: Config, env: &Environment) -> Result<App, OpenError> {
        trace::start(config.telemetry.as_ref());
        let store = Store::open(&config.server.database).await?;
        let broken = |e| OpenError(format!("The database failed: {e}."));
        let secret = match &config.server.token_secret {
            Some(secret) => secret.clone(),
            None => store.token_secret().await.map_err(broken)?,
        };
        let tokens = Tokens::new(&secret, config.server.token_lifetime);
        tokens.remember(store.signed_out(clock::now().saturating_sub(MAX_LIFETIME)).await.map_err(broken)?);
        let tools = Arc::new(Tools::new(Knowledge::open(store.clone(), &config).await?, &config));
        let links = Arc::new(Links::new(&secret, config.uploads.link_lifetime));
        let uploads = Uploads::open(&config.uploads, store.clone(), Arc::clone(&links)).await;
        let uploads = Arc::new(uploads.map_err(OpenError)?);
        let permissions = Arc::new(Permissions::open(&store, &config).await.map_err(broken)?);
        let models = Models::new(&config, env);
        let runs =
            Arc::new(Runs::new(store.clone(), tools, links, Arc::clone(&permissions), (&config, &models)));
        runs.recover().await.map_err(broken)?;
        let app = App(Arc::new(Inner {
            tokens,
            models,
            runs,
            permissions,
            uploads,
            limits: Limits::new(&config.server),
            stopping: AtomicBool::new(false),
            assets: Assets::new(config.server.assets.clone()),
            store,
            config,
        }));
        // Runs are part of the application, so they do not hold it.
        let weak = Arc::downgrade(&app.0);
        app.runs().order_by(Box::new(move |user, agent, input| {
            let app = weak.upgrade().map(App);
            Box::pin(async move {
                let app = app.ok_or_else(closing)?;
                routes::runs::own_order(&app, user, agent, input).await
            })
        }));
        app.runs().wait_on().await.map_err(broken)?;
        app.runs().go_on_in_background().await.map_err(broken)?;
        Ok(app)
    }

    /// Serves until `stop` is ready, then ends every run and connection.
    ///
    /// # Errors
    /// The listener failed.
    pub async fn serve<S>(self, listener: TcpListener, stop: S) -> std::io::Result<()>
    where
        S: Future<Output = ()> + Send + 'static,
    {
        let service = routes::router(self.clone());
        let runs = Arc::clone(&self.0.runs);
        let (log_keep, run_keep) = (self.0.config.server.log_keep, self.0.config.server.run_keep);
        let sweeping = tokio::spawn(Arc::clone(&runs).sweep(log_keep, run_keep));
        let deleting = tokio::spawn(Arc::clone(&self.0.uploads).sweep());
        self.0.uploads.links().begin_with(self.public_url(&listener)?);
        let app = self.clone();
        let stopped = async move {
            stop.await;
            app.0.stopping.store(true, Ordering::Relaxed);
            runs.shutdown(RUNS_PATIENCE).await;
        };
        let patience = Patience {
            head: self.0.config.server.request_timeout,
            reader: self.0.config.server.reader_timeout,
        };
        let closing = serve::until(stopped, listener, service, patience).await;
        sweeping.abort();
        deleting.abort();
        // Whoever still reads after this is cut off with the process.
        let _ = tokio::time::timeout(CONNECTIONS_PATIENCE, closing.shutdown()).await;
        let _ = tokio::time::timeout(CONNECTIONS_PATIENCE, trace::flush()).await;
        self.0.store.close().await;
        Ok(())
    }

    /// Where links to this server begin.
    fn public_url(&self, listener: &TcpListener) -> std::io::Result<String> {
        if let Some(url) = &self.0.config.server.public_url {
            return Ok(url.clone());
        }
        let mut address = listener.local_addr()?;
        // Nobody can connect to "every address".
        if address.ip().is_unspecified() {
            let loopback =
                if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
            address.set_ip(loopback);
        }
        Ok(format!("http://{address}"))
    }

    /// The configuration.
    pub(crate) fn config(&self) -> &Config {
        &self.0.config
    }

    /// The database.
    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    /// Signs and checks tokens.
    pub(crate) fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    /// The models.
    pub(crate) fn models(&self) -> &Models {
        &self.0.models
    }

    /// The live runs.
    pub(crate) fn runs(&self) -> &Arc<Runs> {
        &self.0.runs
    }

    /// What applications may do for their users.
    pub(crate) fn permissions(&self) -> &Permissions {
        &self.0.permissions
    }

    /// The files of people.
    pub(crate) fn uploads(&self) -> &Uploads {
        &self.0.uploads
    }

    /// How often may be asked.
    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Whether the server is going down.
    pub(crate) fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Relaxed)
    }

    /// The app that the backend of a customer calls for, if it knows one of its keys.
    ///
    /// # Errors
    /// `invalid-auth`, or the app asks too often.
    pub(crate) fn backend(&self, uid: &str, headers: &HeaderMap) -> ApiResult<&config::App> {
        let app = auth::check_api_key(self.config().app(uid), headers)?;
        self.limits().app(uid)?;
        Ok(app)
    }

    pub(crate) fn assets(&self) -> &Assets {
        &self.0.assets
    }
}
