"""A connection to one cluster, and what its API's answers mean to a person."""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KUBE_CONFIG_DEFAULT_LOCATION
from urllib3 import disable_warnings
from urllib3.exceptions import HTTPError, InsecureRequestWarning, MaxRetryError
from yaml import YAMLError

from gpubench.cluster import ClusterChoice
from gpubench.cluster.errors import ClusterError, NotFoundError

REQUEST_TIMEOUT = (5.0, 60.0)
"""Seconds to connect, and to wait for an answer."""
NOT_A_KUBECONFIG = (ConfigException, YAMLError, OSError, AttributeError, KeyError, TypeError)
"""What the client raises for files of all kinds."""
IN_A_POD = "in this pod"
NOT_INSTALLED = (
    "gpubench is not installed in this cluster (it knows no gpubench.io resources); "
    "`gpubench crd | kubectl apply --server-side -f -` or the Helm chart installs them"
)


@dataclass(frozen=True)
class Cluster:
    """A cluster, and the namespace that commands are about."""

    api: client.ApiClient
    namespace: str
    context: str
    """Name of the kubeconfig's context, for messages."""
    options: str
    """What makes `kubectl` and `gpubench` mean this cluster and namespace, too."""

    @property
    def objects(self) -> client.CustomObjectsApi:
        """The API of gpubench's own resources."""
        return client.CustomObjectsApi(self.api)

    @property
    def core(self) -> client.CoreV1Api:
        """The API of pods and namespaces."""
        return client.CoreV1Api(self.api)

    @contextmanager
    def asking(self, what: str) -> Iterator[None]:
        """Turn what goes wrong while the block asks for `what` into one clear line.

        Raises:
            NotFoundError: it is not there.
            ClusterError: the cluster cannot be reached, or does not want to.
        """
        try:
            yield
        except ApiException as error:
            raise self._meaning(error, what) from None
        except MaxRetryError as error:
            raise self._unreachable(error.reason or error) from None
        except HTTPError as error:
            raise self._unreachable(error) from None

    def _unreachable(self, reason: Exception) -> ClusterError:
        where = self.api.configuration.host
        # The innermost words: "... Failed to establish a new connection: [Errno 111] refused".
        words = re.sub(r"\[Errno -?\d+\] ", "", str(reason).rsplit(": ", 1)[-1]).rstrip("' ")
        return ClusterError(
            f"cannot reach the cluster of context {self.context} at {where}: {words}"
        )

    def _meaning(self, error: ApiException, what: str) -> ClusterError:
        status = answer_of(error)
        message = status.get("message") or error.reason or "no reason given"
        match error.status:
            case 401:
                return ClusterError(
                    f"the cluster does not accept the credentials of context {self.context}"
                )
            case 403:
                return ClusterError(f"not allowed: {message}")
            case 404 if not status:
                # Of an object that is missing the API server says so; of a whole path, nothing.
                return ClusterError(NOT_INSTALLED)
            case 404:
                return NotFoundError(f"{what}: {message}")
        return ClusterError(f"{what}: {message}")


def answer_of(error: ApiException) -> dict[str, Any]:
    """Return the Status object that the API server sent with an error, empty if it sent none."""
    try:
        status = json.loads(error.body or "")
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def connect(choice: ClusterChoice) -> Cluster:
    """Connect as kubectl would: by the kubeconfig, or by the account of the pod this runs in.

    Raises:
        ClusterError: there is no kubeconfig, or no such context in it.
    """
    # urllib3 would log every connection that it tries again; what is final is said below.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    # Whoever writes insecure-skip-tls-verify into a kubeconfig knows; kubectl says nothing either.
    disable_warnings(InsecureRequestWarning)
    path = str(choice.kubeconfig) if choice.kubeconfig else KUBE_CONFIG_DEFAULT_LOCATION
    # KUBECONFIG may name several files; those that are not there are left out.
    if not any(Path(each).expanduser().exists() for each in path.split(os.pathsep)):
        return _connect_in_pod(choice, path)
    try:
        contexts, current = config.list_kube_config_contexts(path)
    except NOT_A_KUBECONFIG as error:
        msg = f"{path}: not a kubeconfig: {' '.join(str(error).split())}"
        raise ClusterError(msg) from None
    names = [context["name"] for context in contexts]
    name = choice.context or (current or {}).get("name")
    if name not in names:
        msg = f"--context {name}: not in {path}; there are: {', '.join(names) or 'none'}"
        raise ClusterError(msg)
    chosen = next(context for context in contexts if context["name"] == name)
    try:
        api = config.new_client_from_config(config_file=path, context=name)
    except NOT_A_KUBECONFIG as error:
        msg = f"{path}: context {name} cannot be used: {error}"
        raise ClusterError(msg) from None
    namespace = choice.namespace or chosen["context"].get("namespace") or "default"
    return Cluster(api, namespace, str(name), _options(namespace, choice))


def _connect_in_pod(choice: ClusterChoice, path: str) -> Cluster:
    configuration = client.Configuration()
    msg = f"no kubeconfig at {path}; name one by --kubeconfig or KUBECONFIG"
    if choice.kubeconfig is not None or choice.context is not None:
        raise ClusterError(msg)
    try:
        config.load_incluster_config(client_configuration=configuration)
    except ConfigException:
        raise ClusterError(msg) from None
    namespace = choice.namespace or "default"
    api = client.ApiClient(configuration)
    return Cluster(api, namespace, IN_A_POD, _options(namespace, choice))


def _options(namespace: str, choice: ClusterChoice) -> str:
    words = ["-n", namespace]
    if choice.context:
        words += ["--context", choice.context]
    if choice.kubeconfig:
        words += ["--kubeconfig", str(choice.kubeconfig)]
    return shlex.join(words)
