//! Certificates of servers, and authorities that issue them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// A certificate authority that is trusted only where a test says so.
pub struct TestAuthority(CertifiedIssuer<'static, KeyPair>);

/// The files of a certificate and its private key.
#[derive(Clone, Debug)]
pub struct TestCertificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl TestAuthority {
    pub fn new() -> anyhow::Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    /// Writes the certificate of the authority.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        Ok(fs::write(path, self.0.pem())?)
    }

    /// Writes the authority's own certificate and key, as if they were those of a server.
    pub fn write_as_server(&self, directory: &Path) -> anyhow::Result<TestCertificate> {
        let files = TestCertificate { certificate: directory.join("cert.pem"), key: directory.join("key.pem") };
        self.write(&files.certificate)?;
        fs::write(&files.key, self.0.key().serialize_pem())?;
        Ok(files)
    }

    /// Writes a certificate for hosts and its key, as `cert.pem` and `key.pem` in a directory.
    pub fn issue(&self, hosts: &[&str], directory: &Path) -> anyhow::Result<TestCertificate> {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(hosts)?.signed_by(&key, &self.0)?;
        let files = TestCertificate { certificate: directory.join("cert.pem"), key: directory.join("key.pem") };
        fs::write(&files.certificate, certificate.pem())?;
        fs::write(&files.key, key.serialize_pem())?;
        Ok(files)
    }
}
