//! kube-scheduler's command line: the same flags, read by the same rules.

mod authentication;
mod authorization;
mod config;
mod given;
mod logs;
mod metrics;
mod serving;
mod tls;
mod versions;

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser};
use plimsoll_client::Access;
use plimsoll_config::{DEFAULT_BIND_PODS_BURST, ElectionConfig, FeatureGateError, FeatureGates, parse_go_duration};
use plimsoll_telemetry::PathError;

use self::authentication::AuthenticationFlags;
use self::authorization::AuthorizationFlags;
pub use self::given::GivenFlags;
use self::logs::LogFlags;
use self::metrics::MetricsFlags;
use self::serving::ServingFlags;
use self::tls::TlsFlags;
use self::versions::VersionFlags;
use crate::Options;
use crate::help::{self, HELP_WIDTH};
use crate::version;

/// What a command line asks for.
#[derive(Debug)]
pub enum Request {
    /// To run the scheduler.
    Run(Box<Options>),
    /// To print this text (help or version) and end.
    Print(String),
}

/// A command line that cannot be followed. The process ends with code 1.
#[derive(Debug, thiserror::Error)]
pub enum FlagError {
    /// There are no subcommands among the flags.
    #[error("{program:?} does not take any arguments, got [{}]", quoted(.arguments))]
    Arguments {
        /// The program.
        program: String,
        /// What it was given.
        arguments: Vec<String>,
    },
    /// A port that is none; kube-scheduler's texts, of which the one for large numbers says what is not so.
    #[error("--secure-port {port} must be between {range}")]
    SecurePort {
        /// The port.
        port: i64,
        /// Where it should be.
        range: &'static str,
    },
    /// A certificate without its key, or a key alone.
    #[error("--tls-cert-file and --tls-private-key-file must be given together")]
    CertificateWithoutKey,
    /// Feature gates that cannot be set so.
    #[error(transparent)]
    FeatureGates(#[from] FeatureGateError),
    /// A Policy beside a configuration file, which would have to be put together.
    #[error("--{0} cannot be used with --config; turn the Policy into a configuration with `plimsoll config convert`")]
    PolicyWithConfig(&'static str),
    /// A path that cannot be always allowed.
    #[error(transparent)]
    AlwaysAllowPath(#[from] PathError),
    /// Anything else, worded for people.
    #[error("{0}")]
    Usage(String),
}

fn quoted(arguments: &[String]) -> String {
    let quoted: Vec<_> = arguments.iter().map(|argument| format!("{argument:?}")).collect();
    quoted.join(" ")
}

/// Places the pods of a Kubernetes cluster on its nodes, in kube-scheduler's place or beside it
#[derive(Debug, Parser)]
#[command(
    disable_version_flag = true,
    disable_help_subcommand = true,
    args_override_self = true,
    term_width = HELP_WIDTH
)]
struct Flags {
    /// The path to the configuration file; changes of it are taken over while running
    #[arg(long, value_name = "FILE", default_value = "")]
    config: String,
    /// If set, write the configuration values to this file and exit
    #[arg(long, value_name = "FILE", default_value = "")]
    write_config_to: String,
    #[command(flatten)]
    policy: PolicyFlags,
    /// DEPRECATED: path to the kubeconfig file with authorization and API server location information; without effect beside --config
    #[arg(long, help_heading = "API server", value_name = "FILE", default_value = "")]
    kubeconfig: String,
    /// The address of the API server (overrides any value in kubeconfig)
    #[arg(long, help_heading = "API server", value_name = "URL", default_value = "")]
    master: String,

    #[command(flatten)]
    election: ElectionFlags,
    #[command(flatten)]
    serving: ServingFlags,
    #[command(flatten)]
    metrics: MetricsFlags,
    #[command(flatten)]
    tls: TlsFlags,
    #[command(flatten)]
    authentication: AuthenticationFlags,
    #[command(flatten)]
    authorization: AuthorizationFlags,

    /// DEPRECATED: requests per second to the API server, zero or less for no limit; without effect beside --config
    #[arg(
        long,
        help_heading = "API server",
        value_name = "QPS",
        default_value_t = 50.0,
        allow_negative_numbers = true
    )]
    kube_api_qps: f32,
    /// DEPRECATED: requests to the API server that may exceed the rate at once; without effect beside --config
    #[arg(long, help_heading = "API server", value_name = "COUNT", default_value_t = 100)]
    kube_api_burst: u32,
    /// Bindings per second, as Kubernetes 1.0 limited them (to 15); no limit unless set
    #[arg(long, help_heading = "API server", value_name = "QPS")]
    bind_pods_qps: Option<f32>,
    /// Bindings that may exceed that rate at once
    #[arg(long, help_heading = "API server", value_name = "COUNT", default_value_t = DEFAULT_BIND_PODS_BURST)]
    bind_pods_burst: u32,
    /// DEPRECATED: content type of requests; accepted without meaning: JSON is spoken
    #[arg(
        long,
        help_heading = "API server",
        value_name = "TYPE",
        default_value = "application/vnd.kubernetes.protobuf"
    )]
    kube_api_content_type: String,
    /// DEPRECATED: the configuration's enableProfiling; without effect beside --config
    #[arg(long, help_heading = "Other", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", action = ArgAction::Set, value_parser = parse_go_bool)]
    profiling: bool,
    /// DEPRECATED: the configuration's enableContentionProfiling; accepted without meaning
    #[arg(long, help_heading = "Other", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", action = ArgAction::Set, value_parser = parse_go_bool)]
    contention_profiling: bool,
    // Its help lists the gates.
    #[arg(long, help_heading = "Feature gates", value_name = "GATES", action = ArgAction::Append)]
    feature_gates: Vec<String>,
    #[command(flatten)]
    versions: VersionFlags,
    /// DEPRECATED: how long a pod may wait as unschedulable before it is tried again in any case
    #[arg(long, help_heading = "Other", value_name = "DURATION", default_value = "5m0s", value_parser = parse_go_duration)]
    pod_max_in_unschedulable_pods_duration: Duration,

    #[command(flatten)]
    logs: LogFlags,
    /// Print version information and quit; =raw prints more; =vX.Y.Z-mark is reported as the version, its numbers those of the
    /// build
    #[arg(long, help_heading = "Other", value_name = "true|raw|vX.Y.Z-mark", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    version: Option<String>,

    /// Plimsoll's own: stands for the host's name in the lease and in events
    #[arg(long, help_heading = "Other", value_name = "NAME", default_value = "")]
    hostname_override: String,
    /// For tests: adds a plugin that panics on pods with this label, or hangs if its value is `hang`
    #[arg(
        long,
        hide = true,
        value_name = "LABEL",
        env = "PLIMSOLL_TEST_PANIC_LABEL",
        hide_env = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "plimsoll.dev/test-panic"
    )]
    enable_test_plugins: Option<String>,

    #[arg(hide = true)]
    arguments: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Legacy Policy")]
#[expect(clippy::struct_field_names, reason = "clap names the flags after the fields")]
struct PolicyFlags {
    /// File with a Policy of Kubernetes 1.0 to 1.22, in place of a configuration
    #[arg(long, value_name = "FILE", default_value = "")]
    policy_config_file: String,
    /// Name of the config map with such a Policy under the key policy.cfg; goes before --policy-config-file
    #[arg(long, value_name = "NAME", default_value = "")]
    policy_configmap: String,
    /// Namespace of the config map
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    policy_configmap_namespace: String,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Leader election")]
#[expect(clippy::struct_field_names, reason = "clap names the flags after the fields")]
struct ElectionFlags {
    /// Start as a candidate and schedule only while leading
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", action = ArgAction::Set, value_parser = parse_go_bool)]
    leader_elect: bool,
    /// How long a lease that is not renewed keeps other candidates away
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = parse_go_duration)]
    leader_elect_lease_duration: Duration,
    /// How long the leader tries to renew before it stops leading
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_go_duration)]
    leader_elect_renew_deadline: Duration,
    /// Wait between tries to acquire or renew
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_go_duration)]
    leader_elect_retry_period: Duration,
    /// Kind of the lock; only leases
    #[arg(long, value_name = "KIND", default_value = "leases")]
    leader_elect_resource_lock: String,
    /// Name of the Lease
    #[arg(long, value_name = "NAME", default_value = "kube-scheduler")]
    leader_elect_resource_name: String,
    /// Namespace of the Lease
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system")]
    leader_elect_resource_namespace: String,
}

/// Several faults in one text, as kube-scheduler puts them together; none when there is no fault.
fn aggregate(faults: &[String]) -> Option<String> {
    match faults {
        [] => None,
        [fault] => Some(fault.clone()),
        _ => Some(format!("[{}]", faults.join(", "))),
    }
}

/// What Go's `strconv.ParseBool` takes for a boolean.
fn parse_go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {text:?}: invalid syntax")),
    }
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// When a flag is unknown, or has a value that it cannot have.
pub fn parse(program: &str, arguments: impl IntoIterator<Item = OsString>) -> Result<Request, FlagError> {
    let arguments = with_dashes(arguments);
    let command = Flags::command().name("plimsoll").bin_name(program.to_owned());
    let command = command.mut_arg("feature_gates", |flag| flag.help(gates_help()));
    let command = help::around(command, program);
    // `[default: ""]` says nothing.
    let command = command.mut_args(|flag| {
        let empty = flag.get_default_values().iter().all(|value| value.is_empty());
        flag.hide_default_value(empty)
    });
    let parsed = command
        .clone()
        .try_get_matches_from(std::iter::once(program.into()).chain(arguments))
        .and_then(|matches| Ok((Flags::from_arg_matches(&matches)?, matches)));
    match parsed {
        Ok((flags, matches)) => {
            let another_version = flags.versions.asks_for_another();
            let given = GivenFlags::of(&command, &matches, another_version);
            flags.request(program, &matches, given)
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelp => Ok(Request::Print(error.to_string())),
        Err(error) => Err(explain(&error)),
    }
}

/// The help of `--feature-gates` names the gates.
fn gates_help() -> String {
    format!(
        "Feature gates to switch, as a list of Name=true|false; may be given several times. The gates are:\n{}",
        FeatureGates::help().join("\n")
    )
}

/// Words in names of flags may be parted by `_` as well as by `-`.
fn with_dashes(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut flags = true;
    let one = |argument: OsString| {
        flags &= argument != OsStr::new("--");
        let Some(flag) = argument
            .to_str()
            .and_then(|text| text.strip_prefix("--"))
            .filter(|_| flags)
        else {
            return argument;
        };
        let (name, value) = flag.split_at(flag.find('=').unwrap_or(flag.len()));
        format!("--{}{value}", name.replace('_', "-")).into()
    };
    arguments.into_iter().map(one).collect()
}

fn explain(error: &clap::Error) -> FlagError {
    let text = error.to_string();
    FlagError::Usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned())
}

fn given(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

impl Flags {
    fn request(self, program: &str, matches: &ArgMatches, given: GivenFlags) -> Result<Request, FlagError> {
        match self.version.as_deref() {
            None | Some("false") => {}
            Some(reported) if reported.starts_with('v') => {
                version::check_reported(reported).map_err(FlagError::Usage)?;
            }
            Some("true") => return Ok(Request::Print(format!("{}\n", version::line()))),
            Some("raw") => return Ok(Request::Print(format!("{}\n", version::raw()))),
            Some(other) => {
                return Err(FlagError::Usage(format!(
                    "invalid value '{other}' for '--version': must be true, false, raw or a version that begins with v"
                )));
            }
        }
        if self.arguments.iter().any(|argument| !argument.is_empty()) {
            return Err(FlagError::Arguments {
                program: program.to_owned(),
                arguments: self.arguments,
            });
        }
        self.options(matches, given)
            .map(|options| Request::Run(Box::new(options)))
    }

    fn options(self, matches: &ArgMatches, flags: GivenFlags) -> Result<Options, FlagError> {
        self.versions.check()?;
        let (source, config) = self.configuration(matches)?;
        let logging = self.logs.options(&config.feature_gates)?;
        Ok(Options {
            access: Access {
                kubeconfig: given(self.kubeconfig).map(PathBuf::from),
                master: given(self.master),
            },
            config,
            source,
            write_config_to: given(self.write_config_to).map(PathBuf::from),
            serving: self.serving.read(self.tls, self.authentication, self.authorization)?,
            metrics: self.metrics.policy()?,
            logging,
            flags,
            version: self.version.filter(|version| version.starts_with('v')),
            host: given(self.hostname_override),
            test_panic_label: self.enable_test_plugins,
        })
    }
}

impl ElectionFlags {
    fn config(&self) -> ElectionConfig {
        ElectionConfig {
            leader_elect: self.leader_elect,
            lease_duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
            negative: None,
            resource_lock: self.leader_elect_resource_lock.clone(),
            resource_name: self.leader_elect_resource_name.clone(),
            resource_namespace: self.leader_elect_resource_namespace.clone(),
        }
    }
}
