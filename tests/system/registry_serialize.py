"""Run by the Python that has confluent-kafka (make deps-test): rows as Confluent's own serializers
write them, so that fisd is held to these.

    registry_serialize.py URL TOPIC FILE < ROWS             FILE: [schema of Avro, reference …]
    registry_serialize.py URL TOPIC FILE.proto MESSAGE < ROWS

Each row is a line of JSON; the framed values come out in base64, a line each.
"""

import base64
import datetime
import decimal
import json
import os
import subprocess
import sys
import tempfile

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.serialization import MessageField, SerializationContext


def logical(o):
    """{"$decimal": "1.20"} and {"$date": "2024-05-01"} are values that JSON does not have."""
    if "$decimal" in o:
        return decimal.Decimal(o["$decimal"])
    if "$date" in o:
        return datetime.date.fromisoformat(o["$date"])
    return bytes(o["$bytes"]) if "$bytes" in o else o


def avro(client, path):
    from confluent_kafka.schema_registry.avro import AvroSerializer
    with open(path) as f:
        schema, *references = json.load(f)  # with [name, subject, version] of each reference
    return AvroSerializer(client, Schema(json.dumps(schema), "AVRO",
                                         [SchemaReference(*r) for r in references]))


def protobuf(client, path, message):
    from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
    from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "set")
        subprocess.run(["protoc", f"--proto_path={os.path.dirname(path)}", "--include_imports",
                        f"--descriptor_set_out={out}", path], check=True)
        with open(out, "rb") as f:
            files = descriptor_pb2.FileDescriptorSet.FromString(f.read())
    pool = descriptor_pool.DescriptorPool()
    for one in files.file:
        pool.Add(one)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(message))
    serialize = ProtobufSerializer(kind, client, {"use.deprecated.format": False})
    return lambda row, context: serialize(json_format.ParseDict(row, kind()), context)


def main():
    url, topic, path = sys.argv[1:4]
    client = SchemaRegistryClient({"url": url})
    serialize = protobuf(client, path, sys.argv[4]) if len(sys.argv) > 4 else avro(client, path)
    context = SerializationContext(topic, MessageField.VALUE)
    for line in sys.stdin:
        row = json.loads(line, object_hook=logical)
        print(base64.b64encode(serialize(row, context)).decode())


main()
