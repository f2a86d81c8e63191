"""Certificates, tokens and kubeconfigs, made anew for each cluster."""

from __future__ import annotations

import secrets
from pathlib import Path

import yaml

from tests.e2e.cluster.commands import run
from tests.e2e.cluster.layout import API_SERVER, FIRST_SERVICE_ADDRESS, NODE, NODE_ADDRESS, Layout

USERS: dict[str, tuple[str, str]] = {
    "admin": ("gpubench-admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "kube-proxy": ("system:kube-proxy", ""),
    "kubelet": (f"system:node:{NODE}", "system:nodes"),
}
"""By program: its user name and group."""

SERVER_NAMES = (
    f"IP:{NODE_ADDRESS},IP:{FIRST_SERVICE_ADDRESS},DNS:kubernetes,DNS:kubernetes.default,"
    "DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
)


def make_credentials(layout: Layout) -> None:
    """An authority, three certificates, the key of service accounts, a token for each user."""
    folder = layout.credentials
    _certificate(folder, "authority", "/CN=gpubench-cluster")
    _signed(folder, "api-server", "/CN=kube-apiserver", f"subjectAltName={SERVER_NAMES}")
    _signed(folder, "kubelet", f"/CN={NODE}", f"subjectAltName=IP:{NODE_ADDRESS},DNS:{NODE}")
    # With this one the API server calls the kubelet, for logs and exec.
    _signed(folder, "kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client")
    run("openssl", "genrsa", "-out", folder / "service-accounts.key", "2048")
    tokens = {program: secrets.token_hex(24) for program in USERS}
    lines = [
        f'{tokens[program]},{user},{number},"{group}"'
        for number, (program, (user, group)) in enumerate(USERS.items())
    ]
    (folder / "tokens.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for program, token in tokens.items():
        _write_kubeconfig(layout, kubeconfig_of(layout, program), token)


def kubeconfig_of(layout: Layout, program: str) -> Path:
    """With which configuration a program calls the API server."""
    return layout.kubeconfig if program == "admin" else layout.credentials / f"{program}.kubeconfig"


def _certificate(folder: Path, name: str, subject: str, *more: str | Path) -> None:
    run(
        *("openssl", "req", "-x509", "-nodes", "-days", "365", "-subj", subject),
        *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt", *more),
    )


def _signed(folder: Path, name: str, subject: str, *extensions: str) -> None:
    more = [part for extension in extensions for part in ("-addext", extension)]
    more += ["-addext", "basicConstraints=critical,CA:FALSE"]
    authority = ("-CA", folder / "authority.crt", "-CAkey", folder / "authority.key")
    _certificate(folder, name, subject, *authority, *more)


def _write_kubeconfig(layout: Layout, path: Path, token: str) -> None:
    authority = str(layout.credentials / "authority.crt")
    configuration = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "gpubench",
                "cluster": {"server": API_SERVER, "certificate-authority": authority},
            }
        ],
        "users": [{"name": "gpubench", "user": {"token": token}}],
        "contexts": [{"name": "gpubench", "context": {"cluster": "gpubench", "user": "gpubench"}}],
        "current-context": "gpubench",
    }
    path.write_text(yaml.safe_dump(configuration, sort_keys=False), encoding="utf-8")
    path.chmod(0o600)
