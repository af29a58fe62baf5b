"""TLS: with a certificate and its key in the settings the API is served over TLS only."""
import http.client
import re
import shutil
import socket
import ssl
import subprocess
import time

import _drill
import pytest
import tollgate


class TlsServer(tollgate.Server):
    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [tollgate.BINARY, "serve", "--config", str(self.config), "--data", str(self.data), "--listen",
                 "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--policy", self.policy, *self.arguments],
                stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        match = re.search(r"listening on https://127\.0\.0\.1:(\d+) \(admin https://127\.0\.0\.1:(\d+)\)", line)
        assert match, f"no TLS address printed: {line!r}\n{self.log.read_text()[-2000:]}"
        self.port, self.admin_port = int(match.group(1)), int(match.group(2))
        return self

    def client(self, key=None):
        return self._secure(super().client(key))

    def admin(self, key=None):
        return self._secure(super().admin(key))

    def _secure(self, client):
        client.connection = http.client.HTTPSConnection("127.0.0.1", client.port, timeout=tollgate.PATIENCE,
                                                        context=self.context)
        return client


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("the openssl command makes the certificate and is not installed")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run([openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "2", "-subj", "/CN=drill",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return folder


@pytest.fixture
def tls_server(certificate, tmp_path):
    server = TlsServer(tmp_path, files=_drill.pack(), arguments=["--enable-faults"], config=(
        f'[server]\ntls_cert = "{certificate / "cert.pem"}"\ntls_key = "{certificate / "key.pem"}"\n'
        "header_timeout_ms = 1500\n"))
    server.context = ssl.create_default_context(cafile=certificate / "cert.pem")
    yield server.start()
    assert server.stop() == 0


def test_assessments_are_answered_over_tls_and_survive_a_kill(tls_server):
    client = tls_server.client()
    answers = [client.assess(tollgate.event()) for _ in range(20)]
    assert all(answer.status == 200 and answer.json["decision"] == "approve" for answer in answers)
    assert client.connection.sock.version() in ("TLSv1.2", "TLSv1.3")
    assert tls_server.admin().get("/admin/policy").status == 200
    tls_server.kill()
    tls_server.start()
    for answer in answers:
        if answer.json["persisted"] == "os":
            assert _drill.stored_body(tls_server.client(), answer.json["id"]) == answer.body


def test_plain_text_old_tls_and_broken_handshakes_get_nothing_and_hold_up_nobody(tls_server):
    client = tls_server.client()
    assert client.assess(tollgate.event()).status == 200
    plain = tollgate.raw(tls_server.port, tollgate.http_bytes(tls_server.key, tollgate.json.dumps(tollgate.event())))
    assert b"HTTP/1.1 200" not in plain, plain
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", tls_server.port), timeout=5) as sock:
        with pytest.raises((ssl.SSLError, OSError)):
            old.wrap_socket(sock)
    silent = [socket.create_connection(("127.0.0.1", tls_server.port), timeout=5) for _ in range(100)]
    begin = time.monotonic()
    for number, sock in enumerate(silent):
        if number % 2:
            sock.sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a handshake
    try:
        for _ in range(20):
            began = time.monotonic()
            assert client.assess(tollgate.event()).status == 200
            assert time.monotonic() - began < 0.5
        for sock in silent:  # cut at the header time limit
            sock.settimeout(10)
            try:
                assert sock.recv(100) is not None
            except ConnectionResetError:
                pass
        assert time.monotonic() - begin < 8
    finally:
        for sock in silent:
            sock.close()
    tls_server.alive()


def test_a_wrong_key_or_certificate_is_refused_at_start(certificate, tmp_path):
    (tmp_path / "junk.pem").write_text("junk")
    for cert, key in (("cert.pem", tmp_path / "junk.pem"), ("absent.pem", certificate / "key.pem"),
                      (tmp_path / "junk.pem", certificate / "key.pem")):
        config = tmp_path / "tollgate.toml"
        config.write_text(f'[server]\ntls_cert = "{certificate / cert}"\ntls_key = "{key}"\n')
        done = tollgate.run("serve", "--config", str(config), "--data", str(tmp_path / "data"), "--listen",
                            "127.0.0.1:0", check=False)
        assert done.returncode in (1, 2) and "pem" in done.stderr and "listening" not in done.stdout, done
