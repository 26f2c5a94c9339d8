//! Keeps the PHP processes alive: the root zygote, the zygotes of the pools' generations, and the workers.
//! Runs on the main thread; it only notifies front threads of the exit of a worker.
//!
//! One loop handles one event at a time, so that all changes of state are in one place. Separate tasks wait for
//! sockets, pidfds, pipes and delays, and only report events.

mod boot;
mod corruption;
mod crash;
mod limits;
mod opcache;
mod recycling;
mod reload;
mod report;
mod retire;
mod root_zygote;
mod workers;

#[cfg(test)]
pub(crate) mod fake_concurrent;
#[cfg(test)]
mod fake_root;
#[cfg(test)]
mod tests;

pub use reload::start_time;
pub use retire::WORKER_EXIT_TIME;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};

use crate::front::FrontSeed;
use crate::handle::Handle;
use crate::messages::{Event, FrontMessage, SupervisorMessage};
use crate::options::{PoolOptions, RootOptions};
use crate::pool::Pool;
use crate::pool::scaling::CpuMeter;
use crate::preload::PreloadResult;
use crate::process::control::Link;
use crate::process::process_identity::{IdentityCheck, ProcessIdentity};
use crate::process::root::{PhpInfo, Root, StartError};
use crate::process::root_process::RootProcess;
use crate::status::Status;
use root_zygote::Number;

/// A worker may outlive its zygote for this long (its parent-death signal ends it immediately).
const ORPHAN_TIME: Duration = Duration::from_secs(1);
/// The output of a process before it exited is in its pipe; if a child holds the pipe open, reading stops after this
/// time.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// A boot that takes longer is logged while it continues.
const SLOW_BOOT: Duration = Duration::from_secs(5);
/// How often ages, memory and idle times are checked, in pools that need it.
const TICK: Duration = Duration::from_secs(1);

/// The PHP side of a server.
#[derive(Debug)]
pub struct Supervisor {
    options: RootOptions,
    spool: OwnedFd,
    root: Option<(RootProcess, Link)>,
    /// Counts roots, to recognise messages of an earlier one.
    root_generation: u32,
    root_failures: u32,
    /// The zygotes that the root has, or will have, by number.
    numbers: Vec<Option<Number>>,
    pools: Vec<Pool>,
    /// Counts workers.
    serial: u64,
    cpu: CpuMeter,
    events: mpsc::UnboundedReceiver<Event>,
    sender: mpsc::UnboundedSender<Event>,
    from_fronts: mpsc::UnboundedReceiver<SupervisorMessage>,
    info: PhpInfo,
    preloaded: Option<Arc<PreloadResult>>,
    /// Another supervisor serves meanwhile: the first failed boot ends the start.
    overlapping: bool,
    stopping: bool,
    /// Minimum time of a generation for its last requests.
    drain_least: Duration,
    /// Minimum time for which a boot may delay another reload.
    boot_least: Duration,
    /// Since when another supervisor serves in its place.
    retiring_since: Option<Instant>,
    /// PHP code has called `opcache_reset()`.
    resets: Arc<Notify>,
    /// Checks that a zygote can have forked a process.
    check_identity: IdentityCheck,
}

/// The data that one front thread needs of all pools, in the order of the options.
pub type FrontSeeds = Vec<FrontSeed>;

impl Supervisor {
    /// Starts PHP, its pools and their workers; returns when every worker accepts requests, or a pool's boot has failed
    /// too often. `spool` is the directory of spooled request bodies.
    pub async fn start(
        options: RootOptions,
        pools: Vec<PoolOptions>,
        spool: OwnedFd,
    ) -> Result<(Self, Vec<FrontSeeds>), StartError> {
        let root = Root::start(&options).await?;
        let (mut supervisor, mut seeds) = Self::prepare(root.info.clone(), options, pools, spool)?;
        supervisor.launch(root, &mut seeds).await?;
        Ok((supervisor, seeds))
    }

    /// Like [`start`](Self::start), but another supervisor serves meanwhile, which this one will replace: pools of the
    /// same name continue the counts of `before`, and the first failed boot ends the start, whatever the options
    /// tolerate. So does the end of `overtaken`.
    pub async fn start_overlapping(
        options: RootOptions,
        pools: Vec<PoolOptions>,
        spool: OwnedFd,
        before: &Status,
        overtaken: impl Future<Output = ()>,
    ) -> Result<(Self, Vec<FrontSeeds>), StartError> {
        let root = Root::start(&options).await?;
        let (mut supervisor, mut seeds) = Self::prepare(root.info.clone(), options, pools, spool)?;
        supervisor.root_generation = u32::try_from(before.root_restarts).unwrap_or(u32::MAX);
        for pool in &mut supervisor.pools {
            if let Some(before) = before.pools.iter().find(|own| *own.name == *pool.name) {
                pool.count_on(before);
            }
        }
        supervisor.overlapping = true;
        let launch = supervisor.launch_until(root, &mut seeds, overtaken);
        launch.await?;
        supervisor.overlapping = false;
        Ok((supervisor, seeds))
    }

    /// A supervisor with its pools' memory, and nothing started.
    fn prepare(
        info: PhpInfo,
        options: RootOptions,
        pools: Vec<PoolOptions>,
        spool: OwnedFd,
    ) -> Result<(Self, Vec<FrontSeeds>), StartError> {
        let (sender, events) = mpsc::unbounded_channel();
        let (to_supervisor, from_fronts) = mpsc::unbounded_channel();
        let mut seeds: Vec<FrontSeeds> = (0..options.fronts).map(|_| Vec::new()).collect();
        let mut states = Vec::new();
        for (index, pool_options) in pools.into_iter().enumerate() {
            let (mut pool, fronts) = Pool::new(index, pool_options, options.fronts, &to_supervisor)
                .map_err(|error| StartError::Refused(error.to_string()))?;
            pool.watch_ends(index, &sender);
            states.push(pool);
            for (seed, front) in seeds.iter_mut().zip(fronts) {
                seed.push(front);
            }
        }
        let supervisor = Self {
            options,
            spool,
            root: None,
            root_generation: 0,
            root_failures: 0,
            numbers: Vec::new(),
            pools: states,
            serial: 0,
            cpu: CpuMeter::default(),
            events,
            sender,
            from_fronts,
            info,
            preloaded: None,
            overlapping: false,
            stopping: false,
            drain_least: reload::DRAIN_TIME,
            boot_least: reload::BOOT_TIME,
            retiring_since: None,
            resets: Arc::default(),
            check_identity: ProcessIdentity::identify,
        };
        Ok((supervisor, seeds))
    }

    /// Starts the pools and waits until they serve. `seeds` belong to front threads that have not joined: the places of
    /// workers that exit meanwhile are recovered here for them.
    async fn launch(&mut self, root: Root, seeds: &mut [FrontSeeds]) -> Result<(), StartError> {
        let never = std::future::pending();
        self.launch_until(root, seeds, never).await
    }

    /// Like [`launch`](Self::launch), but aborted at the end of `overtaken`.
    async fn launch_until(
        &mut self,
        root: Root,
        seeds: &mut [FrontSeeds],
        overtaken: impl Future<Output = ()>,
    ) -> Result<(), StartError> {
        let mut overtaken = std::pin::pin!(overtaken);
        self.adopt_root(root).await;
        while !self.pools.iter().all(|pool| pool.up) {
            if self.root.is_none() {
                self.kill().await;
                return Err(StartError::Refused(
                    "a PHP zygote exited while it started workers".into(),
                ));
            }
            if let Some(pool) = self.pools.iter().find(|pool| pool.given_up) {
                let error = StartError::Boot {
                    pool: pool.name.to_string(),
                    failures: pool.back_off.failures(),
                    text: pool.failure.clone().unwrap_or_default(),
                };
                self.kill().await;
                return Err(error);
            }
            let event = tokio::select! {
                biased;
                () = &mut overtaken => None,
                event = self.event() => Some(event),
            };
            let Some(event) = event else {
                self.kill().await;
                return Err(StartError::Overtaken);
            };
            self.handle_event(event).await;
            self.recover_for(seeds);
        }
        if self.pools.iter().any(Pool::is_sampled) {
            self.schedule(TICK, Event::Tick);
        }
        Ok(())
    }

    /// Recovers the places of exited workers for front threads that do not run yet: otherwise no place would be filled
    /// again, and a boot that fails in each worker would soon have used them all.
    fn recover_for(&mut self, seeds: &mut [FrontSeeds]) {
        for seed in seeds.iter_mut().flatten() {
            while let Ok(message) = seed.receiver.try_recv() {
                let worker = match message {
                    FrontMessage::WorkerGone(worker)
                    | FrontMessage::WorkerCrashed(worker, _)
                    | FrontMessage::WorkerOverdue(worker) => worker,
                    FrontMessage::Segment(shm, number) => {
                        (seed.shm, seed.segment) = (*shm, number);
                        continue;
                    }
                    // No request has been dispatched yet.
                    FrontMessage::Check | FrontMessage::Room | FrontMessage::Ended => continue,
                };
                match seed.shm.recover(worker) {
                    Ok(recovery) if recovery.vacant => self.on_recovery(seed.pool, worker),
                    Ok(_) => {} // another front thread's seed follows
                    Err(error) => {
                        tracing::error!(target: "howdah::pool", pool = seed.options.name, "{error}");
                    }
                }
            }
        }
    }

    /// What PHP reported at its start.
    pub fn php(&self) -> &PhpInfo {
        &self.info
    }

    /// The result of preloading; `None`: no files were configured.
    pub fn preloaded(&self) -> Option<Arc<PreloadResult>> {
        self.preloaded.clone()
    }

    /// A remote control of this supervisor.
    pub fn handle(&self) -> Handle {
        Handle {
            events: self.sender.clone(),
            resets: Arc::clone(&self.resets),
        }
    }

    /// Supervises the processes until `end`; handling of an event is always completed.
    pub async fn run_until<T>(&mut self, end: impl Future<Output = T>) -> T {
        let mut end = std::pin::pin!(end);
        loop {
            let event = tokio::select! {
                ended = &mut end => return ended,
                event = self.event() => event,
            };
            self.handle_event(event).await;
        }
    }

    /// Orders all workers to exit when they are idle and waits for them until `deadline`; the rest is killed. Returns
    /// when no process is left.
    pub async fn stop(&mut self, deadline: Instant) {
        self.start_stop();
        for pool in &mut self.pools {
            pool.stop_workers(None);
        }
        let drained = tokio::time::timeout_at(deadline.into(), async {
            while self.any_process() {
                self.step().await;
            }
        });
        if drained.await.is_err() {
            let count: usize = self
                .pools
                .iter_mut()
                .map(|pool| pool.kill_workers(None))
                .sum();
            tracing::warn!(target: "howdah::pool", count, "PHP processes killed after the grace period");
        }
        self.end_root().await;
        self.notify_fronts();
    }

    /// Kills all processes.
    pub async fn kill(&mut self) {
        self.start_stop();
        for pool in &mut self.pools {
            pool.kill_workers(None);
        }
        self.end_root().await;
        self.notify_fronts();
    }

    fn start_stop(&mut self) {
        self.stopping = true;
        for index in 0..self.pools.len() {
            self.abandon_reloads(index);
            // A zygote that runs a worker script does not read its socket: waiting for it would
            // take long.
            self.kill_booting(index);
        }
    }

    /// Ends the root. The zygotes exit when their control sockets are closed.
    async fn end_root(&mut self) {
        for pool in &mut self.pools {
            pool.generations.clear();
        }
        let Some((mut process, link)) = self.root.take() else {
            return;
        };
        drop(link);
        if tokio::time::timeout(Duration::from_secs(5), process.wait())
            .await
            .is_err()
        {
            tracing::warn!(target: "howdah::pool", "the PHP root process did not exit and was killed");
            let _ = process.kill().await;
        }
        // The pidfds report the exit of workers, which must not outlive the server.
        let all_gone = async {
            while self.any_process() {
                self.step().await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(5), all_gone).await;
    }

    /// Notifies front threads that no worker will serve any more.
    fn notify_fronts(&self) {
        for front in self.pools.iter().flat_map(|pool| &pool.fronts) {
            // A front thread that exited has nothing left to end.
            let _ = front.send(FrontMessage::Ended);
        }
    }

    fn any_process(&self) -> bool {
        self.pools.iter().any(Pool::any_process)
    }

    async fn step(&mut self) {
        let event = self.event().await;
        self.handle_event(event).await;
    }

    /// The next event. Cancel-safe.
    async fn event(&mut self) -> Event {
        tokio::select! {
            Some(event) = self.events.recv() => event,
            Some(message) = self.from_fronts.recv() => Event::Front(message),
            else => std::future::pending().await,
        }
    }

    async fn handle_event(&mut self, event: Event) {
        match event {
            Event::Front(message) => self.front_message(message),
            Event::Root(generation, message) if generation == self.root_generation => match message
            {
                Ok(message) => self.root_message(message).await,
                Err(error) => self.root_disconnected(&error).await,
            },
            // A message of a replaced root.
            Event::Root(..) => {}
            Event::Zygote {
                pool,
                generation,
                message,
            } => match message {
                Ok(message) => self.zygote_message(pool, generation, message).await,
                Err(error) => self.zygote_disconnected(pool, generation, &error),
            },
            Event::BootFailed {
                pool,
                generation,
                text,
            } => self.boot_failed(pool, generation, text),
            Event::OrderDue { pool, generation } => self.order_due(pool, generation),
            Event::BootSlow { pool, generation } => self.boot_slow(pool, generation),
            Event::BootTimeout { pool, generation } => self.boot_timeout(pool, generation),
            Event::State {
                pool,
                worker,
                serial,
                state,
            } => self.state_record(pool, worker, serial, state).await,
            Event::Ending { pool, worker } => self.worker_ending(pool, worker),
            Event::Gone {
                pool,
                worker,
                serial,
            } => self.worker_exited_unseen(pool, worker, serial),
            Event::WorkerFailed {
                pool,
                generation,
                text,
            } => self.worker_failed(pool, generation, text),
            Event::Kill {
                pool,
                worker,
                serial,
            } => self.kill_traced(pool, worker, serial),
            Event::Fill(pool) => self.fill(pool),
            Event::Forget { pool, generation } => self.forget(pool, generation),
            Event::DrainOver { pool, generation } => self.drain_over(pool, generation),
            Event::LetGo { pool, generation } => self.release_generation(pool, generation),
            Event::StartRoot => self.start_root().await,
            Event::StartPool(pool) => self.start_pool(pool).await,
            Event::ReplaceSegment(pool) => self.replace_segment(pool).await,
            Event::Scale(pool) => self.scale(pool),
            Event::Tick => self.tick(),
            Event::ReloadRequested(pool) => self.reload_requested(pool, true).await,
            Event::ReloadLong(pool) => self.reload_long(pool).await,
            Event::ReloadNext(pool) => self.reload_next(pool).await,
            Event::Reload(name, reply) => self.reload(name.as_deref(), &reply).await,
            Event::Opcache(order, reply) => self.opcache(&order, reply).await,
            Event::Look(reply) => {
                let _ = reply.send(self.request_looks());
            }
            Event::Status(reply) => {
                // The caller may have stopped waiting.
                let _ = reply.send(self.status());
            }
            Event::ProfiledPools(reply) => {
                let _ = reply.send(self.profiled_pools());
            }
        }
    }

    fn front_message(&mut self, message: SupervisorMessage) {
        match message {
            SupervisorMessage::Recovered {
                pool,
                segment,
                worker,
            } => {
                if self.pools[pool].segment_number == segment {
                    self.on_recovery(pool, worker);
                }
            }
            SupervisorMessage::Kill {
                pool,
                segment,
                worker,
                request,
                reason,
            } => {
                if self.pools[pool].segment_number == segment {
                    self.kill_worker(pool, worker, request, reason);
                }
            }
            SupervisorMessage::Corrupt {
                pool,
                segment,
                violation,
            } => {
                if self.pools[pool].segment_number == segment {
                    self.abandon_segment(pool, violation);
                }
            }
            SupervisorMessage::Pressure { pool } => self.scale_up(pool),
        }
    }

    fn schedule(&self, delay: Duration, event: Event) {
        let sender = self.sender.clone();
        if delay.is_zero() {
            let _ = sender.send(event);
            return;
        }
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            let _ = sender.send(event);
        });
    }
}
