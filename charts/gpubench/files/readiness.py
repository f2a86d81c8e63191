"""What `helm test` asks: whether the operator is ready, and whether it may read benchmarks.

Uses only the standard library and the pod's environment, so that it runs in the operator's image as
it is. The operator's address comes from the environment because a cluster need not have DNS.
"""

import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PATIENCE_SECONDS = 60


def wait_until_ready(url: str) -> None:
    """Ask until the answer is 200."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                print(f"{url}: {answer.status}")
                return
        except OSError as problem:
            if time.monotonic() > deadline:
                sys.exit(f"the operator is not ready: {url}: {problem}")
            time.sleep(1)


def count_benchmarks(api: str, namespace: str) -> int:
    """List benchmarks of one namespace, or of all, with the operator's account."""
    place = f"namespaces/{namespace}/" if namespace else ""
    request = urllib.request.Request(
        f"{api}/apis/gpubench.io/v1alpha1/{place}gpubenchmarks",
        headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"},
    )
    trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    try:
        with urllib.request.urlopen(request, timeout=30, context=trust) as answer:
            return len(json.load(answer)["items"])
    except urllib.error.HTTPError as problem:
        where = f"of namespace {namespace}" if namespace else "of all namespaces"
        sys.exit(f"the operator's account cannot list the benchmarks {where}: {problem}")


def main() -> None:
    """Exit 0 if all is well, else 1 with one line that says what is not."""
    variable = os.environ["OPERATOR_SERVICE"].upper().replace("-", "_")
    wait_until_ready(f"http://{os.environ[f'{variable}_SERVICE_HOST']}:8080/readyz")
    api = "https://{KUBERNETES_SERVICE_HOST}:{KUBERNETES_SERVICE_PORT}".format(**os.environ)
    for namespace in os.environ["NAMESPACES"].split() or [""]:
        print(f"{namespace or 'all namespaces'}: {count_benchmarks(api, namespace)} benchmarks")


main()
