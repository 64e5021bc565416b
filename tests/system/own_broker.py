"""A Kafka of a test's own, to be stopped, killed and started again; and what else tests do to a
Kafka: delete records, move offsets."""

import json
import os
import signal
import socket
import struct
import subprocess
import tempfile

import fisd_test
from fisd_process import ROOT, same

_SCRIPT = os.path.join(ROOT, "tests/system/kafka.sh")


class Broker:
    """Starts it, and makes it the one that fisd_test speaks to."""

    def __init__(self, *properties, directory=None):
        self.dir = directory or os.path.join(os.environ["FISD_TEST_DIR"], f"kafka-{os.getpid()}")
        self.properties, self.pid, self.environment = properties, None, None
        self.start()
        fisd_test.KAFKA = self.address

    def start(self):
        """On the same port and data as before; returns when it answers."""
        r = subprocess.run([_SCRIPT, "start", self.dir, *self.properties],
                           stdout=subprocess.PIPE, text=True, timeout=180, env=self.environment)
        same(r.returncode, 0, "kafka.sh start")
        self.address = r.stdout.strip()
        with open(os.path.join(self.dir, "pid")) as f:
            self.pid = int(f.read())

    def signal(self, number):
        os.kill(self.pid, number)

    def stop(self):
        subprocess.run([_SCRIPT, "stop", self.dir], check=False)
        self.pid = None

    def kill(self):
        self.signal(signal.SIGKILL)
        self.stop()


    def lose_tail(self, topic, least):
        """Killed, with `least` bytes or more (whole batches) of the topic's first partition unflushed."""
        self.kill()
        folder = os.path.join(self.dir, "data", topic + "-0")
        name = os.path.join(folder, max(n for n in os.listdir(folder) if n.endswith(".log")))
        with open(name, "r+b") as f:
            log, batches, at = f.read(), [], 0
            while at + 12 <= len(log) and struct.unpack(">i", log[at + 8:at + 12])[0] > 0:
                batches.append(at)
                at += 12 + struct.unpack(">i", log[at + 8:at + 12])[0]
            f.truncate(max(b for b in batches if b <= at - least))
        self.start()


def _text(t):
    return struct.pack(">h", len(t)) + t.encode()


def _ask(body, address=None):
    """A request's answer, without its length and correlation id."""
    host, port = (address or fisd_test.KAFKA).split(":")
    with socket.create_connection((host, int(port)), 120) as s:
        s.sendall(struct.pack(">i", len(body)) + body)
        answer = b""
        while len(answer) < 4 or len(answer) < 4 + struct.unpack(">i", answer[:4])[0]:
            got = s.recv(65536)
            assert got, "the broker has hung up"
            answer += got
    return answer[8:]


def join_group(group, member, strategy, session_ms):
    """JoinGroup, version 2: (member id, generation). Who joins so and says no more is a member that
    all others wait for, until its session ends."""
    answer = _ask(struct.pack(">hhi", 11, 2, 7) + _text("test") + _text(group)
                  + struct.pack(">ii", session_ms, session_ms) + _text(member) + _text("consumer")
                  + struct.pack(">i", 1) + _text(strategy) + struct.pack(">i", 0))
    _, error, generation = struct.unpack(">ihi", answer[:10])
    assert error == 0, f"JoinGroup: error {error}"
    at, texts = 10, []
    for _ in range(3):  # strategy, leader, member
        length = struct.unpack(">h", answer[at:at + 2])[0]
        texts.append(answer[at + 2:at + 2 + length].decode())
        at += 2 + length
    return texts[2], generation


def committed(group, topic, partitions):
    """partition -> the group's committed offset, -1 where there is none: OffsetFetch, version 1."""
    body = (struct.pack(">hhi", 9, 1, 7) + _text("test") + _text(group) + struct.pack(">i", 1)
            + _text(topic) + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions))
    for address in fisd_test.KAFKA.split(","):
        answer = _ask(body, address)
        if answer[4 + 2 + len(topic) + 4 + 14:][:2] != struct.pack(">h", 16):  # NOT_COORDINATOR
            break
    at, found = 4 + 2 + len(topic) + 4, {}
    for _ in partitions:
        partition, offset, metadata = struct.unpack(">iqh", answer[at:at + 14])
        at += 14 + max(metadata, 0)
        found[partition], error = offset, struct.unpack(">h", answer[at:at + 2])[0]
        assert error == 0, f"OffsetFetch: error {error} for {topic}/{partition}"
        at += 2
    return found


def _crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def hang(transactional_id, topic, key):
    """Leaves a tombstone in partition 0 in a transaction that its coordinator knows nothing of, as
    a broker does that was killed before it had written the end of one: InitProducerId, version 1,
    and Produce, version 3. transaction.partition.verification.enable must be false."""
    answer = _ask(struct.pack(">hhi", 22, 1, 7) + _text("test") + _text(transactional_id)
                  + struct.pack(">i", 60000))
    _, error, producer, epoch = struct.unpack(">ihqh", answer[:16])
    assert error == 0, f"InitProducerId: error {error}"
    record = b"\0\0\0" + bytes([2 * len(key)]) + key + b"\1\0"
    batch = (struct.pack(">hiqqqhii", 0x10, 0, 0, 0, producer, epoch, 0, 1)
             + bytes([2 * len(record)]) + record)
    batch = struct.pack(">ibI", -1, 2, _crc32c(batch)) + batch
    batch = struct.pack(">qi", 0, len(batch)) + batch
    answer = _ask(struct.pack(">hhi", 0, 3, 7) + _text("test") + _text(transactional_id)
                  + struct.pack(">hii", -1, 30000, 1) + _text(topic)
                  + struct.pack(">iii", 1, 0, len(batch)) + batch)
    error = struct.unpack(">h", answer[4 + 2 + len(topic) + 8:][:2])[0]
    assert error == 0, f"Produce: error {error}"


def tool(name, *arguments, file=None):
    """One of Kafka's own tools, by its class. file: content of a file whose name is put in place of
    the argument FILE."""
    libs = os.path.join(os.environ.get("FISD_KAFKA_CACHE", os.path.join(ROOT, "build/cache/kafka")),
                        "libs")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        f.write(file or "")
        f.flush()
        command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", libs + "/*",
                   f"org.apache.kafka.tools.{name}", "--bootstrap-server", fisd_test.KAFKA,
                   *[f.name if a == "FILE" else a for a in arguments]]
        r = subprocess.run(command, capture_output=True, text=True, timeout=270)
    assert r.returncode == 0, f"{name}: {r.stdout} {r.stderr}"
    return r.stdout


def set_topics(setting, value, *topics):
    """A topic's setting, of several at once: IncrementalAlterConfigs, version 0."""
    each = b"".join(struct.pack(">b", 2) + _text(t) + struct.pack(">i", 1) + _text(setting)
                    + b"\0" + _text(value) for t in topics)
    answer = _ask(struct.pack(">hhi", 44, 0, 7) + _text("test") + struct.pack(">i", len(topics))
                  + each + b"\0")
    at = 8
    for t in topics:
        error, length = struct.unpack(">hh", answer[at:at + 4])
        assert error == 0, f"IncrementalAlterConfigs: error {error} for {t}"
        at += 4 + max(length, 0) + 1 + 2 + len(t)


def add_partitions(topic, partitions):
    """So many from now on: CreatePartitions, version 0."""
    answer = _ask(struct.pack(">hhi", 37, 0, 7) + _text("test") + struct.pack(">i", 1)
                  + _text(topic) + struct.pack(">ii", partitions, -1) + struct.pack(">ib", 30000, 0))
    error = struct.unpack(">h", answer[8 + 2 + len(topic):][:2])[0]
    assert error == 0, f"CreatePartitions: error {error} for {topic}"


def delete_records(topic, partition, before):
    """As retention does: everything before that offset is gone."""
    tool("DeleteRecordsCommand", "--offset-json-file", "FILE", file=json.dumps(
        {"version": 1, "partitions": [{"topic": topic, "partition": partition, "offset": before}]}))


def delete_topic(topic):
    tool("TopicCommand", "--delete", "--topic", topic)


def create_topic(topic, partitions=1, max_message_bytes=None):
    limit = ["--config", f"max.message.bytes={max_message_bytes}"] if max_message_bytes else []
    tool("TopicCommand", "--create", "--topic", topic, "--partitions", str(partitions), *limit)
