//! What the supervisor keeps of one pool.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use howdah_shm::{Geometry, Segment, WorkerId};
use tokio::sync::mpsc;

use crate::control::Link;
use crate::front::FrontSeed;
use crate::messages::{ToFront, ToSupervisor};
use crate::options::PoolOptions;
use crate::place::{Place, State};

/// `HOWDAH_POOL_CLASSIC`.
const MODE_CLASSIC: u32 = 1;

#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) name: Arc<str>,
    pub(crate) options: Arc<PoolOptions>,
    pub(crate) segment: Arc<Segment>,
    /// The zygote's control socket; `None` while there is no zygote.
    pub(crate) control: Option<Link>,
    /// Counts zygotes: messages of an earlier one are told apart.
    pub(crate) generation: u32,
    /// Zygotes in a row that ended before they forked a worker.
    pub(crate) failures: u32,
    pub(crate) places: Vec<Place>,
    /// By place: how long the next process has to wait.
    pub(crate) delays: Vec<Duration>,
    pub(crate) fronts: Vec<mpsc::UnboundedSender<ToFront>>,
}

/// Why a pool cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PoolError {
    #[error("pool {0}: {1}")]
    Geometry(String, howdah_shm::GeometryError),
    #[error("pool {0}: {1}")]
    Segment(String, howdah_shm::SegmentError),
}

impl Pool {
    /// Makes the pool's shared memory and what each front thread needs of it.
    pub(crate) fn new(
        index: usize,
        options: PoolOptions,
        fronts: usize,
        to_supervisor: &mpsc::UnboundedSender<ToSupervisor>,
    ) -> Result<(Self, Vec<FrontSeed>), PoolError> {
        let geometry = Geometry::new(
            fronts as u32,
            options.workers as u32,
            options.slots() as u32,
            options.request_size as u32,
            options.response_size as u32,
        )
        .map_err(|error| PoolError::Geometry(options.name.clone(), error))?;
        let (segment, shm_fronts) = Segment::create(geometry)
            .map_err(|error| PoolError::Segment(options.name.clone(), error))?;
        let options = Arc::new(options);
        let in_flight = Arc::new(AtomicUsize::new(0));
        let mut seeds = Vec::new();
        let mut senders = Vec::new();
        for shm in shm_fronts {
            let (sender, receiver) = mpsc::unbounded_channel();
            senders.push(sender);
            seeds.push(FrontSeed {
                pool: index,
                shm,
                options: options.clone(),
                in_flight: in_flight.clone(),
                to_supervisor: to_supervisor.clone(),
                receiver,
            });
        }
        let workers = options.workers;
        let pool = Self {
            name: options.name.as_str().into(),
            options,
            segment,
            control: None,
            generation: 0,
            failures: 0,
            places: std::iter::repeat_with(Place::default)
                .take(workers)
                .collect(),
            delays: vec![Duration::ZERO; workers],
            fronts: senders,
        };
        Ok((pool, seeds))
    }

    /// The data part of a POOL message: `struct howdah_pool_options`, then the name.
    pub(crate) fn start_data(&self) -> Vec<u8> {
        let words = [
            MODE_CLASSIC,
            self.options.max_requests,
            self.name.len() as u32,
            0,
        ];
        let mut data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        data.extend_from_slice(self.name.as_bytes());
        data
    }

    fn workers(&self) -> impl Iterator<Item = (WorkerId, &Place)> {
        self.places
            .iter()
            .enumerate()
            .map(|(index, place)| (WorkerId(index as u16), place))
    }

    /// Places without a process.
    pub(crate) fn vacant(&self) -> Vec<WorkerId> {
        let vacant = self
            .workers()
            .filter(|(_, place)| matches!(place.state, State::Vacant));
        vacant.map(|(worker, _)| worker).collect()
    }

    /// Places that a zygote up to this generation was asked to fill and never announced.
    pub(crate) fn starting_before(&self, generation: u32) -> Vec<WorkerId> {
        let lost = self.workers().filter(
            |(_, place)| matches!(place.state, State::Starting(asked, _) if asked <= generation),
        );
        lost.map(|(worker, _)| worker).collect()
    }

    pub(crate) fn all_running(&self) -> bool {
        self.places
            .iter()
            .all(|place| matches!(place.state, State::Running(_)))
    }

    pub(crate) fn any_process(&self) -> bool {
        self.places
            .iter()
            .any(|place| matches!(place.state, State::Running(_)))
    }

    /// Asks all workers to leave once they are idle.
    pub(crate) fn stop_workers(&self) {
        for (worker, _) in self.workers() {
            self.segment.stop(worker);
        }
    }

    /// Ends all workers. Says how many there were.
    pub(crate) fn kill_workers(&mut self) -> usize {
        let mut count = 0;
        for place in &mut self.places {
            if let State::Running(process) = &mut place.state {
                process.kill();
                count += 1;
            }
        }
        count
    }

    /// The exit status of a process has arrived, before or after its pidfd was seen.
    pub(crate) fn log_exit(&self, worker: WorkerId, pid: i32, status: i32, stopping: bool) {
        let place = &self.places[worker.index()];
        let (request_id, killed) = match (&place.state, place.last) {
            (State::Running(process), _) if process.pid == pid => {
                let status = self.segment.worker(worker);
                (
                    status
                        .and_then(|status| status.request_id)
                        .map_or(0, u64::from),
                    process.killed,
                )
            }
            (_, Some(last)) if last.pid == pid => (last.request_id, last.killed),
            _ => (0, false),
        };
        let (pool, worker) = (&*self.name, worker.0);
        let status = ExitStatus::from_raw(status);
        if status.success() || killed || stopping {
            tracing::debug!(target: "howdah::pool", pool, worker, pid, "worker left: {status}");
            return;
        }
        let request_id = (request_id != 0).then(|| format!("{request_id:016x}"));
        let request_id = request_id.as_deref();
        let status = status.to_string();
        tracing::warn!(target: "howdah::pool", pool, worker, pid, request_id, status, "worker died");
    }
}
