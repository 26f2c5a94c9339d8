//! Runs PHP's tests (`.phpt`) through a server. Each test file contains a script, a request and the
//! expected response. The rules are those of php-src's `run-tests.php`.

mod backend;
pub mod expect;
pub mod parse;
pub mod plan;
pub mod report;
mod request;
pub mod run;

/// Outcome of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The output is as expected.
    Pass,
    /// The output is not as expected.
    Fail {
        /// Reason in one line.
        reason: String,
        /// Expected output, as in the test.
        wanted: Vec<u8>,
        /// Actual output.
        got: Vec<u8>,
    },
    /// The test was skipped for this reason.
    Skip(String),
    /// The test failed as its `--XFAIL--` announces.
    ExpectedFail(String),
    /// The test passed, although its `--XFAIL--` announces a failure.
    UnexpectedPass,
    /// The test file is invalid.
    Borked(String),
}
