//! TLS towards a gateway: the system's authorities, or one pinned certificate instead of them.

use super::address::Pin;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use std::fmt;
use std::sync::Arc;

/// How to speak TLS. Blocking: reads the system's certificates when nothing is pinned.
pub(super) fn config(pin: Option<Pin>) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match pin {
        Some(pin) => builder.dangerous().with_custom_certificate_verifier(Arc::new(Pinned { pin, provider })),
        None => {
            let mut roots = RootCertStore::empty();
            // Single unreadable ones do not matter; with none at all no certificate is trusted, and
            // that is said then.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            builder.with_root_certificates(roots)
        }
    };
    Ok(Arc::new(builder.with_no_client_auth()))
}

/// Another certificate than the pinned one.
#[derive(Debug, thiserror::Error)]
#[error("the certificate {found} is not the pinned one")]
pub(super) struct WrongPin {
    /// What was shown.
    pub(super) found: Pin,
}

/// Trusts one certificate, whatever it says about names, dates and authorities, if the other end has its key.
struct Pinned {
    pin: Pin,
    provider: Arc<CryptoProvider>,
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({})", self.pin)
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = Pin::of(end_entity);
        if found == self.pin {
            return Ok(ServerCertVerified::assertion());
        }
        let other = OtherError(Arc::new(WrongPin { found }));
        Err(Error::InvalidCertificate(CertificateError::Other(other)))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
