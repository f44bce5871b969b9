//! Models behind one trait: a request in, a stream of events out. Dropping the
//! stream drops the call.

mod anthropic;
mod demo;
mod failures;
mod http;
mod openai;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use mindset_core::turn::{ModelEvent, ModelRequest};

use crate::config::{Config, Environment, ModelConfig, Provider, Secret, default_base_url};

pub use demo::DISCLOSURE;

/// The pieces of one answer. The last one is `End` or `Failed`.
pub(crate) type Answer = BoxStream<'static, ModelEvent>;

/// Something that answers.
pub(crate) trait Model: Send + Sync + Debug {
    /// Asks for one answer.
    fn call(&self, request: ModelRequest) -> Answer;

    /// The provider's name for the model, shown to readers.
    fn shown_name(&self) -> &str;

    /// Whose it is, as the conventions of OpenTelemetry write it.
    fn provider(&self) -> &'static str;

    /// Set when the answers do not come from an AI; readers show it.
    fn disclosure(&self) -> Option<&str> {
        None
    }
}

/// Every model that an agent or a run can name.
#[derive(Debug)]
pub(crate) struct Models {
    by_name: BTreeMap<String, Arc<dyn Model>>,
    titles: BTreeMap<String, String>,
}

impl Models {
    /// Those of the configuration, `demo` and `auto`.
    pub(crate) fn new(config: &Config, env: &Environment) -> Models {
        let mut by_name: BTreeMap<String, Arc<dyn Model>> = BTreeMap::new();
        let titles = config.models.iter().filter_map(|m| Some((m.name.clone(), m.title.clone()?))).collect();
        for model in config.models.iter().chain(&[auto(env), demo_config("demo")]) {
            by_name.insert(model.name.clone(), build(model));
        }
        Models { by_name, titles }
    }

    /// The model that the configuration calls `name`.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<dyn Model>> {
        self.by_name.get(name).cloned()
    }

    /// What people call it, if the configuration says so.
    pub(crate) fn title(&self, name: &str) -> Option<&str> {
        self.titles.get(name).map(String::as_str)
    }
}

fn build(config: &ModelConfig) -> Arc<dyn Model> {
    match config.provider {
        Provider::OpenAi => Arc::new(openai::OpenAi::new(config.clone())),
        Provider::Anthropic => Arc::new(anthropic::Anthropic::new(config.clone())),
        Provider::Demo => Arc::new(demo::Demo::new(config.delay)),
    }
}

fn demo_config(name: &str) -> ModelConfig {
    ModelConfig {
        name: name.into(),
        title: None,
        provider: Provider::Demo,
        model: "demo".into(),
        base_url: default_base_url(Provider::Demo).into(),
        api_key: None,
        max_tokens: None,
        idle_timeout: Duration::from_secs(90),
        delay: Duration::from_millis(15),
    }
}

/// The model whose key the environment holds, else the demo model.
fn auto(env: &Environment) -> ModelConfig {
    let get = |name: &str| env.get(name).filter(|v| !v.is_empty()).cloned();
    for (provider, prefix, model) in
        [(Provider::Anthropic, "ANTHROPIC", "claude-sonnet-4-5"), (Provider::OpenAi, "OPENAI", "gpt-4o-mini")]
    {
        let Some(key) = get(&format!("{prefix}_API_KEY")) else { continue };
        let base_url =
            get(&format!("{prefix}_BASE_URL")).unwrap_or_else(|| default_base_url(provider).into());
        return ModelConfig {
            provider,
            model: get(&format!("{prefix}_MODEL")).unwrap_or_else(|| model.into()),
            base_url: base_url.trim_end_matches('/').to_owned(),
            api_key: Some(Secret::new(key)),
            ..demo_config("auto")
        };
    }
    demo_config("auto")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_follows_the_keys() {
        let env = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        assert_eq!(auto(&env(&[])).provider, Provider::Demo);
        assert_eq!(auto(&env(&[("OPENAI_API_KEY", "")])).provider, Provider::Demo);
        let open = auto(&env(&[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://x/v1/")]));
        assert_eq!((open.provider, open.base_url.as_str()), (Provider::OpenAi, "http://x/v1"));
        let both =
            auto(&env(&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_MODEL", "m")]));
        assert_eq!((both.provider, both.model.as_str()), (Provider::Anthropic, "m"));
    }
}
