"""Both faces over TLS, where a socket may hold bytes that no poll shows."""

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import antiphon
from antiphon import Message, Unreachable, blocking
from tests.unit.client.fake import PATIENCE_S, FakeDaemon

COUNT = 300


@pytest.fixture
def server(tmp_path: Path) -> ssl.SSLContext:
    """Its certificate is beside it, in `ca.pem`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "daemon")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (tmp_path / "ca.pem").write_bytes(certificate.public_bytes(pem))
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "key.pem").write_bytes(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "ca.pem", tmp_path / "key.pem")
    return context


def test_asyncio_over_tls(server: ssl.SSLContext, tmp_path: Path) -> None:
    async def main() -> None:
        tls = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        async with (
            asyncio.timeout(PATIENCE_S),
            await antiphon.connect(fake.address, tls=tls) as session,
        ):
            await session.join("g")
            for number in range(COUNT):
                await session.multicast("g", b"%d" % number + bytes(1000))
            got = 0
            while got < COUNT:
                event = await session.receive()
                if isinstance(event, Message):
                    assert event.payload.startswith(b"%d\0" % got)
                    got += 1

    with FakeDaemon(tls=server) as fake:
        asyncio.run(main())


def test_blocking_over_tls(server: ssl.SSLContext, tmp_path: Path) -> None:
    tls = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    with FakeDaemon(tls=server) as fake, blocking.connect(fake.address, tls=tls) as session:
        session.join("g")
        for number in range(COUNT):
            session.multicast("g", b"%d" % number + bytes(1000))
        got = 0
        while got < COUNT:
            event = session.receive(PATIENCE_S)
            assert event is not None
            if isinstance(event, Message):
                assert event.payload.startswith(b"%d\0" % got)
                got += 1


def test_a_daemon_with_a_certificate_we_do_not_trust_is_not_spoken_to(
    server: ssl.SSLContext,
) -> None:
    with FakeDaemon(tls=server) as fake:
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            blocking.connect(fake.address, tls=ssl.create_default_context())
