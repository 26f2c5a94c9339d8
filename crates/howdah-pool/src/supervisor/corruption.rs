//! Corruption of a pool's segment by a worker: the supervisor kills all processes of the pool, creates a new
//! segment and starts a generation with it.

use std::time::Duration;

use howdah_shm::ProtocolViolation;

use super::Supervisor;
use crate::messages::Event;
use crate::pool::place::State;

/// Delay after the system refused memory or descriptors for a segment.
const REFUSED: Duration = Duration::from_secs(1);

impl Supervisor {
    /// Kills all processes of the pool: it is unknown what else is overwritten, and by which of
    /// them.
    pub(super) fn abandon_segment(&mut self, index: usize, violation: ProtocolViolation) {
        let pool = &mut self.pools[index];
        if pool.is_corrupt || self.stopping {
            return;
        }
        pool.is_corrupt = true;
        pool.counters.segments_replaced += 1;
        let next = pool.last_generation + 1;
        if let Some((running, _)) = &mut pool.reload.running {
            *running = next;
        }
        let generations = std::mem::take(&mut pool.generations);
        for (_, occupant) in pool.occupants_mut() {
            occupant.kill();
        }
        let mut ended = 0;
        for place in &mut pool.places {
            let watched = place.occupant().is_some_and(|own| own.pidfd.is_some());
            if watched {
                ended += 1;
            } else {
                // It has exited, or will with its zygote.
                place.state = State::Vacant;
            }
        }
        pool.counters.killed += ended;
        pool.publish();
        tracing::error!(
            target: "howdah::pool", pool = &*pool.name, workers = ended,
            "a PHP process has corrupted the pool's shared memory ({violation}); all workers of the pool are killed \
             and restarted with new memory. The cause is usually an extension of PHP"
        );
        for mut generation in generations {
            generation.kill();
            self.expect_zygote_exit(generation.number);
        }
        self.replace_segment_when_gone(index);
    }

    /// Requests the new segment if the last process has exited.
    pub(super) fn replace_segment_when_gone(&self, index: usize) {
        if !self.pools[index].any_process() {
            self.schedule(Duration::ZERO, Event::ReplaceSegment(index));
        }
    }

    pub(super) async fn replace_segment(&mut self, index: usize) {
        let pool = &mut self.pools[index];
        if !pool.is_corrupt || self.stopping || pool.any_process() {
            return;
        }
        if let Err(error) = pool.replace_segment() {
            tracing::error!(target: "howdah::pool", pool = &*pool.name, "{error}; retry in 1 s");
            self.schedule(REFUSED, Event::ReplaceSegment(index));
            return;
        }
        pool.watch_ends(index, &self.sender);
        self.start_pool(index).await;
    }
}
