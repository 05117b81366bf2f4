//! Flags that say who may ask for what.

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgAction;
use plimsoll_config::parse_go_duration;
use plimsoll_telemetry::AuthorizationOptions;

use super::given;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Authorization")]
#[expect(clippy::struct_field_names, reason = "clap names the flags after the fields")]
pub(super) struct AuthorizationFlags {
    /// Kubeconfig file of an API server that is asked who may what (`subjectaccessreviews`); without one, the cluster that
    /// this runs in, and outside of any nobody may anything but what is always allowed
    #[arg(long, value_name = "FILE", default_value = "")]
    authorization_kubeconfig: String,
    /// Paths that anybody may ask for; a * at the end stands for anything
    #[arg(long, value_name = "PATHS", value_delimiter = ',', action = ArgAction::Append,
          default_value = "/healthz,/readyz,/livez")]
    authorization_always_allow_paths: Vec<String>,
    /// How long a yes counts
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_go_duration)]
    authorization_webhook_cache_authorized_ttl: Duration,
    /// How long a no counts
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_go_duration)]
    authorization_webhook_cache_unauthorized_ttl: Duration,
}

impl AuthorizationFlags {
    pub(super) fn read(self) -> (AuthorizationOptions, Option<PathBuf>) {
        let paths = self.authorization_always_allow_paths;
        let options = AuthorizationOptions {
            always_allow_paths: paths.into_iter().filter(|path| !path.is_empty()).collect(),
            authorized_ttl: self.authorization_webhook_cache_authorized_ttl,
            unauthorized_ttl: self.authorization_webhook_cache_unauthorized_ttl,
        };
        (options, given(self.authorization_kubeconfig).map(PathBuf::from))
    }
}
