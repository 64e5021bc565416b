"""Some Kafka nodes, each a broker and a controller, and what is where on them."""

import base64
import json
import os
import random
import socket
import subprocess
import threading
import uuid

import fisd_test
from fisd_process import same, wait
from own_broker import Broker

# The checker needs the whole history of the compacted topics.
PLAIN = ("log.cleaner.enable=false",)
REPLICATED = ("default.replication.factor=3", "min.insync.replicas=2",
              "offsets.topic.replication.factor=3", "transaction.state.log.replication.factor=3",
              "transaction.state.log.min.isr=2", "replica.lag.time.max.ms=10000")
JVM = "-XX:TieredStopAtLevel=1 -Xms128m -Xmx384m -XX:+UseSerialGC"


class Node(Broker):
    def __init__(self, directory, properties, environment):
        self.dir, self.properties, self.pid = directory, properties, None
        self.environment = environment

    def start(self):
        """On a busy machine a node may not answer within the time that it is given."""
        for last in (False, False, True):
            try:
                return super().start()
            except AssertionError:
                if last:
                    raise


def free_ports(n):
    """The kernel hands out different ones while the sockets are open."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Brokers:
    def __init__(self, n, directory):
        if n == 1:
            self.nodes = [Broker(*PLAIN, directory=os.path.join(directory, "kafka"))]
            return
        ports, controllers = free_ports(n), free_ports(n)
        voters = ",".join(f"{i}@127.0.0.1:{p}" for i, p in enumerate(controllers, 1))
        cluster = base64.b64encode(uuid.uuid4().bytes, b"xy").decode().rstrip("=")  # no option
        environment = {**os.environ, "KAFKA_CLUSTER_ID": cluster, "KAFKA_JVM": JVM}
        self.nodes = []
        for i in range(n):
            home = os.path.join(directory, f"kafka-{i + 1}")
            os.makedirs(home)
            with open(os.path.join(home, "ports"), "w") as f:
                print(ports[i], controllers[i], file=f)
            self.nodes.append(Node(home, (*PLAIN, *REPLICATED, f"node.id={i + 1}",
                                          f"controller.quorum.voters={voters}"), environment))
        fisd_test.KAFKA = ",".join(f"127.0.0.1:{p}" for p in ports)
        self.start(self.nodes)

    def start(self, nodes):
        """At once: one alone has no majority of controllers, and does not answer."""
        threads = [threading.Thread(target=node.start) for node in nodes]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        same([n.dir for n in nodes if not n.pid], [], "nodes that did not start")
        if len(self.nodes) > 1:
            wait(self.in_sync, "every replica is in sync", 120)

    def topics(self):
        r = subprocess.run(["kcat", "-b", fisd_test.KAFKA, "-L", "-J"], capture_output=True,
                           timeout=180)
        return json.loads(r.stdout)["topics"] if r.returncode == 0 else None

    def in_sync(self):
        topics = self.topics()
        return topics is not None and all(
            len(p["isrs"]) == len(p["replicas"]) for t in topics for p in t["partitions"])

    def leader_of(self, topic, r: random.Random):
        """The node that leads a partition of a topic; any where that is not known."""
        ids = [p["leader"] for t in self.topics() or () if t["topic"] == topic
               for p in t["partitions"] if p["leader"] > 0]
        return self.nodes[(r.choice(ids) if ids else r.randint(1, len(self.nodes))) - 1]

    def stop(self):
        for node in self.nodes:
            if node.pid:
                node.stop()
