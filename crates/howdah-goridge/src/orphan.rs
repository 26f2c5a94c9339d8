//! The rest of a response whose client has disconnected.

use std::io::IoSlice;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::frame::{self, PING, PONG, Part, STOP, STREAM};
use crate::link::LinkError;
use crate::worker::Worker;

/// How long a worker may continue a response whose client has disconnected.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(60);

/// A response that is read without its client.
pub(crate) struct Orphan {
    worker: Worker,
    is_stream: bool,
    is_cancelled: bool,
    /// The current frame has only marks, so it does not end a response.
    is_mark: bool,
}

impl Orphan {
    pub(crate) fn new(worker: Worker, is_stream: bool) -> Self {
        Self {
            worker,
            is_stream,
            is_cancelled: false,
            is_mark: false,
        }
    }

    /// Reads the response to its end. `None`: it does not end in time. A response that has begun must end soon; one
    /// that has not may take until the deadline, if there is one.
    pub(crate) async fn end(
        mut self,
        mut deadline: Option<Instant>,
    ) -> Option<Result<Worker, LinkError>> {
        self.worker.link = match self.worker.link.here() {
            Ok(link) => link,
            Err(error) => return Some(Err(error.into())),
        };
        let mut has_begun = self.is_stream;
        loop {
            if has_begun {
                let latest = Instant::now() + CANCEL_TIMEOUT;
                deadline = Some(deadline.map_or(latest, |deadline| deadline.min(latest)));
            }
            let step = match deadline {
                Some(deadline) => timeout_at(deadline, self.step()).await.ok()?,
                None => self.step().await,
            };
            match step {
                Ok(true) => return Some(Ok(self.worker)),
                Ok(false) => has_begun = true,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Reads one part, and cancels a response that has parts; true: the response has ended.
    async fn step(&mut self) -> Result<bool, LinkError> {
        let link = &mut self.worker.link;
        if self.is_stream && !std::mem::replace(&mut self.is_cancelled, true) {
            link.write(&mut [IoSlice::new(&frame::mark(STOP))]).await?;
        }
        match link.next().await? {
            Part::Body(_) => Ok(false),
            part @ Part::Start { marks, .. } => {
                self.is_stream |= marks & STREAM != 0;
                self.is_mark = part.is_mark();
                Ok(false)
            }
            Part::End(marks) => {
                if marks & PING != 0 {
                    link.write(&mut [IoSlice::new(&frame::mark(PONG))]).await?;
                }
                Ok(marks & STREAM == 0 && !self.is_mark)
            }
        }
    }
}
