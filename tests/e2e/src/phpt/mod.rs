//! Runs PHP's own tests (`.phpt`) through a server: each test file is a script and a request, and
//! what PHP has to answer. The rules are those of php-src's `run-tests.php`.

mod backend;
pub mod expect;
pub mod parse;
pub mod plan;
pub mod report;
mod request;
pub mod run;

/// What became of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As expected.
    Pass,
    /// Not as expected: what came, and why that is wrong.
    Fail {
        /// The reason in a line.
        reason: String,
        /// What was wanted, as the test says it.
        wanted: Vec<u8>,
        /// What came.
        got: Vec<u8>,
    },
    /// Not run, with the reason.
    Skip(String),
    /// Failed as its `--XFAIL--` announces.
    ExpectedFail(String),
    /// Passed although its `--XFAIL--` says that it fails.
    UnexpectedPass,
    /// The test file itself is wrong.
    Borked(String),
}
