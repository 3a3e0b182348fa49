//! Authentication: one secret, the token, from which both ends derive the same key and certificate.
//!
//! A worker shows the certificate to the session and to other workers, and they show it to the worker. Each end accepts
//! this certificate alone. A program without the token has no key to the certificate and gets no connection. Nothing
//! needs to be copied but the token.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use onrush_wire::{Diagnostic, paths};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519, SerialNumber};
use tonic::transport::{Certificate, ClientTlsConfig, ServerTlsConfig};

use crate::build::build_id;
use crate::failed;

/// The name in the certificate. It does not name a host: workers are known by their key.
const NAME: &str = "cluster.onrush";
/// The shortest token, in bytes: the public key is seen by everybody, and a short token could be guessed from it.
const SHORTEST: usize = 32;
/// The bytes before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410, section 7).
const PKCS8: &[u8] = &[0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// The secrets that a token stands for: the certificate of all members of a cluster, its key, and the key that signs
/// plans.
#[derive(Clone)]
pub struct Identity {
    certificate: String,
    key: String,
    plans: [u8; 32],
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity")
    }
}

impl Identity {
    /// # Errors
    /// A token of fewer than 32 characters.
    pub fn of(token: &str) -> Result<Identity, Diagnostic> {
        let token = token.trim();
        if token.len() < SHORTEST {
            let message =
                format!("the cluster's token has {} characters; it must have at least {SHORTEST}", token.len());
            return Err(failed("cluster-token", message).help("`onrush-session worker-node --new-token` makes one"));
        }
        let wrong = |e: rcgen::Error| failed("cluster-token", format!("no key could be made of the token: {e}"));
        let mut der = PKCS8.to_vec();
        der.extend(blake3::derive_key("onrush cluster 2026 certificate", token.as_bytes()));
        let key = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der));
        let pair = KeyPair::from_pkcs8_pem_and_sign_algo(&key, &PKCS_ED25519).map_err(wrong)?;
        let mut params = CertificateParams::new(vec![NAME.to_string()]).map_err(wrong)?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, NAME);
        // All fields are given: both ends make the same certificate.
        params.serial_number = Some(SerialNumber::from_slice(&[1]));
        let certificate = params.self_signed(&pair).map_err(wrong)?.pem();
        Ok(Identity { certificate, key, plans: blake3::derive_key("onrush cluster 2026 plans", token.as_bytes()) })
    }

    /// The identity of the token in `ONRUSH_TOKEN`, else in `~/.config/onrush/token`.
    ///
    /// # Errors
    /// If no token is set, or it is too short.
    pub fn of_environment() -> Result<Identity, Diagnostic> {
        if let Some(token) = std::env::var(paths::TOKEN).ok().filter(|token| !token.trim().is_empty()) {
            return Identity::of(&token);
        }
        let missing = |what: String| {
            failed("cluster-token", what).help(
                "set ONRUSH_TOKEN to the token of the workers, or write it to `~/.config/onrush/token`; \
                 `onrush-session worker-node --new-token` makes one",
            )
        };
        let Some(path) = paths::token_file() else {
            return Err(missing("no token was found: ONRUSH_TOKEN is not set".into()));
        };
        match std::fs::read_to_string(&path) {
            Ok(token) => Identity::of(&token),
            Err(e) => {
                let message = format!("no token was found: ONRUSH_TOKEN is not set, and `{}`: {e}", path.display());
                Err(missing(message))
            }
        }
    }

    /// How a worker answers: with the certificate, and only to those who have it.
    pub(crate) fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new().identity(self.pair()).client_ca_root(Certificate::from_pem(&self.certificate))
    }

    /// How a worker is asked.
    pub(crate) fn client(&self) -> ClientTlsConfig {
        ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&self.certificate))
            .identity(self.pair())
            .domain_name(NAME)
    }

    fn pair(&self) -> tonic::transport::Identity {
        tonic::transport::Identity::from_pem(&self.certificate, &self.key)
    }

    /// A keyed hash of a plan. Without the token nobody can make a hash that a worker accepts.
    pub(crate) fn sign(&self, plan: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.plans);
        hasher.update(build_id().as_bytes()).update(&[0]).update(plan);
        *hasher.finalize().as_bytes()
    }

    /// Whether a plan is what was signed, by an executable of this build.
    pub(crate) fn is_signed(&self, plan: &[u8], signature: &[u8; 32]) -> bool {
        // Compares in constant time.
        blake3::Hash::from_bytes(self.sign(plan)) == blake3::Hash::from_bytes(*signature)
    }
}
