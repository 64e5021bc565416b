"""A Kafka of a test's own that speaks TLS only, knows its users by SCRAM, and lets each do what an
ACL allows. The certificate authority is made for it and is nobody else's.

SCRAM of librdkafka before 2.6.1 (Debian 12 has 2.0.2) sends its nonce twice; Kafka 3.8.1 to 3.9
accept that and Kafka 4 does not. So this broker is a 3.9, unless the test asks for another.
"""

import os
import subprocess

import fisd_test
from certificate import authority, openssl
from fisd_process import ROOT, same

_SCRIPT = os.path.join(ROOT, "tests/system/kafka.sh")
_LIBS = os.path.join(os.environ.get("FISD_KAFKA_CACHE", os.path.join(ROOT, "build/cache/kafka")),
                     "libs/*")
VERSION = "3.9.1"
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
PASSWORD = "S3CRET-WORD-{}"  # of a user; found nowhere but in files that are for it


def _write(directory, name, text, mode=0o600):
    path = os.path.join(directory, name)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as f:
        f.write(text)
    return path


class SecureBroker:
    """users: names, besides admin. Starts it; fisd_test's own consumers and producers are admin.
    version: None: the newest."""

    def __init__(self, users, version=VERSION):
        self.version = version
        self.dir = os.path.join(os.environ["FISD_TEST_DIR"],
                                f"kafka-secure-{version or 'newest'}-{os.getpid()}")
        os.makedirs(self.dir, exist_ok=True)
        authority(self.dir, "ca")
        authority(self.dir, "other-ca")
        _write(self.dir, "san", "subjectAltName=IP:127.0.0.1\n")
        openssl(self.dir, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=broker",
                "-keyout", "broker.key", "-out", "broker.csr")
        openssl(self.dir, "x509", "-req", "-in", "broker.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-days", "2", "-extfile", "san", "-out", "broker.crt")
        with open(self.path("broker.key")) as key, open(self.path("broker.crt")) as crt:
            _write(self.dir, "broker.pem", key.read() + crt.read())
        for user in ("admin", *users):  # as an editor leaves them, with a line's end
            _write(self.dir, user + ".password", PASSWORD.format(user) + "\n")
        _write(self.dir, "admin.properties", "\n".join([
            "default.api.timeout.ms=180000", "request.timeout.ms=120000",
            "security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512",
            "ssl.truststore.type=PEM", "ssl.truststore.location=" + self.path("ca.pem"),
            "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "
            f'username="admin" password="{PASSWORD.format("admin")}";']) + "\n")
        self.start(("admin", *users))

    def path(self, name):
        return os.path.join(self.dir, name)

    def start(self, users):
        jaas = ("org.apache.kafka.common.security.scram.ScramLoginModule required "
                f'username="admin" password="{PASSWORD.format("admin")}";')
        properties = [
            "listeners=SASL_SSL://127.0.0.1:PORT,CONTROLLER://127.0.0.1:CONTROLLER_PORT",
            "advertised.listeners=SASL_SSL://127.0.0.1:PORT",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
            "inter.broker.listener.name=SASL_SSL",
            "sasl.enabled.mechanisms=" + ",".join(MECHANISMS),
            "sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512",
            *(f"listener.name.sasl_ssl.{m.lower()}.sasl.jaas.config={jaas}" for m in MECHANISMS),
            "ssl.keystore.type=PEM", "ssl.keystore.location=" + self.path("broker.pem"),
            "ssl.truststore.type=PEM", "ssl.truststore.location=" + self.path("ca.pem"),
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found=false",
            "super.users=User:admin;User:ANONYMOUS",  # the latter: its own controller
        ]
        scram = " ".join(f"--add-scram {m}=[name={u},password={PASSWORD.format(u)}]"
                         for u in users for m in MECHANISMS)
        env = {k: v for k, v in os.environ.items() if k != "KAFKA_VERSION"}
        r = subprocess.run([_SCRIPT, "start", self.dir, *properties], stdout=subprocess.PIPE,
                           text=True, timeout=180,
                           env={**env, "KAFKA_FORMAT": scram,
                                **({"KAFKA_VERSION": self.version} if self.version else {})})
        same(r.returncode, 0, "kafka.sh start")
        self.address = fisd_test.KAFKA = r.stdout.strip()
        lines = "".join(f"{k}={v}\n" for k, v in self.client("admin", password=True).items())
        os.environ["KCAT_CONFIG"] = _write(self.dir, "kcat.conf", lines)

    def stop(self):
        subprocess.run([_SCRIPT, "stop", self.dir], check=False)

    def client(self, user, password=False, ca="ca", mechanism="SCRAM-SHA-512"):
        """librdkafka's properties of a user; the password in its file, or (password) as it is, for kcat too."""
        word = PASSWORD.format(user) if password else "file:" + self.path(user + ".password")
        before = "" if password else "file:"  # which fisd and fisctl allow before any path
        return {"bootstrap.servers": self.address, "security.protocol": "SASL_SSL",
                "ssl.ca.location": before + self.path(ca + ".pem"), "sasl.mechanism": mechanism,
                "sasl.username": user, "sasl.password": word}

    def allow(self, user, operations, topics=(), groups=(), transactional=()):
        """Literal names of topics; groups and transactional ids by their prefix."""
        command = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                   "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", _LIBS,
                   "org.apache.kafka.tools.AclCommand", "--bootstrap-server", self.address,
                   "--command-config", self.path("admin.properties"), "--add", "--force",
                   "--allow-principal", f"User:{user}"]
        for o in operations:
            command += ["--operation", o]
        if groups or transactional:
            command += ["--resource-pattern-type", "prefixed"]
        for kind, names in (("--topic", topics), ("--group", groups),
                            ("--transactional-id", transactional)):
            for name in names:
                command += [kind, name]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True)
