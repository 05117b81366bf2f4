//! Runs that once broke a promise, by name.
//!
//! A seed means what the faults of its day made of it: when those change, the same seed does other things. So each entry
//! names a directed test as well, which builds the one situation that went wrong and stays what it is. The seed is run all
//! the same: on the day of the fix it shows that the very run holds, later it is one more seed.

/// A run that went wrong before something was mended.
#[derive(Debug, Clone, Copy)]
pub struct Regression {
    /// What it is called.
    pub name: &'static str,
    /// Its seed.
    pub seed: u64,
    /// The steps it was shrunk to.
    pub steps: &'static [usize],
    /// The campaign's version (see [`crate::campaign::Report::fingerprint`]) in which it failed.
    pub version: &'static str,
    /// What was wrong, and why.
    pub broke: &'static str,
    /// The directed test that keeps it, below the top of the repository.
    pub kept_by: Kept,
}

/// Where a directed test is.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// Its file.
    pub file: &'static str,
    /// Its name.
    pub test: &'static str,
}

/// All that were found.
pub const REGRESSIONS: &[Regression] = &[];
