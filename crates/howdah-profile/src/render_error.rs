//! A profile that cannot be written.

/// Bytes of a rendered profile. Only deep stacks of thousands of routes come near.
pub(crate) const SIZE_MAX: usize = 128 << 20;

/// Why a profile was not rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// It would be too large.
    #[error(
        "the profile has {0} bytes in this format, more than {SIZE_MAX}: use the format pprof, a lower rate or --route"
    )]
    TooLarge(usize),
    /// A library failed.
    #[error("the profile cannot be written: {0}")]
    Failed(String),
}
