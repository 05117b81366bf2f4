//! The chart as a user meets it: its values, what it renders and refuses, and a release on a real control plane.

mod accepted;
mod agreement;
mod comeback;
mod documented;
mod golden;
mod metrics;
mod monitored;
mod overlays;
mod permissions;
mod reference;
mod refused;
mod release;
mod replicas;
mod stage;

use std::sync::Once;

use plimsoll_chart::{Availability, Helm};
use plimsoll_cluster::suite;

/// Helm, or nothing and a banner.
fn helm() -> anyhow::Result<Option<Helm>> {
    static BANNER: Once = Once::new();
    Ok(match Availability::find()? {
        Availability::Ready(helm) => Some(helm),
        Availability::Skip(reason) => {
            let line = "*".repeat(100);
            BANNER.call_once(|| suite::say(&format!("\n{line}\n*  THE CHART IS NOT TESTED: {reason}\n{line}\n")));
            None
        }
    })
}
