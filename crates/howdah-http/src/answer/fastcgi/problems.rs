//! The error messages that a FastCGI server sends.

use http::StatusCode;

/// Bytes of standard error that are kept for the log.
const ERRORS_MAX: usize = 16 << 10;

/// The standard error of a request, logged at its end.
pub(super) struct Problems {
    /// Id of the request; `None`: nothing is logged.
    pub(super) id: Option<u64>,
    is_captured: bool,
    /// There is a response, and it is not an error.
    is_success: bool,
    text: Vec<u8>,
}

impl Problems {
    pub(super) fn new(id: Option<u64>, is_captured: bool) -> Self {
        Self {
            id,
            is_captured,
            is_success: false,
            text: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, text: &[u8]) {
        let room = ERRORS_MAX.saturating_sub(self.text.len());
        self.text.extend_from_slice(&text[..text.len().min(room)]);
    }

    pub(super) fn note_status(&mut self, status: StatusCode) {
        self.is_success = !status.is_client_error() && !status.is_server_error();
    }
}

impl Drop for Problems {
    fn drop(&mut self) {
        let Some(id) = self.id.filter(|_| !self.is_success || self.is_captured) else {
            return;
        };
        let text = String::from_utf8_lossy(&self.text);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let request_id = format_args!("{id:016x}");
            tracing::warn!(target: "howdah::php", %request_id, "{}", line.trim_end());
        }
    }
}
