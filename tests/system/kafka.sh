#!/bin/bash
# A real Apache Kafka for tests: one KRaft node on 127.0.0.1, fetched once by Maven.
#
#   kafka.sh start DIR [property=value …]   prints host:port; the pid is in DIR/pid
#   kafka.sh stop DIR                       ends the node (DIR stays, for a look at DIR/log)
#   kafka.sh fetch                          only fills the cache
#
# A second start on the same DIR keeps its data and its port.
# KAFKA_VERSION: another version than the newest, fetched beside it.
# KAFKA_FORMAT: arguments of the storage tool at the first start (--add-scram …). A listener with
# TLS (listeners=SASL_SSL://127.0.0.1:PORT, where PORT stands for the port) is waited for by TLS.
# KAFKA_CLUSTER_ID: of several nodes; DIR/ports ("PORT CONTROLLER_PORT") is written before then.
# KAFKA_JVM: other options of its virtual machine.
# Needs: java 17, maven (only for the first fetch).
set -u -o pipefail

here=$(cd "$(dirname "$0")/../.." && pwd)
cache=${FISD_KAFKA_CACHE:-$here/build/cache/kafka}
newest=4.4.0
version=${KAFKA_VERSION:-$newest}
stamp=$cache/fetched-$version
libs=$cache/libs
[ "$version" = "$newest" ] || libs=$cache/libs-$version

die() {
    echo "kafka.sh: $*" >&2
    exit 1
}

fetch() {
    [ -e "$stamp" ] && return
    command -v java >/dev/null || die "java is missing (apt-get install default-jre-headless)"
    command -v mvn >/dev/null || die "mvn is missing (apt-get install maven)"
    mkdir -p "$cache" || die "cannot make $cache"
    (
        flock 9
        [ -e "$stamp" ] && exit 0
        cat >"$cache/pom.xml" <<XML
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>fisd.test</groupId>
  <artifactId>broker</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
      <version>$version</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId>
      <version>$version</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
XML
        mvn -q -B -f "$cache/pom.xml" dependency:copy-dependencies \
            -DoutputDirectory="$libs" >"$cache/maven.log" 2>&1 ||
            die "Maven could not fetch Kafka $version; see $cache/maven.log"
        touch "$stamp"
    ) 9>"$cache/lock" || exit 1
}

# Two free ports; the kernel hands out different ones while both sockets are open.
free_ports() {
    python3 - <<'PY' || die "python3 is needed to find a free port"
import socket
s = [socket.socket() for _ in range(2)]
for x in s:
    x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])
PY
}

# The first compiler only: the second takes more time than it gains while a test's broker lives.
jvm=${KAFKA_JVM:--XX:TieredStopAtLevel=1 -Xms256m -Xmx512m -XX:+UseSerialGC}

java_kafka() { # class, arguments …
    java $jvm -Dlog4j2.level=WARN -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$libs/*" "$@"
}

# The cleaner's buffer is 128 MB where it is not configured: half of that heap, and never used.
write_properties() { # dir, ports, extra properties …
    local dir=$1 port=$2 controller=$3
    shift 3
    cat >"$dir/server.properties" <<CONF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=$dir/data
num.partitions=1
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=8388608
CONF
    local p
    for p in "$@"; do
        p=${p//:PORT/:$port}
        p=${p//:CONTROLLER_PORT/:$controller}
        case $p in
        *=*) echo "$p" >>"$dir/server.properties" ;;
        *) die "\"$p\" is not property=value" ;;
        esac
    done
}

# The broker answers when it registered itself: a protocol answer, not just an open port.
accepts() { # port, "tls" or nothing
    python3 - "$1" "${2-}" <<'PY' 2>/dev/null
import socket, ssl, struct, sys
# ApiVersions v0: key 18, version 0, correlation 7, client id "t"
body = struct.pack(">hhih", 18, 0, 7, 1) + b"t"
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)
s.settimeout(2)
if sys.argv[2]:  # that it is there is all that is asked here
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
    s = c.wrap_socket(s)
s.sendall(struct.pack(">i", len(body)) + body)
head = s.recv(8)
sys.exit(0 if len(head) == 8 and struct.unpack(">i", head[4:])[0] == 7 else 1)
PY
}

# Running, and not a zombie that nobody has collected yet.
alive() { # pid
    local state
    state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) && [ -n "$state" ] && [ "$state" != Z ]
}

start() {
    local dir=$1 port controller pid
    shift
    mkdir -p "$dir" || die "cannot make $dir"
    dir=$(cd "$dir" && pwd)
    if [ -e "$dir/pid" ] && alive "$(cat "$dir/pid")"; then
        die "a broker already runs in $dir (pid $(cat "$dir/pid"))"
    fi
    fetch
    if [ -e "$dir/ports" ]; then
        read -r port controller <"$dir/ports"
    else
        read -r port controller < <(free_ports)
        [ -n "$controller" ] || die "no free port was found"
        echo "$port $controller" >"$dir/ports"
    fi
    write_properties "$dir" "$port" "$controller" "$@"
    if [ ! -e "$dir/data/meta.properties" ]; then
        local id=${KAFKA_CLUSTER_ID:-$(java_kafka kafka.tools.StorageTool random-uuid 2>/dev/null)}
        java_kafka kafka.tools.StorageTool format -t "$id" -c "$dir/server.properties" ${KAFKA_FORMAT:-} \
            >"$dir/format.log" 2>&1 ||
            die "the storage cannot be formatted; see $dir/format.log"
    fi
    # A session of its own, so that an interrupt at the terminal does not reach the broker first.
    setsid java $jvm -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -cp "$libs/*" kafka.Kafka "$dir/server.properties" \
        >"$dir/log" 2>&1 </dev/null 9>&- &
    pid=$!
    echo "$pid" >"$dir/pid"
    local until=$((SECONDS + 150))
    local tls=
    grep -q '^listeners=.*SSL' "$dir/server.properties" && tls=tls
    until accepts "$port" $tls; do
        alive "$pid" || die "the broker ended at once; see $dir/log"
        [ $SECONDS -lt $until ] || {
            kill "$pid"
            die "the broker does not answer on 127.0.0.1:$port after 150 s; see $dir/log"
        }
        sleep 0.2
    done
    echo "127.0.0.1:$port"
}

stop() {
    local dir=$1 pid
    [ -e "$dir/pid" ] || die "no broker was started in $dir"
    pid=$(cat "$dir/pid")
    kill "$pid" 2>/dev/null
    local until=$((SECONDS + 20))
    while alive "$pid"; do
        [ $SECONDS -lt $until ] || {
            kill -9 "$pid" 2>/dev/null
            break
        }
        sleep 0.1
    done
    rm -f "$dir/pid"
}

usage() {
    die "usage: kafka.sh start DIR [property=value …] | stop DIR | fetch"
}

case ${1:-} in
start | stop)
    [ $# -ge 2 ] || usage
    "$@"
    ;;
fetch) fetch ;;
*) usage ;;
esac
