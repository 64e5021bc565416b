"""Certificates of a test's own, made by openssl."""

import os
import ssl
import subprocess

from fisd_process import same


def openssl(directory, *arguments):
    r = subprocess.run(["openssl", *arguments], cwd=directory, capture_output=True, text=True)
    same(r.returncode, 0, f"openssl {' '.join(arguments)}: {r.stderr}")


def authority(directory, name):
    """A certificate authority: NAME.pem, NAME.key."""
    openssl(directory, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-subj", f"/CN=fisd test {name}", "-keyout", f"{name}.key", "-out", f"{name}.pem",
            "-addext", "keyUsage=critical,keyCertSign", "-addext", "basicConstraints=critical,CA:TRUE")


def self_signed(directory, name, host="DNS:localhost"):
    """NAME.crt and NAME.key of a host; a server's context with them."""
    openssl(directory, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-days", "2", "-subj", "/CN=" + host.partition(":")[2],
            "-addext", "subjectAltName=" + host, "-keyout", name + ".key", "-out", name + ".crt")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    path = os.path.join(directory, name)
    context.load_cert_chain(path + ".crt", path + ".key")
    return context
