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
pub const REGRESSIONS: &[Regression] = &[
    Regression {
        name: "a term that had run out went on",
        seed: 85,
        steps: &[29, 32, 33, 34, 35, 36, 37, 39, 57, 59, 60, 61, 65, 68, 69],
        version: "4c324ecefa266336",
        broke: "an answer about the lease that came after the renew deadline renewed it, though writers had been refused \
                meanwhile and had given up what they had",
        kept_by: Kept {
            file: "crates/plimsoll-actors/src/elector/election/tests.rs",
            test: "an_answer_after_the_deadline_renews_nothing",
        },
    },
    Regression {
        name: "a cycle got a pod before it began",
        seed: 177,
        steps: &[0, 44, 56, 57],
        version: "4c324ecefa266336",
        broke: "an audit took a cycle that had not begun for one that had forgotten to ask for a pod",
        kept_by: Kept {
            file: "tests/simulation/tests/audit.rs",
            test: "a_cycle_that_was_not_told_to_begin_yet_has_forgotten_to_ask_for_nothing",
        },
    },
    Regression {
        name: "a nomination was left over",
        seed: 132,
        steps: &[24, 29, 35, 47, 54, 64, 65, 66, 67],
        version: "b5ae0a9a1bb7029e",
        broke: "a pod that was tried again before the stream showed its nomination failed, and what was to be written was held \
                against the pod without it: the nomination stayed and kept its room from others",
        kept_by: Kept {
            file: "crates/plimsoll-actors/src/scheduling_cycle/status_writes/tests.rs",
            test: "a_pod_that_is_tried_again_before_the_stream_shows_its_last_patch_is_taken_as_that_left_it",
        },
    },
    Regression {
        name: "a pod kept the room of a node that its extender refuses",
        seed: 227,
        steps: &[38, 39, 40, 42, 43, 51, 52, 53, 54, 55],
        version: "b5ae0a9a1bb7029e",
        broke: "a pod whose extender left no candidate for its preemption stayed nominated to a node that the extender had turned \
                it away from, as kube-scheduler's does, and kept the room there from others",
        kept_by: Kept {
            file: "crates/plimsoll-engine/src/engine/tests/preempting/extenders.rs",
            test: "an_extender_that_leaves_no_candidate_leaves_no_nomination",
        },
    },
    Regression {
        name: "a claim stood in the way of a preemption and woke nobody",
        seed: 8429,
        steps: &[5, 8, 18, 25, 33, 60],
        version: "a48fc3ecfbc0ec47",
        broke: "a pod was turned away for want of room, and its preemption by the claim that it shares with another pod, whose \
                volume was being made elsewhere; the claim that had its volume woke it for nothing that it had been turned away by",
        kept_by: Kept {
            file: "tests/simulation/tests/volume_preemption.rs",
            test: "a_claim_that_gets_its_volume_wakes_a_pod_whose_preemption_it_stood_in_the_way_of",
        },
    },
    Regression {
        name: "two leaders told the end of one life",
        seed: 72,
        steps: &[4, 44],
        version: "e6cfd975f117fdf6",
        broke: "a leader that had stood still past its lease saw a pod go before it knew that it led no more, and told the end of \
                the pod's trace, as its successor had done",
        kept_by: Kept {
            file: "tests/simulation/tests/traced.rs",
            test: "the_end_of_a_life_that_two_leaders_see_is_told_by_the_one_that_leads_then",
        },
    },
    Regression {
        name: "an extender that failed in a preemption was not asked again",
        seed: 5161,
        steps: &[10, 17, 28, 41, 47, 53, 54, 57, 69],
        version: "9bf749efc2833a4c",
        broke: "a pod in whose preemption the extender had failed was turned away for want of room like any other, and waited for \
                what makes room; that the extender was well again no event told",
        kept_by: Kept {
            file: "tests/simulation/tests/extenders_in_preemption.rs",
            test: "a_pod_whose_extender_failed_in_its_preemption_has_its_room_soon_after_that_is_well_again",
        },
    },
    Regression {
        name: "the end of an adopted nomination woke nobody",
        seed: 6771,
        steps: &[0, 3, 6, 10, 14, 22, 27, 34, 38, 43, 44, 46, 48, 49, 52, 54, 58, 60],
        version: "9bf749efc2833a4c",
        broke: "a new leader nominated a pod to the node of the volume that was made over to its claim, without a word in the pod's \
                status, and turned others away for that; when it turned the pod itself away, none of them was tried again",
        kept_by: Kept {
            file: "crates/plimsoll-engine/src/engine/tests/adopting.rs",
            test: "the_end_of_a_nomination_that_the_stream_does_not_tell_of_is_told",
        },
    },
    Regression {
        name: "two reloads were told as one",
        seed: 1631,
        steps: &[11, 45, 49],
        version: "e6cfd975f117fdf6",
        broke: "a replica that took up two configurations at one moment told of both in one span",
        kept_by: Kept {
            file: "tests/simulation/tests/traced.rs",
            test: "elections_terms_hand_overs_reloads_and_relists_have_traces_of_their_own",
        },
    },
    Regression {
        name: "a leader that came back took the next one's binding for its own",
        seed: 2518,
        steps: &[6, 17, 19, 20, 21],
        version: "e6cfd975f117fdf6",
        broke: "a leader that was cut off while a volume was made for its pod, and that came back after the next one had bound the pod \
                to the same node, told of a binding that it never sent",
        kept_by: Kept {
            file: "tests/simulation/tests/volume_adoption.rs",
            test: "a_leader_that_stood_still_while_the_next_one_bound_its_pod_does_not_say_that_it_did",
        },
    },
    Regression {
        name: "a leader that slept took the next one's binding for its own",
        seed: 3183,
        steps: &[1, 2, 6, 7, 9, 24, 29, 34],
        version: "e6cfd975f117fdf6",
        broke: "the same after a pause",
        kept_by: Kept {
            file: "crates/plimsoll-engine/src/engine/tests/settling.rs",
            test: "a_pod_that_somebody_else_bound_to_the_same_node_is_not_said_to_be_bound_by_us",
        },
    },
];
