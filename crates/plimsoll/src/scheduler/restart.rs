use plimsoll_config::SchedulerConfig;

/// Puts back what only a start can change, and names what a file would have changed of it.
pub(super) fn keep_what_needs_a_restart(started: &SchedulerConfig, new: &mut SchedulerConfig) -> Vec<&'static str> {
    fn keep<T: PartialEq + Clone>(name: &'static str, started: &T, new: &mut T, changed: &mut Vec<&'static str>) {
        if started != new {
            new.clone_from(started);
            changed.push(name);
        }
    }
    let mut changed = Vec::new();
    keep(
        "leaderElection",
        &started.leader_election,
        &mut new.leader_election,
        &mut changed,
    );
    keep(
        "clientConnection",
        &started.client_connection,
        &mut new.client_connection,
        &mut changed,
    );
    keep(
        "enableProfiling",
        &started.enable_profiling,
        &mut new.enable_profiling,
        &mut changed,
    );
    keep(
        "enableContentionProfiling",
        &started.enable_contention_profiling,
        &mut new.enable_contention_profiling,
        &mut changed,
    );
    keep(
        "delayCacheUntilActive",
        &started.delay_cache_until_active,
        &mut new.delay_cache_until_active,
        &mut changed,
    );
    keep("tracing", &started.tracing, &mut new.tracing, &mut changed);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_restart_is_named_and_put_back_and_the_rest_is_taken() {
        let started = SchedulerConfig::default();
        let mut new = SchedulerConfig {
            delay_cache_until_active: true,
            percentage_of_nodes_to_score: Some(50),
            ..started.clone()
        };
        new.leader_election.resource_name = "other".to_owned();
        new.client_connection.burst = 7;
        let changed = keep_what_needs_a_restart(&started, &mut new);
        assert_eq!(changed, ["leaderElection", "clientConnection", "delayCacheUntilActive"]);
        let expected = SchedulerConfig {
            percentage_of_nodes_to_score: Some(50),
            ..started.clone()
        };
        assert_eq!(new, expected);
        assert!(keep_what_needs_a_restart(&started, &mut started.clone()).is_empty());
    }
}
