//! The documentation as its readers meet it: every command on it is run, or listed with the reason why it cannot be.

mod commands;
mod links;
mod not_run;
mod played;
mod reference;
mod releases;
mod spoken_of;
