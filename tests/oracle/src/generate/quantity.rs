//! Amounts as people write them, with the odd ones that the API server takes.

use crate::dice::Dice;

const CPU: [&str; 8] = ["50m", "100m", "200m", "250m", "500m", "1", "1500m", "2"];
const ODD_CPU: [&str; 10] = [
    "0",
    "1n",
    "1m",
    "0.0001",
    "0.5",
    "1e3",
    "1k",
    "100",
    "333m",
    "9223372036854775",
];
const MEMORY: [&str; 8] = ["64Mi", "100Mi", "128Mi", "200Mi", "256Mi", "512Mi", "1Gi", "2Gi"];
const ODD_MEMORY: [&str; 12] = [
    "0",
    "1",
    "100m",
    "0.5",
    "1e9",
    "1.5Gi",
    "123456789",
    "1Ti",
    "1Pi",
    "1Ei",
    "4Ei",
    "129M",
];
const STORAGE: [&str; 4] = ["1Gi", "5Gi", "10Gi", "500Mi"];
const ODD_STORAGE: [&str; 4] = ["0", "1", "1Ei", "1500m"];
const COUNT: [&str; 4] = ["1", "2", "3", "4"];
const ODD_COUNT: [&str; 3] = ["0", "1k", "1000000"];
const HUGE_PAGES: [&str; 3] = ["2Mi", "4Mi", "64Mi"];

/// How often an amount is an odd one, in a hundred.
const ODD: usize = 6;

/// Scalar resources that pods may ask for.
pub(super) const SCALARS: [&str; 5] = [
    "example.com/gpu",
    "example.com/fpga",
    "vendor.org/nic",
    "hugepages-2Mi",
    "hugepages-1Gi",
];

/// An amount that a container may ask for, of any resource.
pub(crate) fn request(dice: &mut Dice, resource: &str) -> &'static str {
    match resource {
        "cpu" => dice.seldom(ODD, &CPU, &ODD_CPU),
        "memory" => dice.seldom(ODD, &MEMORY, &ODD_MEMORY),
        "ephemeral-storage" => dice.seldom(ODD, &STORAGE, &ODD_STORAGE),
        "hugepages-2Mi" => dice.pick(&HUGE_PAGES),
        "hugepages-1Gi" => dice.pick(&["1Gi", "2Gi"]),
        _ => dice.seldom(ODD, &COUNT, &ODD_COUNT),
    }
}

/// An amount that a node may have, without regard to what is asked of it.
pub(super) fn allocatable(dice: &mut Dice, resource: &str) -> &'static str {
    match resource {
        "cpu" => dice.seldom(
            15,
            &["1", "2", "3920m", "4", "8"],
            &["0", "1m", "100", "9223372036854775"],
        ),
        "memory" => dice.seldom(
            8,
            &["2Gi", "3950Mi", "4Gi", "16Gi", "64Gi"],
            &["0", "1", "1Ti", "1Ei", "7Ei", "9223372036854775807"],
        ),
        "ephemeral-storage" => dice.seldom(8, &["10Gi", "20Gi", "100Gi"], &["0", "1", "4Ei"]),
        "pods" => dice.seldom(8, &["10", "110", "250"], &["0", "1", "2", "3"]),
        "hugepages-2Mi" => dice.pick(&["0", "4Mi", "64Mi", "1Gi"]),
        "hugepages-1Gi" => dice.pick(&["0", "1Gi", "4Gi"]),
        _ => dice.pick(&["0", "2", "4", "8", "16", "1k"]),
    }
}

/// More than most pods together ask for.
pub(super) fn plenty(dice: &mut Dice, resource: &str) -> &'static str {
    match resource {
        "cpu" => dice.pick(&["16", "32", "63500m", "96"]),
        "memory" => dice.pick(&["32Gi", "64Gi", "255Gi", "1Ti"]),
        "ephemeral-storage" => dice.pick(&["200Gi", "1Ti", "2T"]),
        "pods" => dice.pick(&["110", "250"]),
        "hugepages-2Mi" | "hugepages-1Gi" => dice.pick(&["32Gi", "64Gi"]),
        _ => dice.pick(&["64", "100", "2k"]),
    }
}
