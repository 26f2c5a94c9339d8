//! The root zygote: started anew when it dies, and asked for the pools' zygotes.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use howdah_shm::layout::{EXIT_STATUS_BOOT, WORKERS_MAX};

use super::Supervisor;
use crate::control::{ControlError, Kind, Link, Message, NO_DESCRIPTOR};
use crate::generation::Phase;
use crate::messages::Event;
use crate::root::Root;
use crate::signal;

/// Whose a zygote is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    pub(super) pool: usize,
    pub(super) generation: u32,
    /// Its end is no news.
    pub(super) dismissed: bool,
}

impl Supervisor {
    pub(super) async fn adopt_root(&mut self, root: Root) {
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

    pub(super) async fn start_root(&mut self) {
        if self.stopping || self.root.is_some() {
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
        let millis = u64::from(self.root_failures)
            .saturating_pow(2)
            .saturating_mul(100);
        self.later(Duration::from_millis(millis.min(1000)), Event::StartRoot);
    }

    /// A number that no zygote of this root has.
    pub(super) fn take_number(&mut self, pool: usize, generation: u32) -> Option<u32> {
        let number = Number {
            pool,
            generation,
            dismissed: false,
        };
        let free = self.numbers.iter().position(Option::is_none);
        if let Some(at) = free {
            self.numbers[at] = Some(number);
            return Some(at as u32);
        }
        let at = self.numbers.len() as u32;
        (at < WORKERS_MAX).then(|| {
            self.numbers.push(Some(number));
            at
        })
    }

    /// The zygote with this number will end, and nobody is to be told.
    pub(super) fn dismiss(&mut self, number: u32) {
        if let Some(Some(number)) = self.numbers.get_mut(number as usize) {
            number.dismissed = true;
        }
    }

    pub(super) fn root_message(&mut self, mut message: Message) {
        let entry = self.numbers.get(message.worker as usize).copied().flatten();
        let Some(Number {
            pool: index,
            generation,
            dismissed,
        }) = entry
        else {
            return;
        };
        let pool = &mut self.pools[index];
        let name = &*pool.name;
        match message.kind {
            Kind::PoolStarted => {
                tracing::debug!(target: "howdah::pool", pool = name, generation, pid = message.pid, "zygote started");
                let Some(own) = pool.generation_mut(generation) else {
                    return;
                };
                own.pid.send_replace(message.pid);
                own.pidfd = message.fds.pop();
                if own.pidfd.is_none() && !self.stopping {
                    // Later it could not be ended, however long its boot takes.
                    signal::kill_unwatched(message.pid);
                    let text = format!("its process cannot be watched: {NO_DESCRIPTOR}");
                    self.boot_failed(index, generation, text);
                }
            }
            Kind::PoolExited => {
                self.numbers[message.worker as usize] = None;
                let status = ExitStatus::from_raw(message.status);
                let own = pool.generation(generation);
                if let Some(own) = own {
                    own.ended.send_replace(Some(status));
                }
                // A failed boot is reported with what it wrote.
                let booting = own.is_some_and(|own| own.phase == Phase::Booting);
                let told = dismissed || booting || status.code() == Some(EXIT_STATUS_BOOT);
                if self.stopping || told {
                    tracing::debug!(target: "howdah::pool", pool = name, generation, pid = message.pid, "zygote left: {status}");
                } else {
                    tracing::error!(target: "howdah::pool", pool = name, generation, pid = message.pid, "zygote died: {status}");
                }
            }
            Kind::Failed => {
                // The root may have no process under this number; if it has one, its end is told too.
                self.numbers[message.worker as usize] = None;
                let text = String::from_utf8_lossy(&message.data).into_owned();
                self.boot_failed(index, generation, text);
            }
            _ => {}
        }
    }

    pub(super) async fn root_gone(&mut self, error: &ControlError) {
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
        self.numbers.clear();
        for index in 0..self.pools.len() {
            self.lose_generations(index);
        }
        self.restart_root();
    }
}
