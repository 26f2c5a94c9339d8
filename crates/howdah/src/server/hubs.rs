//! Mercure hubs: from the configuration to endpoints.

use std::any::Any;
use std::sync::Arc;

use howdah_config::model::{self, Part, Placeholder, Template};
use howdah_http::endpoint::{Endpoint, EndpointFuture, EndpointRequest};
use howdah_mercure::{Draft, Hub, Key, KeyError, Options, Origins, PATH, Request};
use howdah_pool::{Publisher, Update};

use crate::failure::Failure;
use crate::watch::Page;

/// The hubs of the configuration, in order.
pub(crate) fn hubs(config: &model::Config) -> Result<Vec<Arc<Hub>>, Failure> {
    config.hubs.iter().map(hub).collect()
}

/// One of them.
pub(crate) fn hub(hub: &model::Mercure) -> Result<Arc<Hub>, Failure> {
    let options = checked(hub)?;
    for weakness in weaknesses(&options) {
        tracing::warn!(target: "howdah::mercure", "{weakness}");
    }
    Ok(Hub::new(options))
}

/// Checks a hub before it starts.
pub(crate) fn check(hub: &model::Mercure) -> Result<Vec<String>, Failure> {
    checked(hub).map(|options| weaknesses(&options))
}

fn checked(hub: &model::Mercure) -> Result<Options, Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    options(hub, environment).map_err(|error| Failure::Setup(format!("mercure: {error}")))
}

fn weaknesses(options: &Options) -> Vec<String> {
    let keys = [
        ("publisher_jwt", &options.publisher),
        ("subscriber_jwt", &options.subscriber),
    ];
    let short = keys.into_iter().filter_map(|(name, key)| {
        let bytes = key.as_ref().and_then(Key::is_short)?;
        Some(format!(
            "{name}: a secret of {bytes} bytes can be guessed from a token: use at least 32 random bytes"
        ))
    });
    short.collect()
}

/// A key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {cause}{hint}")]
struct KeyFailure {
    name: &'static str,
    cause: KeyError,
    hint: String,
}

fn options(
    hub: &model::Mercure,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Options, KeyFailure> {
    let key = |name, own: &model::JwtKey| {
        let (secret, algorithm) = (
            text(&own.key, &environment),
            text(&own.algorithm, &environment),
        );
        Key::new(&secret, &algorithm).map_err(|cause| {
            let unset = unset(&own.key, &environment).filter(|_| cause == KeyError::Empty);
            let hint = unset.map(|name| format!(": the environment variable {name} is not set"));
            KeyFailure {
                name,
                cause,
                hint: hint.unwrap_or_default(),
            }
        })
    };
    let optional = |name, own: &Option<model::JwtKey>| {
        let own = own.as_ref().map(|own| key(name, own));
        own.transpose()
    };
    Ok(Options {
        publisher: optional("publisher_jwt", &hub.publisher)?,
        subscriber: optional("subscriber_jwt", &hub.subscriber)?,
        anonymous: hub.anonymous,
        subscriptions: hub.subscriptions,
        cors_origins: Origins(hub.cors_origins.clone()),
        publish_origins: Origins(hub.publish_origins.clone()),
        heartbeat: hub.heartbeat,
        write_timeout: hub.write_timeout,
        history: hub.history,
        cookie: hub.cookie.clone(),
        version_7: hub.version_7,
        ..Options::default()
    })
}

/// A text whose placeholders are environment variables.
fn text(template: &Template, environment: impl Fn(&str) -> Option<String>) -> String {
    let parts = template.parts.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Placeholder(Placeholder::Env(name)) => environment(name).unwrap_or_default(),
        // The configuration allows no others.
        Part::Placeholder(_) => String::new(),
    });
    parts.collect()
}

/// Name of the first missing environment variable.
fn unset(template: &Template, environment: impl Fn(&str) -> Option<String>) -> Option<&str> {
    template.parts.iter().find_map(|part| match part {
        Part::Placeholder(Placeholder::Env(name)) if environment(name).is_none() => {
            Some(name.as_str())
        }
        _ => None,
    })
}

/// `mercure` in a site.
pub(crate) struct HubEndpoint(pub(crate) Arc<Hub>);

impl Endpoint for HubEndpoint {
    fn call(self: Arc<Self>, request: EndpointRequest) -> EndpointFuture {
        Box::pin(async move {
            let path = request.parts.uri.path();
            // The route may have removed a prefix.
            let path = path.find(PATH).map_or(path, |at| &path[at..]);
            let request = Request {
                method: &request.parts.method,
                path,
                query: &request.query,
                headers: &request.parts.headers,
                body: &request.body,
            };
            self.0.answer(&request).map(|body| Box::pin(body) as _)
        })
    }
}

/// The hub to which scripts publish; `None` if the endpoint is not a hub.
pub(crate) fn publisher(endpoint: Arc<dyn Endpoint>) -> Option<Arc<dyn Publisher>> {
    let endpoint: Arc<dyn Any + Send + Sync> = endpoint;
    let hub = endpoint.downcast::<HubEndpoint>().ok()?;
    Some(hub)
}

impl Publisher for HubEndpoint {
    fn publish(&self, request: u64, update: Update) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let draft = Draft {
            topics: update.topics.iter().map(|topic| text(topic)).collect(),
            data: text(&update.data),
            private: update.private,
            id: Some(text(&update.id)),
            kind: (!update.kind.is_empty()).then(|| text(&update.kind)),
            retry: update.retry,
        };
        // PHP has already checked this: a failing update did not come from mercure_publish().
        if let Err(error) = self.0.publish(draft) {
            let request_id = format!("{request:016x}");
            tracing::warn!(target: "howdah::mercure", request_id, "an update from PHP was refused: {error}");
        }
    }
}

/// The pages that browsers reload when files change, in the order of the configuration.
pub(crate) fn pages(config: &model::Config, hubs: &[Arc<Hub>]) -> Vec<Page> {
    let page = |own: &model::HotReload| {
        let hub = Arc::clone(hubs.get(own.hub)?);
        let topic = own.topic.clone();
        Some(Page { hub, topic })
    };
    // The configuration names no unknown hubs.
    config.hot_reloads.iter().filter_map(page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hub(lines: &str) -> model::Mercure {
        let file = format!(":80 {{\nmercure {{\n{lines}\n}}\n}}");
        let none = |_: &str| None;
        let parsed = howdah_config::parse(&file, "Caddyfile", &none, &howdah_config::NoFiles);
        parsed.expect("valid").config.hubs.remove(0)
    }

    #[test]
    fn keys_come_from_the_environment() {
        let own = hub("publisher_jwt {env.KEY} {env.ALG}\nanonymous");
        let with = |name: &str| (name == "KEY").then(|| "secret".to_owned());
        assert!(options(&own, with).is_ok(), "no algorithm is HS256");
        let error = options(&own, |_| None).expect_err("no key");
        assert_eq!(
            error.to_string(),
            "publisher_jwt: the key is empty: the environment variable KEY is not set"
        );
        let wrong = |name: &str| Some(if name == "KEY" { "x" } else { "none" }.to_owned());
        let error = options(&own, wrong).expect_err("no such algorithm");
        assert!(error.to_string().contains("`none`"), "{error}");
    }

    #[test]
    fn configured_options_are_passed_on() {
        let own = hub(
            "publisher_jwt a\nsubscriber_jwt b HS512\nsubscriptions\ncors_origins *\nheartbeat 0\nwrite_timeout 1m\ntransport local\ncookie_name c",
        );
        let options = options(&own, |_| None).expect("valid");
        assert!(options.subscriber.is_some() && options.subscriptions && !options.anonymous);
        assert_eq!(options.cors_origins, Origins(vec!["*".into()]));
        assert_eq!((options.heartbeat, options.history), (None, 0));
        assert_eq!(options.cookie, "c");
    }
}
