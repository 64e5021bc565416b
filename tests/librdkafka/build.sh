#!/bin/bash
# Fetches librdkafka's sources by cargo and builds them, with TLS and SASL, as a static library in DIR.
#
#   tests/librdkafka/build.sh DIR
#
# Several at a time wait for one another. DIR appears when all is done.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$(dirname "$1")"
dir=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
exec 9> "$dir.lock"
flock 9
[ ! -e "$dir/lib/pkgconfig/rdkafka.pc" ] || exit 0

work=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "librdkafka: cargo fetches the sources" >&2
cargo vendor -q --locked --manifest-path "$here/Cargo.toml" "$work/crates" > /dev/null
cd "$work/crates/rdkafka-sys/librdkafka"
echo "librdkafka: building, a minute or two" >&2
{
    ./configure --prefix="$dir" --enable-ssl --enable-gssapi --disable-lz4-ext \
        --disable-curl --disable-c11threads
    nice make -C src -j2
    rm -rf "$dir"
    make -C src install
    rm "$dir"/lib/*.so*
} > "$dir.log" 2>&1 || {
    tail -30 "$dir.log" >&2
    echo "librdkafka: failed; all of it is in $dir.log" >&2
    exit 1
}
