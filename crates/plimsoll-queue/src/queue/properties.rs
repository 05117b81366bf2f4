//! What holds after any history.

mod backoffs;
mod honest_hints;
mod places;
mod walks;
mod world;
