//! One PHP process: how the root starts, what zygotes send and receive, and what workers log.

pub(crate) mod control;
pub(crate) mod encode;
pub(crate) mod log_budget;
pub(crate) mod log_pipe;
pub(crate) mod message_check;
pub(crate) mod opcache;
pub(crate) mod process_identity;
pub(crate) mod root;
pub(crate) mod root_command;
pub(crate) mod root_process;
pub(crate) mod slow_log;
pub(crate) mod tail;
pub(crate) mod worker_log;
