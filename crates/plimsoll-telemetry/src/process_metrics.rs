//! What Prometheus' own client libraries tell of a process, read from `/proc` when somebody asks.

use std::fmt::Error;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

use crate::registrar::{Definition, alpha, plain};

const CPU: Definition = plain(
    "process_cpu_seconds_total",
    "Total user and system CPU time spent in seconds.",
);
const MAX_FDS: Definition = plain("process_max_fds", "Maximum number of open file descriptors.");
const RECEIVED: Definition = plain(
    "process_network_receive_bytes_total",
    "Number of bytes received by the process over the network.",
);
const SENT: Definition = plain(
    "process_network_transmit_bytes_total",
    "Number of bytes sent by the process over the network.",
);
const OPEN_FDS: Definition = plain("process_open_fds", "Number of open file descriptors.");
const RESIDENT: Definition = plain("process_resident_memory_bytes", "Resident memory size in bytes.");
const START: Definition = plain(
    "process_start_time_seconds",
    "Start time of the process since unix epoch in seconds.",
);
const VIRTUAL: Definition = plain("process_virtual_memory_bytes", "Virtual memory size in bytes.");
const VIRTUAL_MAX: Definition = plain(
    "process_virtual_memory_max_bytes",
    "Maximum amount of virtual memory available in bytes.",
);

/// `process_*`. What cannot be read is left out; on systems other than Linux that is all of it.
#[derive(Debug, Default)]
pub(crate) struct ProcessMetrics;

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let stat = Stat::read();
        let network = network();
        let descriptors = fs::read_dir("/proc/self/fd").map(Iterator::count).ok();
        counter(&mut encoder, CPU, stat.as_ref().map(Stat::cpu_seconds))?;
        gauge(&mut encoder, MAX_FDS, Some(limit(Resource::Nofile)))?;
        counter(&mut encoder, RECEIVED, network.map(|(received, _)| received))?;
        counter(&mut encoder, SENT, network.map(|(_, sent)| sent))?;
        // The one that lists them is open, too.
        gauge(
            &mut encoder,
            OPEN_FDS,
            descriptors.map(|count| number(count.saturating_sub(1))),
        )?;
        gauge(&mut encoder, RESIDENT, stat.as_ref().map(Stat::resident_bytes))?;
        gauge(&mut encoder, START, stat.as_ref().and_then(Stat::start_time))?;
        gauge(&mut encoder, VIRTUAL, stat.as_ref().map(|stat| stat.virtual_bytes))?;
        gauge(&mut encoder, VIRTUAL_MAX, Some(limit(Resource::As)))
    }
}

/// `process_start_time_seconds` alone, which kube-scheduler shows beside its health checks.
#[derive(Debug, Default)]
pub(crate) struct ProcessStart;

impl Collector for ProcessStart {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let definition = alpha(START.name, "Start time of the process since unix epoch in seconds.");
        let start = Stat::read().and_then(|stat| stat.start_time());
        gauge(&mut encoder, definition, start)
    }
}

/// What of `/proc/self/stat` is of use.
struct Stat {
    cpu_ticks: f64,
    start_ticks: f64,
    virtual_bytes: f64,
    resident_pages: f64,
}

impl Stat {
    fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/self/stat").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        // The second field is the command in brackets, with whatever characters it has; the third is next behind it.
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_ticks: field(14)? + field(15)?,
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }

    fn cpu_seconds(&self) -> f64 {
        seconds(self.cpu_ticks)
    }

    fn resident_bytes(&self) -> f64 {
        self.resident_pages * number(page_size())
    }

    /// In seconds since 1970.
    fn start_time(&self) -> Option<f64> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let booted = text.lines().find_map(|line| line.strip_prefix("btime "))?;
        Some(booted.trim().parse::<f64>().ok()? + seconds(self.start_ticks))
    }
}

fn seconds(ticks: f64) -> f64 {
    ticks / f64::from(u32::try_from(clock_ticks_per_second()).unwrap_or(100))
}

/// What went in and out over all network interfaces that the process sees.
fn network() -> Option<(f64, f64)> {
    let text = fs::read_to_string("/proc/self/net/netstat").ok()?;
    let (received, sent) = ip_octets(&text)?;
    Some((received, sent))
}

/// `InOctets` and `OutOctets` of the table `IpExt`: a line of names, and one of values.
fn ip_octets(text: &str) -> Option<(f64, f64)> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("IpExt: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let value = |wanted: &str| {
        let mut columns = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
        columns.find(|(name, _)| *name == wanted)?.1.parse::<f64>().ok()
    };
    Some((value("InOctets")?, value("OutOctets")?))
}

/// As client libraries in Go show it: no limit is the greatest number there is.
fn limit(resource: Resource) -> f64 {
    whole(getrlimit(resource).current.unwrap_or(u64::MAX))
}

fn number(count: usize) -> f64 {
    whole(u64::try_from(count).unwrap_or(u64::MAX))
}

#[allow(
    clippy::cast_precision_loss,
    reason = "sizes beyond 2^53 are shown rounded, as Prometheus stores them"
)]
fn whole(count: u64) -> f64 {
    count as f64
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, definition: Definition, value: Option<f64>) -> Result<(), Error> {
    let Some(value) = value else { return Ok(()) };
    let help = definition.help() + ".";
    let family = encoder.encode_descriptor(definition.name, &help, None, MetricType::Gauge)?;
    ConstGauge::new(value).encode(family)
}

fn counter(encoder: &mut DescriptorEncoder<'_>, definition: Definition, value: Option<f64>) -> Result<(), Error> {
    let Some(value) = value else { return Ok(()) };
    let help = definition.help() + ".";
    let name = definition.name.strip_suffix("_total").unwrap_or(definition.name);
    let family = encoder.encode_descriptor(name, &help, None, MetricType::Counter)?;
    ConstCounter::new(value).encode(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers are exact")]
    fn a_command_with_brackets_and_spaces_in_its_name_confuses_nobody() {
        let text = "7 (a ) b) S 1 7 7 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 3 0 1234 4096000 250 18446744073709551615";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(
            [
                stat.cpu_ticks,
                stat.start_ticks,
                stat.virtual_bytes,
                stat.resident_pages
            ],
            [200.0, 1234.0, 4_096_000.0, 250.0]
        );
    }

    #[test]
    fn octets_are_found_by_their_names() {
        let text = "TcpExt: InOctets\nTcpExt: 1\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 5 70 90\n";
        assert_eq!(ip_octets(text), Some((70.0, 90.0)));
        assert_eq!(ip_octets("IpExt: InOctets\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_told_of() {
        let text = crate::Metrics::new().text().unwrap();
        for family in [
            CPU,
            MAX_FDS,
            RECEIVED,
            SENT,
            OPEN_FDS,
            RESIDENT,
            START,
            VIRTUAL,
            VIRTUAL_MAX,
        ] {
            let line = text.lines().find(|line| line.starts_with(&format!("{} ", family.name)));
            let value: f64 = line.unwrap().rsplit(' ').next().unwrap().parse().unwrap();
            assert!(value >= 0.0, "{line:?}");
            let help = format!("# HELP {} {}", family.name, family.help());
            assert!(text.lines().any(|line| line == help), "{help}");
        }
    }
}
