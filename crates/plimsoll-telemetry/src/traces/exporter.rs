use std::path::{Path, PathBuf};

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use opentelemetry::KeyValue;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig, Identity};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::settings::{Protocol, TraceSettings};

/// Why spans cannot be sent as they should be.
#[derive(Debug, thiserror::Error)]
pub enum ExporterError {
    /// A certificate or key cannot be read.
    #[error("{}: {cause}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// The TLS library refuses.
    #[error("TLS to the collector: {0}")]
    Tls(#[from] rustls::Error),
    /// The exporter refuses its settings.
    #[error("OTLP exporter: {0}")]
    Build(#[from] ExporterBuildError),
}

/// What every span is told to come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceInstance {
    /// `service.version`.
    pub version: String,
    /// `service.instance.id`: one of several replicas.
    pub instance: String,
    /// `host.name`.
    pub host: String,
}

/// To be built within a runtime.
pub(super) fn build(settings: &TraceSettings, instance: &ServiceInstance) -> Result<SpanExporter, ExporterError> {
    let mut exporter = match settings.protocol {
        Protocol::Grpc => grpc(settings)?,
        Protocol::HttpProtobuf => http(settings)?,
    };
    exporter.set_resource(&resource(settings, instance));
    Ok(exporter)
}

/// `OTEL_RESOURCE_ATTRIBUTES` count before what is said here.
fn resource(settings: &TraceSettings, instance: &ServiceInstance) -> Resource {
    let from_env = Resource::builder().build();
    let named = settings.service_name.is_some()
        || from_env
            .iter()
            .any(|(key, value)| key.as_str() == "service.name" && !value.as_str().starts_with("unknown_service"));
    let own = [
        (!named).then(|| KeyValue::new("service.name", "plimsoll")),
        Some(KeyValue::new("service.version", instance.version.clone())),
        Some(KeyValue::new("service.instance.id", instance.instance.clone())),
        Some(KeyValue::new("host.name", instance.host.clone())),
    ];
    let missing = own
        .into_iter()
        .flatten()
        .filter(|own| own.key.as_str() == "service.name" || from_env.iter().all(|(key, _)| *key != own.key));
    Resource::builder().with_attributes(missing).build()
}

fn grpc(settings: &TraceSettings) -> Result<SpanExporter, ExporterError> {
    let mut builder = SpanExporter::builder().with_tonic();
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    let mut tls = ClientTlsConfig::new();
    tls = match &settings.authorities {
        Some(path) => tls.ca_certificate(Certificate::from_pem(read(path)?)),
        None => tls.with_native_roots(),
    };
    if let Some((certificate, key)) = &settings.client {
        tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    // An endpoint of scheme http is spoken to without.
    Ok(builder.with_tls_config(tls).build()?)
}

fn http(settings: &TraceSettings) -> Result<SpanExporter, ExporterError> {
    let mut builder = SpanExporter::builder()
        .with_http()
        .with_protocol(opentelemetry_otlp::Protocol::HttpBinary);
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    // The exporter has a limit of its own for each request; this one only bounds it.
    let client = HyperClient::new(connector(settings)?, settings.limits.timeout, None);
    Ok(builder.with_http_client(client).build()?)
}

fn connector(settings: &TraceSettings) -> Result<HttpsConnector<HttpConnector>, ExporterError> {
    let config = ClientConfig::builder().with_root_certificates(authorities(settings.authorities.as_deref())?);
    let config = match &settings.client {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(certificate)?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|cause| unusable(key, &cause))?;
            config.with_client_auth_cert(chain, key)?
        }
    };
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .build())
}

fn authorities(path: Option<&Path>) -> Result<RootCertStore, ExporterError> {
    let mut roots = RootCertStore::empty();
    match path {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate)?;
            }
        }
        None => {
            // A system without any can still be spoken to without TLS.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ExporterError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    read.map_err(|cause| unusable(path, &cause))
}

fn read(path: &Path) -> Result<Vec<u8>, ExporterError> {
    std::fs::read(path).map_err(|cause| unusable(path, &cause))
}

fn unusable(path: &Path, cause: &dyn std::fmt::Display) -> ExporterError {
    ExporterError::File {
        path: path.to_owned(),
        cause: cause.to_string(),
    }
}
