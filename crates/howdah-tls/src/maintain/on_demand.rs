//! On-demand names: after permission by the `ask` endpoint, each certificate is obtained and renewed like those of
//! configured names, as long as clients request it and it is permitted.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use howdah_config::model::{Source, on_demand_source};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::{Job, LOOK, Renewer};
use crate::ask::Permission;
use crate::on_demand::{CertifiedName, OnDemandNames, PendingName};
use crate::storage::jitter;
use crate::tls::{InheritedName, Kind, ManagedCertificate, OnDemandIssuer};

/// Names that are checked by the `ask` endpoint and in the storage at the same time.
const AT_A_TIME: usize = 64;
/// How long a name may be without clients before it is dropped.
const UNUSED: Duration = Duration::from_secs(86_400);
/// Maximum time between checks whether a name is still permitted.
const ASK_AGAIN: Duration = Duration::from_secs(6 * 3600);

/// What the tasks of all names share.
struct OnDemandTasks {
    renewer: Arc<Renewer>,
    on_demand: OnDemandIssuer,
    places: Semaphore,
}

impl Renewer {
    /// A task for each name; never ends.
    pub(super) async fn serve(
        self: Arc<Self>,
        mut on_demand: OnDemandIssuer,
        mut pending: mpsc::UnboundedReceiver<PendingName>,
    ) {
        let taken = std::mem::take(&mut on_demand.taken);
        let handler = Arc::new(OnDemandTasks {
            renewer: self,
            on_demand,
            places: Semaphore::new(AT_A_TIME),
        });
        let mut tasks = JoinSet::new();
        for taken in taken {
            let handler = Arc::clone(&handler);
            tasks.spawn(async move { handler.take_over(taken).await });
        }
        loop {
            tokio::select! {
                Some(pending) = pending.recv() => {
                    let handler = Arc::clone(&handler);
                    tasks.spawn(async move { handler.serve(pending).await });
                }
                Some(_) = tasks.join_next() => {}
                else => std::future::pending().await,
            }
        }
    }
}

impl OnDemandTasks {
    async fn serve(&self, pending: PendingName) {
        let (demand, name) = (Arc::clone(&pending.demand), pending.name.clone());
        if let Some((job, certified)) = self.begin(pending).await {
            self.keep(job, &demand, &name, &certified, ASK_AGAIN).await;
        }
    }

    /// Continues with a name that was served before this configuration.
    async fn take_over(&self, taken: InheritedName) {
        let InheritedName {
            demand,
            name,
            managed,
            certified,
        } = taken;
        // Not all at the same time; and soon, if the `ask` endpoint has changed.
        let within = if self.on_demand.same_endpoint {
            ASK_AGAIN
        } else {
            LOOK
        };
        let ask_in = within.mul_f64(jitter());
        let job = Job::new(managed);
        self.keep(job, &demand, &name, &certified, ask_in).await;
    }

    /// `None`: it has no certificate for now.
    async fn begin(&self, pending: PendingName) -> Option<(Job, Arc<CertifiedName>)> {
        let place = self.places.acquire().await;
        if self.permission(&pending.name).await != Permission::Given {
            return None;
        }
        let mut job = Job::new(self.managed_certificate(&pending)?);
        // An order takes seconds, in which others can use the storage.
        drop(place);
        if job.next <= SystemTime::now() {
            self.renewer.turn(&mut job).await;
        }
        job.managed.current.as_ref()?;
        let slot = Arc::clone(&job.managed.slot);
        Some((job, pending.complete(slot)))
    }

    async fn keep(
        &self,
        mut job: Job,
        demand: &OnDemandNames,
        name: &str,
        certified: &Arc<CertifiedName>,
        ask_in: Duration,
    ) {
        let mut ask_at = SystemTime::now() + ask_in;
        loop {
            let now = SystemTime::now();
            let left = job.next.min(ask_at).duration_since(now);
            tokio::time::sleep(left.unwrap_or_default().min(LOOK)).await;
            let now = SystemTime::now();
            job.apply_clock_change(now);
            ask_at = ask_at.min(now + ASK_AGAIN);
            if !demand.is_current(name, certified) {
                return;
            }
            if job.next.min(ask_at) > now {
                continue;
            }
            if !certified.is_used_within(UNUSED, now) {
                demand.forget(name);
                return;
            }
            match self.permission(name).await {
                Permission::Given => {
                    ask_at = SystemTime::now() + ASK_AGAIN;
                    if job.next <= now {
                        self.renewer.turn(&mut job).await;
                    }
                }
                Permission::Refused => {
                    tracing::info!(target: "howdah::tls", host = name, "this name is no longer allowed to have a certificate");
                    demand.forget(name);
                    return;
                }
                // An existing certificate stays.
                Permission::Unknown => {
                    ask_at = now + LOOK;
                    job.next = job.next.max(ask_at);
                }
            }
        }
    }

    async fn permission(&self, name: &str) -> Permission {
        match &self.on_demand.endpoint {
            Some(endpoint) => endpoint.ask(name).await,
            None => Permission::Given,
        }
    }

    /// The name with its stored certificate; `None`: no authority issues a certificate for it.
    fn managed_certificate(&self, pending: &PendingName) -> Option<ManagedCertificate> {
        let name = &pending.name;
        let (kind, current) =
            match on_demand_source(name, &pending.demand.tls, &self.on_demand.https) {
                Ok(Source::Internal(lifetime)) => (
                    Kind::Internal {
                        host: name.clone(),
                        lifetime,
                    },
                    None,
                ),
                Ok(Source::Acme(acme)) => {
                    let subject = self.on_demand.means.subject(name, acme);
                    let stored = subject.stored();
                    (Kind::Acme(Box::new(subject)), stored)
                }
                Ok(Source::Files(_) | Source::OnDemand) | Err(_) => return None,
            };
        Some(ManagedCertificate::new(kind, current))
    }
}

#[cfg(test)]
mod tests {
    use howdah_config::model::{Address, Config, Issuer, Site};
    use tempfile::TempDir;
    use tokio::net::TcpListener;

    use super::*;
    use crate::Tls;
    use crate::ask::tests::answer;

    struct Setup {
        _storage: TempDir,
        /// Listener of the `ask` endpoint.
        listener: TcpListener,
        handler: OnDemandTasks,
        demand: Arc<OnDemandNames>,
        pending: mpsc::UnboundedReceiver<PendingName>,
    }

    impl Setup {
        /// A site for all names, with certificates of the internal authority.
        async fn new() -> Self {
            let storage = tempfile::tempdir().expect("a directory");
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let mut site = Site::default();
            site.addresses.push(Address {
                host: None,
                port: 0,
                tls: true,
            });
            site.tls.issuer = Some(Issuer::internal());
            site.tls.on_demand = true;
            let mut config = Config::default();
            let https = &mut config.global.https;
            https.storage = Some(storage.path().to_owned());
            https.ask = Some(format!("http://{}/", listener.local_addr().expect("bound")));
            let tls = site.tls.clone();
            config.sites.push(site);
            let whole = Tls::new(&config).expect("valid").expect("it has HTTPS");
            let on_demand = whole.on_demand.lock().expect("not poisoned").take();
            let (on_demand, _) = on_demand.expect("a site has `on_demand`");
            let (queue, pending) = mpsc::unbounded_channel();
            let handler = OnDemandTasks {
                renewer: Arc::new(Renewer::new(&whole, &[], Some(&on_demand))),
                on_demand,
                places: Semaphore::new(1),
            };
            Self {
                _storage: storage,
                listener,
                handler,
                demand: Arc::new(OnDemandNames::new(tls, queue)),
                pending,
            }
        }

        /// A client requests the name, and the endpoint responds with this status.
        async fn begin(&mut self, name: &str, status: &str) -> Option<(Job, Arc<CertifiedName>)> {
            let demand = Arc::clone(&self.demand);
            let (pending, listener, handler) = (&mut self.pending, &self.listener, &self.handler);
            let queue = async {
                let pending = pending.recv().await.expect("it is pending");
                tokio::join!(handler.begin(pending), answer(listener, status)).0
            };
            tokio::join!(queue, demand.obtain(name)).0
        }

        /// `a.test` has a certificate, and its next check is due.
        async fn due(&mut self) -> (Job, Arc<CertifiedName>) {
            let begun = self.begin("a.test", "200 OK").await;
            let (mut job, certified) = begun.expect("it may have one");
            job.next = SystemTime::UNIX_EPOCH;
            (job, certified)
        }
    }

    #[tokio::test]
    async fn a_name_has_a_certificate_as_long_as_it_may() {
        let mut setup = Setup::new().await;
        assert!(setup.begin("no.test", "403 Forbidden").await.is_none());
        assert!(!setup.demand.has("no.test"));
        // Due for renewal, which is denied, while it is in use.
        let (job, certified) = setup.due().await;
        let first = job.managed.slot.get().expect("a certificate");
        assert!(setup.demand.has("a.test"));
        let slot = Arc::clone(&job.managed.slot);
        let (demand, handler) = (&setup.demand, &setup.handler);
        tokio::join!(
            handler.keep(job, demand, "a.test", &certified, ASK_AGAIN),
            answer(&setup.listener, "404 Not Found"),
        );
        assert!(!demand.has("a.test"));
        let last = slot.get().expect("handshakes may still be at it");
        assert!(Arc::ptr_eq(&first, &last), "not renewed");
    }

    #[tokio::test]
    async fn a_name_that_is_allowed_again_is_renewed() {
        let mut setup = Setup::new().await;
        let (job, certified) = setup.due().await;
        let slot = Arc::clone(&job.managed.slot);
        let first = slot.get().expect("a certificate");
        let (demand, handler) = (&setup.demand, &setup.handler);
        let renewed = async {
            answer(&setup.listener, "200 OK").await;
            slot.changed().await;
            while Arc::ptr_eq(&first, &slot.get().expect("always one")) {
                slot.changed().await;
            }
        };
        tokio::select! {
            () = handler.keep(job, demand, "a.test", &certified, ASK_AGAIN) => panic!("it is given up"),
            () = renewed => {}
        }
        assert!(demand.is_current("a.test", &certified));
    }

    #[tokio::test]
    async fn a_name_without_clients_is_forgotten_unasked() {
        let mut setup = Setup::new().await;
        let (job, certified) = setup.due().await;
        certified.set_used(SystemTime::UNIX_EPOCH);
        setup
            .handler
            .keep(job, &setup.demand, "a.test", &certified, ASK_AGAIN)
            .await;
        assert!(!setup.demand.has("a.test"));
    }
}
