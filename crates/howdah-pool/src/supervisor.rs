//! Keeps the PHP processes alive: the root zygote, one zygote for each pool, and the workers. Runs on the
//! main thread; front threads only hear from it when a worker is gone.
//!
//! One loop takes one event at a time, so that every change of state is in one place. Tasks of their own
//! wait for sockets, pidfds and delays, and do nothing but report.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use howdah_shm::WorkerId;
use tokio::io::Interest;
use tokio::process::Child;
use tokio::sync::mpsc;

use crate::control::{Control, ControlError, Kind, Link, Message};
use crate::front::FrontSeed;
use crate::messages::{KillReason, ToFront, ToSupervisor};
use crate::options::{PoolOptions, RootOptions};
use crate::place::{LastProcess, Process, State};
use crate::pool::Pool;
use crate::readiness::register;
use crate::root::{PhpInfo, Root, StartError};
use crate::worker_log;

/// Something happened.
#[derive(Debug)]
enum Event {
    Front(ToSupervisor),
    /// A message of the root, or its end. The number is the generation of the root it came from.
    Root(u32, Result<Message, ControlError>),
    /// The same of a pool's zygote.
    Pool {
        pool: usize,
        generation: u32,
        message: Result<Message, ControlError>,
    },
    /// A pidfd is readable.
    Gone {
        pool: usize,
        worker: WorkerId,
        pid: i32,
    },
    /// A delay is over.
    Spawn {
        pool: usize,
        worker: WorkerId,
    },
    /// Places whose process nobody has ever seen, after a zygote died.
    Forget {
        pool: usize,
        generation: u32,
    },
    StartRoot,
    StartPool(usize),
}

/// A zygote that dies is started anew after this; longer if it happens again and again.
const RESTART_DELAY: Duration = Duration::from_millis(100);
/// How long a worker may outlive its zygote (its parent-death signal ends it at once).
const ORPHAN_TIME: Duration = Duration::from_secs(1);

/// The PHP side of a server.
#[derive(Debug)]
pub struct Supervisor {
    options: RootOptions,
    spool: OwnedFd,
    root: Option<(Child, Link)>,
    root_generation: u32,
    root_failures: u32,
    pools: Vec<Pool>,
    events: mpsc::UnboundedReceiver<Event>,
    sender: mpsc::UnboundedSender<Event>,
    from_fronts: mpsc::UnboundedReceiver<ToSupervisor>,
    info: PhpInfo,
    stopping: bool,
}

/// What one front thread needs of all pools, in the order of the options.
pub type FrontSeeds = Vec<FrontSeed>;

impl Supervisor {
    /// Starts PHP, its pools and their workers; returns when each worker of each pool runs.
    /// `spool` is the directory of spooled request bodies.
    pub async fn start(
        options: RootOptions,
        pools: Vec<PoolOptions>,
        spool: OwnedFd,
    ) -> Result<(Self, Vec<FrontSeeds>), StartError> {
        let (sender, events) = mpsc::unbounded_channel();
        let (to_supervisor, from_fronts) = mpsc::unbounded_channel();
        let root = Root::start(&options).await?;
        let info = root.info.clone();
        let mut seeds: Vec<FrontSeeds> = (0..options.fronts).map(|_| Vec::new()).collect();
        let mut states = Vec::new();
        for (index, pool_options) in pools.into_iter().enumerate() {
            let (pool, fronts) = Pool::new(index, pool_options, options.fronts, &to_supervisor)
                .map_err(|error| StartError::Refused(error.to_string()))?;
            states.push(pool);
            for (seed, front) in seeds.iter_mut().zip(fronts) {
                seed.push(front);
            }
        }
        let mut supervisor = Self {
            options,
            spool,
            root: None,
            root_generation: 0,
            root_failures: 0,
            pools: states,
            events,
            sender,
            from_fronts,
            info,
            stopping: false,
        };
        supervisor.adopt_root(root).await;
        while !supervisor.all_running() {
            if supervisor.root.is_none() {
                return Err(StartError::Refused(
                    "a PHP zygote ended while workers were started".into(),
                ));
            }
            supervisor.step().await;
        }
        Ok((supervisor, seeds))
    }

    /// What PHP said of itself.
    pub fn php(&self) -> &PhpInfo {
        &self.info
    }

    /// Looks after the processes until the future is dropped. Cancel-safe.
    pub async fn run(&mut self) {
        loop {
            self.step().await;
        }
    }

    /// Asks all workers to leave when they are idle and waits for them until `deadline`; what is left
    /// then is ended. Returns when no process is left.
    pub async fn stop(&mut self, deadline: Instant) {
        self.stopping = true;
        for pool in &self.pools {
            pool.stop_workers();
        }
        let drained = tokio::time::timeout_at(deadline.into(), async {
            while self.any_process() {
                self.step().await;
            }
        });
        if drained.await.is_err() {
            let count: usize = self.pools.iter_mut().map(Pool::kill_workers).sum();
            tracing::warn!(target: "howdah::pool", count, "PHP processes ended after the grace period");
        }
        self.end_root().await;
    }

    /// Ends all processes now.
    pub async fn kill(&mut self) {
        self.stopping = true;
        for pool in &mut self.pools {
            pool.kill_workers();
        }
        self.end_root().await;
    }

    /// The zygotes leave when their control sockets are closed.
    async fn end_root(&mut self) {
        for pool in &mut self.pools {
            pool.control = None;
        }
        let Some((mut child, link)) = self.root.take() else {
            return;
        };
        drop(link);
        if tokio::time::timeout(Duration::from_secs(5), child.wait())
            .await
            .is_err()
        {
            tracing::warn!(target: "howdah::pool", "the PHP root process did not leave and was killed");
            let _ = child.kill().await;
        }
        // Workers are gone when their pidfds say so; nothing of them may outlive the server.
        let all_gone = async {
            while self.any_process() {
                self.step().await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(5), all_gone).await;
    }

    fn all_running(&self) -> bool {
        self.pools.iter().all(Pool::all_running)
    }

    fn any_process(&self) -> bool {
        self.pools.iter().any(Pool::any_process)
    }

    async fn step(&mut self) {
        let event = tokio::select! {
            Some(event) = self.events.recv() => event,
            Some(message) = self.from_fronts.recv() => Event::Front(message),
            else => std::future::pending().await,
        };
        match event {
            Event::Front(ToSupervisor::Recovered { pool, worker }) => self.recovered(pool, worker),
            Event::Front(ToSupervisor::Kill {
                pool,
                worker,
                request_id,
                reason,
            }) => {
                self.kill_worker(pool, worker, request_id, reason);
            }
            Event::Root(generation, message) if generation == self.root_generation => match message
            {
                Ok(message) => self.root_message(&message),
                Err(error) => self.root_gone(&error).await,
            },
            Event::Pool {
                pool,
                generation,
                message,
            } if generation == self.pools[pool].generation => match message {
                Ok(message) => self.pool_message(pool, message),
                Err(_) => self.pool_gone(pool),
            },
            // Of a zygote that has been replaced.
            Event::Root(..) | Event::Pool { .. } => {}
            Event::Gone { pool, worker, pid } => self.worker_gone(pool, worker, pid),
            Event::Spawn { pool, worker } => self.spawn(pool, worker).await,
            Event::Forget { pool, generation } => self.forget(pool, generation),
            Event::StartRoot => self.start_root().await,
            Event::StartPool(pool) => self.start_pool(pool).await,
        }
    }

    fn later(&self, delay: Duration, event: Event) {
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

    // --- the root ------------------------------------------------------------------------------------

    async fn adopt_root(&mut self, root: Root) {
        self.root_generation += 1;
        let generation = self.root_generation;
        let sender = self.sender.clone();
        let link = Link::listen(root.control, move |message| {
            sender.send(Event::Root(generation, message)).is_ok()
        });
        self.root = Some((root.child, link));
        for pool in 0..self.pools.len() {
            self.start_pool(pool).await;
        }
    }

    async fn start_root(&mut self) {
        if self.stopping {
            return;
        }
        match Root::start(&self.options).await {
            Ok(root) => {
                tracing::info!(target: "howdah::pool", "PHP was started anew");
                self.adopt_root(root).await;
            }
            Err(error) => {
                tracing::error!(target: "howdah::pool", "{error}");
                self.restart_root();
            }
        }
    }

    fn restart_root(&mut self) {
        self.root_failures = self.root_failures.saturating_add(1);
        self.later(back_off(self.root_failures), Event::StartRoot);
    }

    fn root_message(&mut self, message: &Message) {
        let Some(pool) = self.pools.get(message.worker as usize) else {
            return;
        };
        match message.kind {
            Kind::PoolStarted => {
                tracing::debug!(target: "howdah::pool", pool = &*pool.name, pid = message.pid, "pool started");
            }
            Kind::PoolExited if !self.stopping => {
                let status = ExitStatus::from_raw(message.status);
                let (name, pid) = (&*pool.name, message.pid);
                tracing::error!(target: "howdah::pool", pool = name, pid, "zygote died: {status}");
            }
            Kind::Failed => {
                let text = String::from_utf8_lossy(&message.data);
                tracing::error!(target: "howdah::pool", pool = &*pool.name, "pool not started: {text}");
                self.later(RESTART_DELAY, Event::StartPool(message.worker as usize));
            }
            _ => {}
        }
    }

    async fn root_gone(&mut self, error: &ControlError) {
        if self.stopping {
            return;
        }
        let Some((mut child, _)) = self.root.take() else {
            return;
        };
        // It may only have closed its socket; without one it is of no use.
        let _ = child.kill().await;
        let status = child
            .wait()
            .await
            .map(|status| status.to_string())
            .unwrap_or_default();
        tracing::error!(target: "howdah::pool", status, "the PHP root process is gone: {error}; starting it anew");
        for pool in 0..self.pools.len() {
            self.pool_gone(pool);
        }
        self.restart_root();
    }

    // --- pools ---------------------------------------------------------------------------------------

    async fn start_pool(&mut self, index: usize) {
        let Some((_, root)) = self.root.as_ref().filter(|_| !self.stopping) else {
            return;
        };
        let pool = &mut self.pools[index];
        let (control, theirs) = match Control::pair() {
            Ok(pair) => pair,
            Err(error) => {
                tracing::error!(target: "howdah::pool", pool = &*pool.name, "pool not started: {error}");
                self.later(RESTART_DELAY, Event::StartPool(index));
                return;
            }
        };
        let mut fds: Vec<BorrowedFd<'_>> =
            vec![theirs.as_fd(), pool.segment.fd(), self.spool.as_fd()];
        fds.extend(pool.segment.eventfds());
        let data = pool.start_data();
        // An error means that the root is gone, which its own event tells.
        let _ = root
            .control
            .send(Kind::Pool, index as u32, &data, &fds)
            .await;
        pool.generation += 1;
        let generation = pool.generation;
        let sender = self.sender.clone();
        pool.control = Some(Link::listen(control, move |message| {
            sender
                .send(Event::Pool {
                    pool: index,
                    generation,
                    message,
                })
                .is_ok()
        }));
        for worker in pool.vacant() {
            let _ = self.sender.send(Event::Spawn {
                pool: index,
                worker,
            });
        }
    }

    fn pool_gone(&mut self, index: usize) {
        let pool = &mut self.pools[index];
        if pool.control.take().is_none() || self.stopping {
            return;
        }
        pool.failures = pool.failures.saturating_add(1);
        let (delay, generation) = (back_off(pool.failures), pool.generation);
        self.later(
            ORPHAN_TIME,
            Event::Forget {
                pool: index,
                generation,
            },
        );
        if self.root.is_some() {
            self.later(delay, Event::StartPool(index));
        }
    }

    /// Places that were being filled when the zygote died: no process there will ever be announced.
    fn forget(&mut self, index: usize, generation: u32) {
        for worker in self.pools[index].starting_before(generation) {
            self.begin_recovery(index, worker);
        }
    }

    fn pool_message(&mut self, index: usize, mut message: Message) {
        let worker = WorkerId(message.worker as u16);
        let pool = &mut self.pools[index];
        let Some(place) = pool.places.get_mut(worker.index()) else {
            return;
        };
        match message.kind {
            Kind::Spawned => {
                let Some(pidfd) = message
                    .fds
                    .pop()
                    .and_then(|fd| register(fd, Interest::READABLE).ok())
                else {
                    tracing::error!(target: "howdah::pool", "a worker came without its pidfd");
                    return;
                };
                let pidfd = Arc::new(pidfd);
                let pid = message.pid;
                let (sender, waiting) = (self.sender.clone(), pidfd.clone());
                tokio::spawn(async move {
                    // An error would mean that the reactor is shutting down.
                    let _ = waiting.readable().await;
                    let _ = sender.send(Event::Gone {
                        pool: index,
                        worker,
                        pid,
                    });
                });
                if let State::Starting(_, log) = &place.state {
                    log.store(pid, Ordering::Relaxed);
                }
                let (since, killed) = (Instant::now(), false);
                place.state = State::Running(Process {
                    pid,
                    pidfd,
                    since,
                    killed,
                });
                pool.failures = 0;
                self.root_failures = 0;
                tracing::debug!(target: "howdah::pool", pool = &*pool.name, worker = worker.0, pid, "worker started");
                if self.stopping {
                    pool.segment.stop(worker);
                }
            }
            Kind::Exited => pool.log_exit(worker, message.pid, message.status, self.stopping),
            Kind::Failed => {
                let text = String::from_utf8_lossy(&message.data);
                tracing::error!(target: "howdah::pool", pool = &*pool.name, worker = worker.0, "worker not started: {text}");
                if matches!(place.state, State::Starting(..)) {
                    self.begin_recovery(index, worker);
                }
            }
            _ => {}
        }
    }

    // --- workers -------------------------------------------------------------------------------------

    async fn spawn(&mut self, index: usize, worker: WorkerId) {
        let pool = &mut self.pools[index];
        let place = &mut pool.places[worker.index()];
        let (State::Vacant, Some(link), false) = (&place.state, &pool.control, self.stopping)
        else {
            return;
        };
        let started = pool
            .segment
            .enlist(worker)
            .map_err(|error| error.to_string())
            .and_then(|indices| {
                std::io::pipe()
                    .map(|pipe| (indices, pipe))
                    .map_err(|error| error.to_string())
            });
        let (indices, (reader, writer)) = match started {
            Ok(started) => started,
            Err(error) => {
                tracing::error!(target: "howdah::pool", pool = &*pool.name, worker = worker.0, "worker not started: {error}");
                self.later(
                    Duration::from_secs(1),
                    Event::Spawn {
                        pool: index,
                        worker,
                    },
                );
                return;
            }
        };
        let data: Vec<u8> = indices
            .as_slice()
            .iter()
            .flat_map(|index| index.to_le_bytes())
            .collect();
        // An error means that the zygote is gone, which its own event tells.
        let _ = link
            .control
            .send(Kind::Spawn, u32::from(worker.0), &data, &[writer.as_fd()])
            .await;
        let pid = Arc::new(AtomicI32::new(0));
        place.state = State::Starting(pool.generation, pid.clone());
        let source = worker_log::Source {
            pool: pool.name.clone(),
            worker,
            segment: pool.segment.clone(),
            pid,
        };
        tokio::spawn(worker_log::forward(reader.into(), source));
    }

    fn worker_gone(&mut self, index: usize, worker: WorkerId, pid: i32) {
        let pool = &mut self.pools[index];
        let place = &mut pool.places[worker.index()];
        let State::Running(process) = &place.state else {
            return;
        };
        if process.pid != pid {
            return;
        }
        let status = pool.segment.worker(worker);
        let request_id = status
            .and_then(|status| status.request_id)
            .map_or(0, u64::from);
        let served = status.map_or(0, |status| status.requests);
        place.last = Some(LastProcess {
            pid,
            request_id,
            killed: process.killed,
        });
        let lived = process.since.elapsed();
        pool.delays[worker.index()] = place.ended(served, lived);
        self.begin_recovery(index, worker);
    }

    fn begin_recovery(&mut self, index: usize, worker: WorkerId) {
        let pool = &mut self.pools[index];
        pool.places[worker.index()].state = State::Recovering;
        for front in &pool.fronts {
            // A front thread that is gone has nothing left to recover.
            let _ = front.send(ToFront::WorkerGone(worker));
        }
    }

    fn recovered(&mut self, index: usize, worker: WorkerId) {
        let pool = &mut self.pools[index];
        pool.places[worker.index()].state = State::Vacant;
        let delay = std::mem::take(&mut pool.delays[worker.index()]);
        if !self.stopping {
            self.later(
                delay,
                Event::Spawn {
                    pool: index,
                    worker,
                },
            );
        }
    }

    fn kill_worker(
        &mut self,
        index: usize,
        worker: WorkerId,
        request_id: Option<u64>,
        reason: KillReason,
    ) {
        let pool = &mut self.pools[index];
        let now = pool
            .segment
            .worker(worker)
            .and_then(|status| status.request_id)
            .map(u64::from);
        let State::Running(process) = &mut pool.places[worker.index()].state else {
            return;
        };
        if request_id.is_some() && request_id != now {
            return;
        }
        process.kill();
        let request_id = format!("{:016x}", request_id.or(now).unwrap_or(0));
        let (pool, worker, pid) = (&*pool.name, worker.0, process.pid);
        match reason {
            KillReason::RequestTimeout => {
                tracing::warn!(target: "howdah::pool", pool, worker, pid, request_id, "worker killed: request timed out");
            }
            KillReason::Fault(fault) => {
                tracing::error!(target: "howdah::pool", pool, worker, pid, request_id, "worker killed: {fault}");
            }
        }
    }
}

fn back_off(failures: u32) -> Duration {
    (RESTART_DELAY * failures.saturating_pow(2).max(1)).min(Duration::from_secs(1))
}
