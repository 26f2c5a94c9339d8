//! Passwords.

/// `basic_auth`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasicAuth {
    /// The text that browsers show; default `restricted`.
    pub realm: String,
    /// Those who may log in.
    pub users: Vec<BasicAuthUser>,
}

/// A user of `basic_auth`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasicAuthUser {
    /// Without a colon.
    pub name: String,
    /// The bcrypt hash of the password.
    pub hash: String,
}
