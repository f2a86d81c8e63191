#!/usr/bin/env bash
# Unpack Debian's Prometheus (with promtool) into a cache outside the checkout; print its folder.
# Unpacked, not installed, so that no service comes with it. What is on PATH is taken as it is.
#
# usage: fetch_prometheus.sh [FOLDER]    (default: ~/.cache/gpubench/prometheus)
set -euo pipefail

if installed=$(command -v prometheus) && command -v promtool >/dev/null; then
    dirname "$installed"
    exit 0
fi
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/gpubench/prometheus}
programs=$folder/usr/bin
if [[ ! -x $programs/promtool ]]; then
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || {
        echo "prometheus: not on PATH, and there is no apt to fetch Debian's with" >&2
        exit 1
    }
    mkdir -p "$folder"
    cd "$folder"
    apt-get -q -o APT::Sandbox::User=root update >&2
    apt-get -q -o APT::Sandbox::User=root download prometheus >&2
    dpkg -x prometheus_*.deb .
    rm prometheus_*.deb
fi
echo "$programs"
