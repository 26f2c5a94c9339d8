//! The supervisor's state of one pool.

pub(crate) mod blocked;
pub(crate) mod end_watch;
pub(crate) mod generation;
pub(crate) mod place;
pub(crate) mod recycle;
pub(crate) mod scaling;

use std::sync::Arc;
use std::time::{Duration, Instant};

use howdah_shm::{Front, Geometry, Segment, SegmentError, WorkerId};
use tokio::sync::mpsc;

use self::blocked::BlockedMeter;
use self::end_watch::EndWatch;
use self::generation::{Generation, Phase};
use self::place::{BackOff, Occupant, Place, State};
use self::recycle::Jitter;
use crate::front::FrontSeed;
use crate::leaks::LeakBook;
use crate::load::{Load, Membership};
use crate::looks::RequestLooks;
use crate::messages::{Event, FrontMessage, Reply, SupervisorMessage};
use crate::options::PoolOptions;
use crate::process::encode::{self, EncodeError};
use crate::process::log_budget::LogBudget;
use crate::process::slow_log::SlowLog;
use crate::status::{Counters, PoolStatus};

/// How long all workers may be exiting before it is logged: those with short lives are replaced within milliseconds.
const ALL_LEAVE: Duration = Duration::from_secs(1);

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each with a name"
)]
pub(crate) struct Pool {
    pub(crate) name: Arc<str>,
    pub(crate) options: Arc<PoolOptions>,
    pub(crate) segment: Arc<Segment>,
    /// Counts the pool's segments.
    pub(crate) segment_number: u32,
    /// A worker has corrupted the segment; it is replaced when all processes with it have exited.
    pub(crate) is_corrupt: bool,
    pub(crate) ends: EndWatch,
    pub(crate) load: Arc<Load>,
    /// Oldest first.
    pub(crate) generations: Vec<Generation>,
    /// The number of the last one.
    pub(crate) last_generation: u32,
    /// The script's state does not survive a fork, or the options require it: each worker runs the script itself.
    pub(crate) boot_each: bool,
    pub(crate) back_off: BackOff,
    /// The output of the last boot, if it failed and none has succeeded since.
    pub(crate) failure: Option<String>,
    /// It has served, or was allowed to start without workers.
    pub(crate) up: bool,
    /// Too many boots failed before it ever served.
    pub(crate) given_up: bool,
    /// Current target for the number of workers.
    pub(crate) desired: usize,
    /// How long its workers wait for other things than processors, while requests wait for them and
    /// processors are busy.
    pub(crate) blocked: BlockedMeter,
    pub(crate) places: Vec<Place>,
    /// Since when all places have been taken by exiting workers, and whether that was logged.
    pub(crate) all_leave: Option<(Instant, bool)>,
    pub(crate) fronts: Vec<mpsc::UnboundedSender<FrontMessage>>,
    pub(crate) reload: Reload,
    pub(crate) jitter: Jitter,
    /// The limit on the size of its processes' logs.
    pub(crate) budget: LogBudget,
    /// Set if the pool has `slow_log`.
    pub(crate) slow_log: Option<Arc<SlowLog>>,
    /// Findings of `detect_leaks` in its workers.
    pub(crate) leaks: LeakBook,
    /// Reports of what its requests do.
    pub(crate) looks: RequestLooks,
    pub(crate) counters: Counters,
}

/// Reloads of one pool.
#[derive(Debug, Default)]
pub(crate) struct Reload {
    /// The generation that is being booted for a reload, and the callers that wait for it.
    pub(crate) running: Option<(u32, Vec<Reply>)>,
    /// Callers that arrived during a reload.
    pub(crate) queued: Vec<Reply>,
    /// Another reload follows when this one has ended.
    pub(crate) again: bool,
    /// When the last one that PHP code requested began, or will begin.
    pub(crate) requested_at: Option<Instant>,
    /// Duration of the last successful boot.
    pub(crate) last_boot: Duration,
    /// Consecutive boots that were aborted for a later reload.
    pub(crate) superseded: u32,
}

/// Why a pool cannot be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PoolError {
    #[error("pool {0}: {1}")]
    Geometry(String, howdah_shm::GeometryError),
    #[error("pool {0}: {1}")]
    Segment(String, howdah_shm::SegmentError),
    #[error("pool {0}: {1}")]
    Options(String, EncodeError),
}

/// Checks the options of a new pool and creates its segment, with the parts of the front threads.
fn shared_memory(
    options: &PoolOptions,
    fronts: usize,
) -> Result<(Arc<Segment>, Vec<Front>), PoolError> {
    // Reports options that cannot be encoded now.
    encode::pool(options, 1, false, 1)
        .map_err(|error| PoolError::Options(options.name.clone(), error))?;
    let geometry = Geometry::new(
        fronts as u32,
        options.places() as u32,
        options.slots() as u32,
        options.request_size as u32,
        options.response_size as u32,
    )
    .map_err(|error| PoolError::Geometry(options.name.clone(), error))?;
    segment(options, geometry).map_err(|error| PoolError::Segment(options.name.clone(), error))
}

impl Pool {
    /// Creates the pool's shared memory and the data that each front thread needs of it.
    pub(crate) fn new(
        index: usize,
        options: PoolOptions,
        fronts: usize,
        to_supervisor: &mpsc::UnboundedSender<SupervisorMessage>,
    ) -> Result<(Self, Vec<FrontSeed>), PoolError> {
        let (segment, shm_fronts) = shared_memory(&options, fronts)?;
        let places = options.places();
        let options = Arc::new(options);
        let load = Arc::new(Load::default());
        // Until the first workers are ready, all requests wait, so a queue is no reason to add workers.
        load.publish(usize::MAX, false);
        let (senders, receivers): (Vec<_>, Vec<_>) =
            shm_fronts.iter().map(|_| mpsc::unbounded_channel()).unzip();
        let slow_log = options.limits.slow_log.map(|_| Arc::<SlowLog>::default());
        let seeds = shm_fronts
            .into_iter()
            .zip(receivers)
            .map(|(shm, receiver)| FrontSeed {
                pool: index,
                segment: 0,
                shm,
                options: options.clone(),
                joined: Membership::new(&load),
                load: load.clone(),
                to_supervisor: to_supervisor.clone(),
                fronts: senders.clone(),
                slow_log: slow_log.clone(),
                receiver,
            })
            .collect();
        let pool = Self {
            name: options.name.as_str().into(),
            boot_each: options.boot_each(),
            desired: options.serving_min(),
            blocked: BlockedMeter::default(),
            options,
            segment,
            segment_number: 0,
            is_corrupt: false,
            ends: EndWatch::default(),
            load,
            generations: Vec::new(),
            last_generation: 0,
            back_off: BackOff::default(),
            failure: None,
            up: false,
            given_up: false,
            places: std::iter::repeat_with(Place::default)
                .take(places)
                .collect(),
            all_leave: None,
            fronts: senders,
            reload: Reload::default(),
            jitter: Jitter::new(),
            budget: LogBudget::new(Instant::now()),
            slow_log,
            leaks: LeakBook::default(),
            looks: RequestLooks::default(),
            counters: Counters::default(),
        };
        Ok((pool, seeds))
    }

    /// Creates a new segment and sends each front thread its part. No process may have the old one.
    pub(crate) fn replace_segment(&mut self) -> Result<(), SegmentError> {
        let (segment, fronts) = segment(&self.options, *self.segment.geometry())?;
        self.segment = segment;
        self.segment_number = self.segment_number.wrapping_add(1);
        self.is_corrupt = false;
        for (sender, shm) in self.fronts.iter().zip(fronts) {
            // A front thread that exited has no requests.
            let _ = sender.send(FrontMessage::Segment(Box::new(shm), self.segment_number));
        }
        Ok(())
    }

    /// Starts the threads that report exits of workers early.
    pub(crate) fn watch_ends(&mut self, index: usize, sender: &mpsc::UnboundedSender<Event>) {
        // With one request per process, the successor has been forked before.
        if !self.options.one_request() {
            self.ends = EndWatch::watch(index, &self.name, &self.segment, sender);
        }
    }

    /// Requests a check of the segment from the front threads.
    pub(crate) fn check_segment(&self) {
        for front in &self.fronts {
            let _ = front.send(FrontMessage::Check);
        }
    }

    /// Continues the counters of the previous pool of this name.
    pub(crate) fn count_on(&mut self, before: &PoolStatus) {
        self.counters = before.counters;
        self.load.count_on(before);
        let generations = before.generations.iter();
        let newest = generations.map(|generation| generation.generation).max();
        self.last_generation = newest.unwrap_or(0).max(before.generation);
    }

    /// The number of workers may change with the load.
    pub(crate) fn scales(&self) -> bool {
        self.options.serving_max() > self.options.serving_min()
    }

    // --- generations ---------------------------------------------------------------------------------

    pub(crate) fn generation(&self, id: u32) -> Option<&Generation> {
        self.generations
            .iter()
            .find(|generation| generation.id == id)
    }

    pub(crate) fn generation_mut(&mut self, id: u32) -> Option<&mut Generation> {
        self.generations
            .iter_mut()
            .find(|generation| generation.id == id)
    }

    pub(crate) fn remove_generation(&mut self, id: u32) -> Option<Generation> {
        let at = self
            .generations
            .iter()
            .position(|generation| generation.id == id)?;
        Some(self.generations.remove(at))
    }

    /// Generations that fork workers, oldest first: more than one only during a reload.
    pub(crate) fn serving(&self) -> impl DoubleEndedIterator<Item = &Generation> {
        self.generations
            .iter()
            .filter(|generation| generation.phase == Phase::Serving)
    }

    /// Whether a different generation serves.
    pub(crate) fn other_generation_serves(&self, id: u32) -> bool {
        self.serving().any(|generation| generation.id != id)
    }

    /// Whether a generation boots or serves.
    pub(crate) fn is_started(&self) -> bool {
        self.generations
            .iter()
            .any(|generation| generation.phase != Phase::Draining)
    }

    // --- places --------------------------------------------------------------------------------------

    pub(crate) fn occupants(&self) -> impl Iterator<Item = (WorkerId, &Occupant)> {
        self.places
            .iter()
            .enumerate()
            .filter_map(|(index, place)| Some((WorkerId(index as u16), place.occupant()?)))
    }

    pub(crate) fn occupants_mut(&mut self) -> impl Iterator<Item = (WorkerId, &mut Occupant)> {
        self.places
            .iter_mut()
            .enumerate()
            .filter_map(|(index, place)| Some((WorkerId(index as u16), place.occupant_mut()?)))
    }

    /// The process with this serial, if it is still in this place.
    pub(crate) fn occupant(&mut self, worker: WorkerId, serial: u64) -> Option<&mut Occupant> {
        self.places
            .get_mut(worker.index())?
            .occupant_mut()
            .filter(|occupant| occupant.serial == serial)
    }

    /// The process in this place, if it was requested from this generation's zygote, which has not replied.
    pub(crate) fn pending_occupant(
        &mut self,
        worker: WorkerId,
        generation: u32,
    ) -> Option<&mut Occupant> {
        self.places
            .get_mut(worker.index())?
            .occupant_mut()
            .filter(|occupant| occupant.generation == generation && occupant.is_awaited())
    }

    /// Number of processes of a generation for which `so` is true.
    pub(crate) fn count(&self, generation: u32, so: impl Fn(&Occupant) -> bool) -> usize {
        self.occupants()
            .filter(|(_, occupant)| occupant.generation == generation && so(occupant))
            .count()
    }

    /// A place without a process: the lowest, whose memory was used before.
    pub(crate) fn free_place(&self) -> Option<WorkerId> {
        let at = self
            .places
            .iter()
            .position(|place| matches!(place.state, State::Vacant))?;
        Some(WorkerId(at as u16))
    }

    /// No place is vacant. If all are held by exiting workers, returns when to check again; warns then.
    pub(crate) fn note_no_free_place(&mut self, now: Instant) -> Option<Duration> {
        if self.occupants().any(|(_, occupant)| occupant.counts()) {
            return None;
        }
        let (since, logged) = self.all_leave.get_or_insert((now, false));
        if *logged || now.duration_since(*since) < ALL_LEAVE {
            return (*since == now).then_some(ALL_LEAVE);
        }
        *logged = true;
        tracing::warn!(
            target: "howdah::pool", pool = &*self.name,
            "all {} workers are finishing their last requests, and new ones start when one has exited: see above \
            why they exit, or lower request_timeout", self.places.len()
        );
        None
    }

    /// Workers of all generations that accept requests.
    pub(crate) fn ready(&self) -> usize {
        self.occupants()
            .filter(|(_, occupant)| occupant.serves())
            .count()
    }

    /// Publishes the state for the front threads.
    pub(crate) fn publish(&self) {
        let ready = self.ready();
        let room = ready * self.options.requests_per_worker();
        self.load
            .publish(room, ready == 0 && self.failure.is_some());
    }

    /// Orders a worker to exit once it is idle.
    pub(crate) fn stop(&mut self, worker: WorkerId) {
        if let Some(occupant) = self.places[worker.index()].occupant_mut() {
            occupant.stopping = true;
            self.segment.stop(worker);
        }
    }

    pub(crate) fn kill(&mut self, worker: WorkerId) {
        if let Some(occupant) = self.places[worker.index()].occupant_mut() {
            occupant.kill();
        }
    }

    /// Orders all workers, or those of one generation, to exit once they are idle.
    pub(crate) fn stop_workers(&mut self, generation: Option<u32>) {
        let workers: Vec<_> = self
            .occupants()
            .filter(|(_, occupant)| generation.is_none_or(|id| occupant.generation == id))
            .map(|(worker, _)| worker)
            .collect();
        for worker in workers {
            self.stop(worker);
        }
    }

    /// Kills all workers, or those of one generation. Returns how many there were.
    pub(crate) fn kill_workers(&mut self, generation: Option<u32>) -> usize {
        let mut count = 0;
        for (_, occupant) in self.occupants_mut() {
            if occupant.pidfd.is_some() && generation.is_none_or(|id| occupant.generation == id) {
                occupant.kill();
                count += 1;
            }
        }
        count
    }

    /// Keeps as many workers as there are requests: idle ones are no longer needed.
    pub(crate) fn shrink(&mut self) {
        self.desired = self.desired.min(self.load.in_flight());
        let surplus = self
            .occupants()
            .filter(|(_, occupant)| occupant.counts())
            .count()
            .saturating_sub(self.desired);
        let busy = |worker| {
            self.segment
                .worker(worker)
                .is_some_and(|words| words.is_busy())
        };
        let idle: Vec<_> = self
            .occupants()
            .filter(|(worker, occupant)| occupant.counts() && !busy(*worker))
            .map(|(worker, _)| worker)
            .take(surplus)
            .collect();
        for worker in idle {
            self.stop(worker);
        }
    }

    pub(crate) fn any_process(&self) -> bool {
        self.occupants()
            .any(|(_, occupant)| occupant.pidfd.is_some())
    }
}

fn segment(
    options: &PoolOptions,
    geometry: Geometry,
) -> Result<(Arc<Segment>, Vec<Front>), SegmentError> {
    if options.is_concurrent() {
        Segment::create_concurrent(geometry)
    } else {
        Segment::create(geometry)
    }
}
