//! Users of the machine.

use std::fmt;

/// `user NAME[:GROUP]`: a user of the server's machine, not looked up yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Its name or number.
    pub name: String,
    /// Name or number of its group. `None`: the user's group in the system's list.
    pub group: Option<String>,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.group {
            Some(group) => write!(f, ":{group}"),
            None => Ok(()),
        }
    }
}

impl std::str::FromStr for User {
    type Err = UserError;

    /// `NAME[:GROUP]`.
    fn from_str(text: &str) -> Result<Self, UserError> {
        let (name, group) = match text.split_once(':') {
            Some((name, group)) => (name, Some(group)),
            None => (text, None),
        };
        let wrong = |name: &str| {
            name.is_empty() || name.contains([':', '/', '\0', '{', '}']) || has_space(name)
        };
        if wrong(name) || group.is_some_and(wrong) {
            return Err(UserError(text.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            group: group.map(str::to_owned),
        })
    }
}

fn has_space(name: &str) -> bool {
    name.contains(|char: char| char.is_whitespace() || char.is_control())
}

/// A text that is not a valid user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid user; write NAME, NAME:GROUP or numbers, for example `www-data` or `1000:1000`"
)]
pub struct UserError(String);
