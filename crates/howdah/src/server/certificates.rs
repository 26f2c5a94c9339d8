//! The thread that obtains and renews certificates. It has a separate runtime: the storage may be on another machine,
//! and delays there must not affect anything else.

use std::sync::mpsc;
use std::time::Duration;

use howdah_tls::Tls;
use tokio::sync::oneshot;

/// How long a server that stops waits for the thread, which releases its locks then.
const LEAVE: Duration = Duration::from_secs(2);

/// The thread that renews certificates.
#[derive(Debug)]
pub(crate) struct CertificateThread {
    stop: oneshot::Sender<()>,
    stopped: mpsc::Receiver<()>,
}

impl CertificateThread {
    pub(crate) fn start(tls: Tls) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stop_ordered) = oneshot::channel();
        let (done, stopped) = mpsc::channel::<()>();
        std::thread::Builder::new()
            .name("certificates".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = tls.maintain() => {}
                        // The order, or its sender is dropped.
                        _ = stop_ordered => {}
                    }
                });
                runtime.shutdown_background();
                drop(done);
            })?;
        Ok(Self { stop, stopped })
    }

    pub(crate) fn stop(self) {
        drop(self.stop);
        if self.stopped.recv_timeout(LEAVE) == Err(mpsc::RecvTimeoutError::Timeout) {
            tracing::warn!(target: "howdah::tls", "the certificate storage does not respond");
        }
    }
}
