//! A profile of the running server: requests samples from pools, and renders the counts as one document.

use std::time::{Duration, SystemTime};

use howdah_observe::admin::{ProfileError, ProfileReply, ProfileRequest};
use howdah_pool::{ProfiledPool, RunningProfile};
use howdah_profile::{Profile, ProfileSettings, RoutePattern};
use tokio::sync::{Mutex, TryLockError};

use crate::php::trees::Trees;

/// Time after the last sample is due, for threads that did not get a processor in time.
const LAST_SAMPLES: Duration = Duration::from_millis(50);

/// Takes one profile at a time: two would compete for the workers' memory for it.
#[derive(Debug, Default)]
pub(crate) struct Profiler {
    taken: Mutex<()>,
}

impl Profiler {
    /// Returns when the profile is complete. Dropping the future ends it.
    pub(crate) async fn take(
        &self,
        trees: &Trees,
        request: ProfileRequest,
    ) -> Result<ProfileReply, ProfileError> {
        let lock = self.taken.try_lock();
        let _lock = lock.map_err(|_: TryLockError| ProfileError::UnderWay)?;
        let pools = trees.profiled_pools().await;
        let pools = select_pools(
            pools.map_err(|_| ProfileError::Stopping)?,
            request.pool.as_deref(),
        )?;
        let duration = Duration::from_secs(request.seconds.into());
        let settings = ProfileSettings {
            pools: pools.iter().map(|pool| pool.name().to_owned()).collect(),
            duration,
            hz: request.hz,
            routes: request.route.as_deref().map(RoutePattern::new),
            began: SystemTime::now(),
        };
        tracing::info!(target: "howdah", pools = settings.pools.join(", "), seconds = request.seconds, hz = request.hz, "taking a profile");
        let period = Duration::from_secs(1) / request.hz.max(1);
        let running = RunningProfile::begin(pools, period, duration);
        tokio::time::sleep(duration + LAST_SAMPLES).await;
        // Merging and rendering need a processor for a moment, which must not block the admin API.
        let rendered = tokio::task::spawn_blocking(move || render(settings, &running, &request));
        let reply = rendered.await;
        let reply = reply.map_err(|error| ProfileError::Failed(error.to_string()))??;
        tracing::info!(target: "howdah", "profile taken: {}", reply.summary);
        Ok(reply)
    }
}

fn select_pools(
    pools: Vec<ProfiledPool>,
    name: Option<&str>,
) -> Result<Vec<ProfiledPool>, ProfileError> {
    let Some(name) = name else {
        return Ok(pools);
    };
    let known: Vec<String> = pools.iter().map(|pool| pool.name().to_owned()).collect();
    let chosen: Vec<_> = pools
        .into_iter()
        .filter(|pool| pool.name() == name)
        .collect();
    if chosen.is_empty() {
        let name = name.to_owned();
        return Err(ProfileError::UnknownPool { name, known });
    }
    Ok(chosen)
}

fn render(
    settings: ProfileSettings,
    running: &RunningProfile,
    request: &ProfileRequest,
) -> Result<ProfileReply, ProfileError> {
    let mut profile = Profile::new(settings);
    for (pool, worker) in running.read() {
        profile.add(pool, &worker);
    }
    if profile.workers() == 0 {
        return Err(ProfileError::NoSamples);
    }
    let body = request.format.render(&profile, request.metric);
    Ok(ProfileReply {
        format: request.format,
        body: body.map_err(|error| ProfileError::Failed(error.to_string()))?,
        summary: profile.summary(),
    })
}
