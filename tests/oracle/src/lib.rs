//! Upstream's own plugins against ours, on random clusters.
