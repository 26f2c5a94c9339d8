//! OPcache of this tree of processes, through the root.

use super::Supervisor;
use crate::messages::OpcacheReply;
use crate::process::opcache::{OpcacheError, OpcacheOrder, ask};

impl Supervisor {
    /// Sends an order of a [`crate::Handle`] to the root. The reply arrives later.
    pub(super) async fn opcache(&self, order: &OpcacheOrder, reply: OpcacheReply) {
        let Some((process, root)) = &self.root else {
            // The caller may have stopped waiting, here and below.
            let _ = reply.send(Err(OpcacheError::NoRoot));
            return;
        };
        let user = self
            .pools
            .first()
            .and_then(|pool| pool.options.user.as_ref());
        process.resume();
        match ask(&root.control, order, user).await {
            Ok(asked) => {
                tokio::spawn(async move {
                    let _ = reply.send(asked.answer().await);
                });
            }
            Err(error) => {
                let _ = reply.send(Err(error));
            }
        }
    }
}
