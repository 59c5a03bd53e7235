"""Handshakes with the node server's TLS context: versions, suites, key exchange groups, client certificates."""

from __future__ import annotations

import datetime
import itertools
import ssl
import warnings
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from actors.cert_manager.messages import ServingCertificate
from actors.http_servers.tls import openssl
from actors.http_servers.tls.client_identity import BadClientCertificate, identity_on
from actors.http_servers.tls.context import ServerContext, server_context
from actors.shared.config.fields import tls as names
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

NOW = datetime.datetime.now(datetime.UTC)
HOUR = datetime.timedelta(hours=1)
VERSIONS = {"TLS10": "TLSv1", "TLS11": "TLSv1_1", "TLS12": "TLSv1_2", "TLS13": "TLSv1_3"}
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


class CertificateAuthority:
    """Certificates of one authority, each with its own key, in files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(folder)[-60:])])
        basic = x509.BasicConstraints(ca=True, path_length=None)
        self.ca = str(self._write("ca.crt", self._builder(self._name, self._key).add_extension(basic, critical=True)))

    def _builder(self, subject, key, begin=-HOUR, end=HOUR):
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW + begin)
            .not_valid_after(NOW + end)
        )

    def _write(self, name, builder) -> Path:
        path: Path = self._folder / name
        path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        return path

    def pair(self, name: str, *, usage=CLIENT, key=None, subject=None, **validity) -> tuple[str, str]:
        key = key or ec.generate_private_key(ec.SECP256R1())
        if subject is None:
            subject = [(NameOID.ORGANIZATION_NAME, "system:masters"), (NameOID.COMMON_NAME, name)]
        builder = self._builder(
            x509.Name([x509.NameAttribute(kind, value) for kind, value in subject]), key, **validity
        )
        if usage is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        key_file = self._folder / f"{name}.key"
        form = serialization.PrivateFormat.PKCS8
        key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        return str(self._write(f"{name}.crt", builder)), str(key_file)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("tls") / "cluster")


@pytest.fixture(scope="module")
def serving(cluster) -> dict[str, tuple[str, str]]:
    return {
        "ECDSA": cluster.pair("ecdsa", usage=SERVER),
        "RSA": cluster.pair("rsa", usage=SERVER, key=rsa.generate_private_key(65537, 2048)),
    }


def server(pair: tuple[str, str], ca: str = "", **config: Any) -> ServerContext:
    return server_context(ServingCertificate(*pair, ca, 1), KubeletConfiguration(**config))


def client(version: str = "", suite: str = "", group: str = "", pair: tuple[str, str] | None = None) -> ssl.SSLContext:
    """One that takes everything, but for what is said."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers(f"{suite or 'ALL'}:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        if version:
            context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, VERSIONS[version])
    if group:
        context.set_ecdh_curve(group)
    if pair:
        context.load_cert_chain(*pair)
    return context


def handshake(
    server_side: ssl.SSLContext, client_side: ssl.SSLContext, session: ssl.SSLSession | None = None
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Both ends after it, and after a byte of data each way. Raises ssl.SSLError."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = client_side.wrap_bio(to_client, to_server, session=session)
    other = server_side.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(6):
        for side in (one, other):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                pass
    one.write(b"?")
    assert other.read(1) == b"?"
    return one, other


def agrees(server_side: ssl.SSLContext, client_side: ssl.SSLContext) -> str:
    """The version that was agreed upon; empty: none."""
    try:
        return handshake(server_side, client_side)[0].version() or ""
    except ssl.SSLError:
        return ""


@pytest.mark.parametrize(("minimum", "offered"), list(itertools.product(["", *VERSIONS], VERSIONS)))
def test_versions_below_the_minimum_are_refused_and_the_others_served(serving, minimum, offered):
    order = list(VERSIONS)
    served = order.index(offered) >= order.index(minimum or "TLS12")
    ends = server(serving["ECDSA"], tlsMinVersion=f"Version{minimum}" if minimum else "")
    assert bool(agrees(ends, client(offered))) is served


@pytest.mark.parametrize("configured", [*names.SECURE_SUITES, "TLS_RSA_WITH_AES_128_GCM_SHA256"])
def test_with_suites_configured_these_are_served_and_no_others(serving, configured):
    wanted = names.SECURE_SUITES.get(configured) or names.INSECURE_SUITES[configured]
    kind = "ECDSA" if "ECDSA" in configured else "RSA"
    ends = server(serving[kind], tlsCipherSuites=[configured])
    for suite in {*names.SECURE_SUITES.values(), "AES128-GCM-SHA256", "AES256-SHA"}:
        try:
            agreed = handshake(ends, client("TLS12", suite))[0].cipher()
        except ssl.SSLError:
            agreed = None
        assert (agreed is not None) is (suite == wanted)


@pytest.mark.parametrize(
    ("suite", "served"),
    [
        ("ECDHE-ECDSA-AES128-GCM-SHA256", True),
        ("ECDHE-ECDSA-AES256-GCM-SHA384", True),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", True),
        ("ECDHE-ECDSA-AES128-SHA", False),
        ("ECDHE-ECDSA-AES128-SHA256", False),
    ],
)
def test_without_configuration_only_authenticated_encryption_is_served(serving, suite, served):
    assert bool(agrees(server(serving["ECDSA"]), client("TLS12", suite))) is served


def test_suites_are_for_versions_up_to_1_2_and_do_not_keep_1_3_away(serving):
    ends = server(serving["ECDSA"], tlsCipherSuites=["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"])
    assert agrees(ends, client("TLS13")) == "TLSv1.3"
    assert agrees(server(serving["ECDSA"], tlsCipherSuites=["TLS_AES_128_GCM_SHA256"]), client("TLS12")) == "TLSv1.2"


def test_a_suite_unknown_to_this_openssl_leaves_no_common_suite(serving):
    with pytest.raises(ssl.SSLError):
        server(serving["RSA"], tlsCipherSuites=["TLS_RSA_WITH_RC4_128_SHA"])


GROUPS = {23: "prime256v1", 24: "secp384r1", 25: "secp521r1", 29: "X25519"}


@pytest.mark.parametrize("configured", [[], [23], [29], [24, 25], [29, 23], [25, 29, 24, 23], [4588, 29]])
@pytest.mark.parametrize("version", ["TLS12", "TLS13"])
def test_key_exchange_is_done_in_the_configured_groups_only(serving, configured, version):
    ends = server(serving["RSA"], tlsCurvePreferences=configured)
    for number, group in GROUPS.items():
        assert bool(agrees(ends, client(version, group=group))) is (not configured or number in configured)


def test_groups_that_this_openssl_does_not_have_do_not_become_others(serving):
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ecdh_curve(names.CURVES[4588])
    except ValueError:
        with pytest.raises(ssl.SSLError, match="none of the key exchange groups X25519MLKEM768"):
            server(serving["ECDSA"], tlsCurvePreferences=[4588])
    else:
        assert not agrees(server(serving["ECDSA"], tlsCurvePreferences=[4588]), client(group="X25519"))


@pytest.mark.parametrize("version", ["TLS12", "TLS13"])
@pytest.mark.parametrize(
    ("kind", "user"),
    [
        ("good", "alice"),
        ("none", None),
        ("without usage", "alice"),
        ("without name", None),
        ("ended", "bad"),
        ("not yet", "bad"),
        ("foreign", "bad"),
        ("foreign and ended", "bad"),
        ("for servers", "bad"),
        ("for servers and ended", "bad"),
        ("self-signed", "bad"),
    ],
)
@pytest.mark.parametrize("late", [True, False])
def test_client_certificates_are_requested_and_bad_ones_authenticate_no_user(
    cluster: CertificateAuthority, serving, tmp_path, monkeypatch, version, kind, user, late
):
    """`late`: this Python lets us see the verdict; else a bad certificate ends the handshake."""

    def made() -> tuple[str, str] | None:
        match kind:
            case "none":
                return None
            case "without usage":
                return cluster.pair("alice", usage=None)
            case "without name":
                return cluster.pair("nobody", subject=[(NameOID.ORGANIZATION_NAME, "system:masters")])
            case "ended":
                return cluster.pair("alice", begin=-2 * HOUR, end=-HOUR)
            case "not yet":
                return cluster.pair("alice", begin=HOUR, end=2 * HOUR)
            case "foreign":
                return CertificateAuthority(tmp_path / "foreign").pair("alice")
            case "foreign and ended":
                return CertificateAuthority(tmp_path / "foreign").pair("alice", begin=-2 * HOUR, end=-HOUR)
            case "for servers":
                return cluster.pair("alice", usage=SERVER)
            case "for servers and ended":
                return cluster.pair("alice", usage=SERVER, begin=-2 * HOUR, end=-HOUR)
            case "self-signed":
                return _self_signed(tmp_path)
        return cluster.pair("alice")

    if not late:
        monkeypatch.setattr(openssl, "_library", lambda: None)
    ends = server(serving["ECDSA"], cluster.ca)
    assert ends.verification_is_deferred == late
    if user == "bad" and not late:
        assert not agrees(ends, client(version, pair=made()))
        return
    connection = handshake(ends, client(version, pair=made()))[1]
    if user == "bad":
        with pytest.raises(BadClientCertificate):
            identity_on(connection)
    else:
        assert identity_on(connection) == (user and (user, ("system:masters",)))


def test_an_unreadable_verification_result_is_a_failure(cluster, serving, monkeypatch):
    ends = server(serving["ECDSA"], cluster.ca)
    connection = handshake(ends, client(pair=cluster.pair("alice")))[1]
    assert identity_on(connection) == ("alice", ("system:masters",))
    another = server(serving["ECDSA"], cluster.ca)
    # as if the structure were another one: its context is not where it should be
    monkeypatch.setattr(type(connection), "context", another)
    with pytest.raises(BadClientCertificate):
        identity_on(connection)
    monkeypatch.undo()
    monkeypatch.setattr(openssl, "_library", lambda: None)
    with pytest.raises(BadClientCertificate):
        identity_on(connection)


@pytest.mark.parametrize("good", [True, False])
def test_a_session_that_is_taken_up_again_keeps_its_verdict(cluster, serving, tmp_path, good):
    ends = server(serving["ECDSA"], cluster.ca)
    pair = cluster.pair("alice") if good else CertificateAuthority(tmp_path / "foreign").pair("alice")
    caller = client("TLS12", pair=pair)
    session = handshake(ends, caller)[0].session
    again, connection = handshake(ends, caller, session)
    assert again.session_reused
    if good:
        assert identity_on(connection) == ("alice", ("system:masters",))
    else:
        with pytest.raises(BadClientCertificate):
            identity_on(connection)


def _self_signed(folder: Path) -> tuple[str, str]:
    own = CertificateAuthority(folder / "own")
    return own.pair("alice", key=own._key, subject=[(NameOID.COMMON_NAME, str(folder / "own")[-60:])])


def test_without_a_client_ca_no_certificate_counts(cluster, serving):
    ends = server(serving["ECDSA"])
    assert identity_on(handshake(ends, client(pair=cluster.pair("alice")))[1]) is None


def test_a_certificate_that_ends_while_its_connection_lasts_counts_no_longer(cluster, serving):
    ends = server(serving["ECDSA"], cluster.ca)
    connection = handshake(ends, client(pair=cluster.pair("alice")))[1]
    assert identity_on(connection, lambda: (NOW + HOUR).timestamp() - 5) == ("alice", ("system:masters",))
    with pytest.raises(BadClientCertificate):
        identity_on(connection, lambda: (NOW + HOUR).timestamp() + 5)


def test_a_pool_with_several_and_intermediate_authorities_is_accepted(cluster, serving, tmp_path):
    other = CertificateAuthority(tmp_path / "other")
    pool = tmp_path / "pool.crt"
    pool.write_bytes(Path(cluster.ca).read_bytes() + b"\n# a comment\n" + Path(other.ca).read_bytes())
    ends = server(serving["ECDSA"], str(pool))
    for maker in (cluster, other):
        connection = handshake(ends, client(pair=maker.pair("bob")))[1]
        assert identity_on(connection) == ("bob", ("system:masters",))


def test_a_session_of_a_context_before_is_not_resumed_by_the_one_after(cluster, serving, tmp_path):
    """Who was let in by an authority that is no longer in the pool is asked again."""
    one = client("TLS12", pair=cluster.pair("alice"))
    session = handshake(server(serving["ECDSA"], cluster.ca), one)[0].session
    other = CertificateAuthority(tmp_path / "other")
    again, connection = handshake(server(serving["ECDSA"], other.ca), one, session)
    assert not again.session_reused
    with pytest.raises(BadClientCertificate):
        identity_on(connection)


@pytest.mark.parametrize(
    ("pools", "trusted"),
    [
        (["a"], True),
        (["a", "a"], True),
        (["a", "ab"], True),
        (["a", "ab", "a"], True),
        (["a", "b"], False),
        (["ab", "b"], False),
        (["a", "", "a"], False),
        (["a", "b", "a"], False),
    ],
)
def test_a_connection_counts_as_long_as_no_authority_of_its_time_was_taken_out(serving, tmp_path, pools, trusted):
    authorities = {letter: CertificateAuthority(tmp_path / letter) for letter in "ab"}
    contexts = []
    for number, letters in enumerate(pools):
        pool = tmp_path / f"{number}.crt"
        pool.write_bytes(b"".join(Path(authorities[letter].ca).read_bytes() for letter in letters))
        contexts.append(server(serving["ECDSA"], str(pool) if letters else ""))
    for before, after in itertools.pairwise(contexts):
        before.replaced_by(after)
    assert contexts[0].still_trusts() is trusted
    assert contexts[-1].still_trusts()


@pytest.mark.parametrize("broken", ["cert", "key", "ca", "encrypted"])
def test_files_that_do_not_fit_are_an_error_of_the_files(cluster, serving, tmp_path, broken):
    cert, key = serving["ECDSA"]
    ca, bad = cluster.ca, tmp_path / "bad.pem"
    bad.write_text("no")
    if broken == "encrypted":
        loaded = serialization.load_pem_private_key(Path(key).read_bytes(), None)
        best = serialization.BestAvailableEncryption(b"x")
        bad.write_bytes(loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, best))
    cert, key, ca = {"cert": (str(bad), key, ca), "ca": (cert, key, str(bad))}.get(broken, (cert, str(bad), ca))
    with pytest.raises(OSError):  # ssl.SSLError is one
        server_context(ServingCertificate(cert, key, ca, 1), KubeletConfiguration())


def test_the_context_offers_http_1_1_only(serving):
    one = client()
    one.set_alpn_protocols(["h2", "http/1.1"])
    assert handshake(server(serving["ECDSA"]), one)[0].selected_alpn_protocol() == "http/1.1"


@pytest.mark.parametrize("suite", [*names.SECURE_SUITES.values()])
def test_every_secure_suite_is_known_to_openssl_by_the_name_we_have(suite):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(suite)
    assert suite in [one["name"] for one in context.get_ciphers()]


def test_the_calls_of_openssl_can_be_switched_off(cluster, serving, monkeypatch):
    monkeypatch.setenv(openssl.SWITCH, "0")
    monkeypatch.setattr(openssl, "_library", openssl._library.__wrapped__)
    assert not server(serving["ECDSA"], cluster.ca).verification_is_deferred
    with pytest.raises(ssl.SSLError, match="one key exchange group only"):
        openssl.set_groups(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ["X25519", "prime256v1"])
