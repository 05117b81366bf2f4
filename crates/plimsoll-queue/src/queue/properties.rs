//! What holds after any history.

mod backoffs;
mod honest_hints;
mod known;
mod places;
mod step;
mod walks;
mod world;
