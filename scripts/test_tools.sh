#!/usr/bin/env bash
# What the tests use beside Python: Chromium, which opens the report, Nsight Systems, Prometheus, and a
# Kubernetes of their own, built from pinned sources (once about a quarter of an hour). Caches are outside the
# checkout.
# In CI (CI=true) what is missing is installed, and what cannot be is a failure; on a user's machine
# the tests that want it are skipped and say so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ensure_chromium() {
    ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null || return 0
    if [[ ${CI:-} != true ]]; then
        echo "tests: no Chromium, so the tests that open a report are skipped (apt-get install chromium)"
        return 0
    fi
    echo "tests: installing Chromium"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -qq --no-install-recommends chromium >/dev/null
}

ensure_nsys() {
    scripts/fetch_nsys.sh >/dev/null && return 0
    [[ ${CI:-} != true ]] || return 1
    echo "tests: no Nsight Systems, so the tests that profile are skipped"
}

ensure_prometheus() {
    scripts/fetch_prometheus.sh >/dev/null && return 0
    [[ ${CI:-} != true ]] || return 1
    echo "tests: no Prometheus, so the tests of rules and dashboards are skipped"
}

ensure_kubernetes() {
    if [[ -n ${KUBECONFIG:-} ]]; then
        echo "tests: the tests on a cluster use $KUBECONFIG"
        return 0
    fi
    .venv/bin/python -m tests.e2e.cluster prepare || [[ ${CI:-} != true ]]
}

ensure_chromium
ensure_nsys
ensure_prometheus
ensure_kubernetes
