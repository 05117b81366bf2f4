//! Flags that say where health, metrics and debugging are served.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::ArgAction;
use plimsoll_telemetry::{Authorizer, ServingOptions};

use super::authentication::AuthenticationFlags;
use super::authorization::AuthorizationFlags;
use super::tls::TlsFlags;
use super::{FlagError, given, parse_go_bool};
use crate::serving::Serving;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Serving")]
pub(super) struct ServingFlags {
    /// Address to serve HTTPS on
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED))]
    bind_address: IpAddr,
    /// Port to serve HTTPS on; 0 for not at all
    #[arg(long, value_name = "PORT", default_value_t = 10259, allow_negative_numbers = true)]
    secure_port: i64,
    /// Plimsoll's own: host under which other machines reach this replica. While it leads it writes that and the port into the
    /// annotation plimsoll.dev/leader-address of the Lease, which `plimsoll explain` follows. By default --bind-address, unless
    /// that means every address
    #[arg(
        long,
        value_name = "HOST",
        default_value = "",
        env = "POD_IP",
        hide_env_values = true
    )]
    advertise_address: String,
    /// Let others listen on the same address and port
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", action = ArgAction::Set, value_parser = parse_go_bool)]
    permit_port_sharing: bool,
    /// Accepted without meaning: an address is always taken over from connections that are about to end
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false",
          default_missing_value = "true", action = ArgAction::Set, value_parser = parse_go_bool)]
    permit_address_sharing: bool,
}

impl ServingFlags {
    /// What is served how and to whom; nothing with port 0.
    pub(super) fn read(
        self,
        tls: TlsFlags,
        authentication: AuthenticationFlags,
        authorization: AuthorizationFlags,
    ) -> Result<Option<Serving>, FlagError> {
        let port = u16::try_from(self.secure_port).map_err(|_| FlagError::SecurePort {
            port: self.secure_port,
            range: match self.secure_port {
                ..0 => "0 and 65535, inclusive. 0 for turning off secure port",
                _ => "1 and 65535, inclusive. It cannot be turned off with 0",
            },
        })?;
        let tls = tls.read(self.bind_address)?;
        let authentication = authentication.read()?;
        let (authorization, authorization_kubeconfig) = authorization.read();
        // Said now, and not only where a server is started.
        Authorizer::new(&authorization, None)?;
        let serving = Serving {
            options: ServingOptions {
                address: SocketAddr::new(self.bind_address, port),
                tls: tls.options,
                http2_max_streams: tls.http2_max_streams,
                port_sharing: self.permit_port_sharing,
            },
            authentication: authentication.options,
            authentication_kubeconfig: authentication.kubeconfig,
            authorization,
            authorization_kubeconfig,
            advertised: given(self.advertise_address),
            warnings: [tls.warnings, authentication.warnings].concat(),
        };
        Ok(Some(serving).filter(|_| port != 0))
    }
}
