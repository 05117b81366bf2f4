//! Flags that say how the sender of a request is told.

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgAction;
use plimsoll_config::parse_go_duration;
use plimsoll_telemetry::{AuthenticationOptions, RequestHeaderOptions};

use super::{FlagError, given, parse_go_bool};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Authentication")]
pub(super) struct AuthenticationFlags {
    /// Kubeconfig file of an API server that is asked whose a token is (`tokenreviews`) and which authorities the cluster
    /// trusts; without one, the cluster that this runs in
    #[arg(long, value_name = "FILE", default_value = "")]
    authentication_kubeconfig: String,
    /// Do not ask the cluster for authorities that no flag names
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", action = ArgAction::Set, value_parser = parse_go_bool)]
    authentication_skip_lookup: bool,
    /// How long an answer about a token counts
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_go_duration)]
    authentication_token_webhook_cache_ttl: Duration,
    /// Start even when the cluster cannot be asked which authorities it trusts
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "true",
          default_missing_value = "true", action = ArgAction::Set, value_parser = parse_go_bool)]
    authentication_tolerate_lookup_failure: bool,
    /// Authorities for client certificates, whose common name is then the user
    #[arg(long, value_name = "FILE", default_value = "")]
    client_ca_file: String,
    /// Authorities for the certificates of proxies that say in headers who the user is
    #[arg(long, value_name = "FILE", default_value = "")]
    requestheader_client_ca_file: String,
    /// Common names of such proxies; any, if there are none
    #[arg(long, value_name = "NAMES", value_delimiter = ',', action = ArgAction::Append)]
    requestheader_allowed_names: Vec<String>,
    /// Headers in which proxies name the user
    #[arg(long, value_name = "HEADERS", value_delimiter = ',', action = ArgAction::Append, default_value = "x-remote-user")]
    requestheader_username_headers: Vec<String>,
    /// Headers in which proxies name the user's id
    #[arg(long, value_name = "HEADERS", value_delimiter = ',', action = ArgAction::Append)]
    requestheader_uid_headers: Vec<String>,
    /// Headers in which proxies name the user's groups
    #[arg(long, value_name = "HEADERS", value_delimiter = ',', action = ArgAction::Append, default_value = "x-remote-group")]
    requestheader_group_headers: Vec<String>,
    /// What the names of headers with anything else about the user start with
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',', action = ArgAction::Append, default_value = "x-remote-extra-")]
    requestheader_extra_headers_prefix: Vec<String>,
}

/// What these flags say.
pub(super) struct Authentication {
    pub(super) options: AuthenticationOptions,
    pub(super) kubeconfig: Option<PathBuf>,
    pub(super) warnings: Vec<String>,
}

impl AuthenticationFlags {
    pub(super) fn read(self) -> Result<Authentication, FlagError> {
        let lists = [
            (
                "requestheader-username-headers",
                "X-Remote-User",
                &self.requestheader_username_headers,
            ),
            (
                "requestheader-group-headers",
                "X-Remote-Group",
                &self.requestheader_group_headers,
            ),
            (
                "requestheader-extra-headers-prefix",
                "X-Remote-Extra-",
                &self.requestheader_extra_headers_prefix,
            ),
            ("requestheader-allowed-names", "", &self.requestheader_allowed_names),
            (
                "requestheader-uid-headers",
                "X-Remote-Uid",
                &self.requestheader_uid_headers,
            ),
        ];
        let mut warnings = Vec::new();
        for (flag, standard, values) in lists {
            if values.iter().any(|value| value.trim().is_empty()) {
                return Err(FlagError::Usage(format!("empty value in {flag:?}")));
            }
            let lacks_it = !values.is_empty() && !values.iter().any(|value| value.eq_ignore_ascii_case(standard));
            if lacks_it && !standard.is_empty() {
                let what = if flag.ends_with("prefix") {
                    "header prefix"
                } else {
                    "header"
                };
                let told = format!(
                    "--{flag} is set without specifying the standard {standard} {what} - API aggregation will not work"
                );
                // This one came late enough to be refused.
                if flag == "requestheader-uid-headers" {
                    return Err(FlagError::Usage(told));
                }
                warnings.push(told);
            }
        }
        let file = |path: String| given(path).map(PathBuf::from);
        Ok(Authentication {
            kubeconfig: file(self.authentication_kubeconfig),
            options: AuthenticationOptions {
                client_ca_file: file(self.client_ca_file),
                request_header: RequestHeaderOptions {
                    client_ca_file: file(self.requestheader_client_ca_file),
                    allowed_names: self.requestheader_allowed_names,
                    username_headers: self.requestheader_username_headers,
                    uid_headers: self.requestheader_uid_headers,
                    group_headers: self.requestheader_group_headers,
                    extra_headers_prefix: self.requestheader_extra_headers_prefix,
                },
                skip_lookup: self.authentication_skip_lookup,
                tolerate_lookup_failure: self.authentication_tolerate_lookup_failure,
                token_ttl: self.authentication_token_webhook_cache_ttl,
            },
            warnings,
        })
    }
}
