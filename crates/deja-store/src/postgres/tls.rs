//! TLS to PostgreSQL, with the meaning that `sslmode` has in libpq.
//!
//! `disable`, `prefer` (the default: TLS where the server has it, its certificate unchecked), `require` (TLS,
//! unchecked), `verify-ca` and `verify-full` (TLS with a certificate that one of the roots vouches for; the
//! name is checked in both). Roots are the public ones, or those in the file `sslrootcert`; where that is
//! given, `require` checks too.

use std::error::Error as _;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::Error;
use tokio_postgres::config::{Config, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The connection settings in a URL, and how TLS is done.
pub(super) fn parse(url: &str) -> Result<(Config, MakeRustlsConnect), String> {
    // What is behind the first one would be taken for the host, and shown.
    if url.matches('@').count() > 1 {
        return Err(
            "it has more than one '@': write those of the user, the password and parameters as %40".into()
        );
    }
    let (mut mode, mut roots) = (None, None);
    let url = match url.split_once('?') {
        None => url.to_owned(),
        Some((address, query)) => {
            let mut rest = Vec::new();
            for pair in query.split('&') {
                match pair.split_once('=') {
                    Some(("sslmode", value)) => mode = Some(value),
                    Some(("sslrootcert", value)) => roots = Some(value),
                    _ => rest.push(pair),
                }
            }
            format!("{address}?{}", rest.join("&"))
        }
    };
    let mut config: Config = url.parse().map_err(|error| reason(&url, &error))?;
    let checked = match mode {
        None | Some("prefer") => None,
        Some("disable") => {
            config.ssl_mode(SslMode::Disable);
            None
        }
        Some("require") => Some(roots.is_some()),
        Some("verify-ca" | "verify-full") => Some(true),
        Some(_) => return Err("sslmode must be disable, prefer, require, verify-ca or verify-full".into()),
    };
    if checked.is_some() {
        config.ssl_mode(SslMode::Require);
    }
    let roots = roots.map(|path| decoded(path).ok_or("sslrootcert is not UTF-8")).transpose()?;
    let tls = client(checked == Some(true), roots.as_deref())?;
    Ok((config, MakeRustlsConnect::new(tls)))
}

/// Why `url` cannot be read. Names of parameters may be told; but what stands before a '=' may be part of a password.
fn reason(url: &str, error: &Error) -> String {
    let cause = error.source().map(ToString::to_string);
    let told = |cause: &String| {
        ["unknown option", "invalid value"].iter().any(|begin| cause.starts_with(begin))
            && !url.contains("password=")
    };
    cause.filter(told).unwrap_or_else(|| "it is no PostgreSQL URL".to_owned())
}

/// The value of a parameter without its percent-encoding, as the driver reads those that it knows.
fn decoded(value: &str) -> Option<String> {
    let config: Config = format!("postgres://user@?application_name={value}").parse().ok()?;
    config.get_application_name().map(str::to_owned)
}

fn client(checked: bool, roots: Option<&str>) -> Result<ClientConfig, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    if !checked {
        let any = Arc::new(AnyCertificate(provider));
        return Ok(builder.dangerous().with_custom_certificate_verifier(any).with_no_client_auth());
    }
    let mut store = RootCertStore::empty();
    match roots {
        None | Some("system") => {
            store.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
        }
        Some(path) => {
            let unreadable = |error| format!("sslrootcert {path} cannot be read: {error}");
            for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
                let certificate = certificate.map_err(unreadable)?;
                store.add(certificate).map_err(|error| format!("sslrootcert {path}: {error}"))?;
            }
            if store.is_empty() {
                return Err(format!("sslrootcert {path} holds no certificate in PEM"));
            }
        }
    }
    Ok(builder.with_root_certificates(store).with_no_client_auth())
}

/// Takes any certificate: `prefer` and `require` protect from listeners, not from an impostor.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::Host;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_url_is_told_without_its_password() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty.pem");
        std::fs::write(&empty, "no certificate\n").unwrap();
        let empty =
            format!("postgres://deja:hush@h/deja?sslmode=verify-full&sslrootcert={}", empty.display());
        for (url, wanted) in [
            ("postgres://deja:hunter2@hush@127.0.0.1:1/deja", "%40"),
            ("postgres://deja:a@hush?hush=1@127.0.0.1/deja", "%40"),
            ("postgres://deja:hush@h/deja?sslcert=mine.pem", "`sslcert`"),
            ("postgres://h/deja?password=a&hush=1", "no PostgreSQL URL"),
            ("postgres://deja:hush@h/deja?connect_timeout=soon", "`connect_timeout`"),
            ("postgres://deja:hush@h/deja?sslmode=foo", "sslmode must be"),
            (
                "postgres://deja:hush@h/deja?sslmode=verify-full&sslrootcert=/not%20there.pem",
                "/not there.pem",
            ),
            (&empty, "holds no certificate"),
        ] {
            let refused = parse(url).err().unwrap();
            assert!(refused.contains(wanted) && !refused.contains("hush"), "{url}: {refused}");
        }
        for url in ["postgres://deja:hu%40sh@h/deja", "postgres://deja:hu?s/h@h/deja?application_name=me"] {
            assert_eq!(parse(url).unwrap().0.get_hosts(), [Host::Tcp("h".into())], "{url}");
        }
    }
}
