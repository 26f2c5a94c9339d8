//! The users of the server and of PHP, their rights, and the process that stays root.

pub(crate) mod monitor;
pub(crate) mod privileges;
pub(crate) mod users;
