#!/usr/bin/env bash
# What the tests use beside Python: Chromium, which opens the report. In CI (CI=true) it is installed
# where it is missing; on a user's machine the tests that want it are skipped and say so.
set -euo pipefail

if command -v chromium >/dev/null || command -v google-chrome >/dev/null; then
    exit 0
fi
if [[ ${CI:-} != true ]]; then
    echo "tests: no Chromium, so the tests that open a report are skipped (apt-get install chromium)"
    exit 0
fi
echo "tests: installing Chromium"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq --no-install-recommends chromium >/dev/null
