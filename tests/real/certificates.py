"""Certificates for tests: an authority, and whom it signs."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Authority:
    """Writes NAME.pem and NAME.key to a directory; its own certificate is ca.pem."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named("test authority")
        self._write("ca", self._name, self._key, is_authority=True)

    def sign(self, name: str) -> None:
        self._write(name, _named(name), ec.generate_private_key(ec.SECP256R1()))

    def _write(
        self,
        file: str,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        is_authority: bool = False,
    ) -> None:
        now = datetime.now(UTC)
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=is_authority,
            crl_sign=is_authority,
            encipher_only=False,
            decipher_only=False,
        )
        own, its = self._key.public_key(), key.public_key()
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(own)
        here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        signed = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(its)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(its), critical=False)
            .add_extension(issuer, critical=False)
            .add_extension(here, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        (self._directory / f"{file}.pem").write_bytes(signed.public_bytes(Encoding.PEM))
        secret = self._directory / f"{file}.key"
        secret.touch(0o600)
        secret.write_bytes(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
