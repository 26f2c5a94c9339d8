//! Passwords.

/// `basic_auth`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasicAuth {
    /// The text that browsers show; default `restricted`.
    pub realm: String,
    /// Names, each with the bcrypt hash of its password.
    pub users: Vec<(String, String)>,
}
