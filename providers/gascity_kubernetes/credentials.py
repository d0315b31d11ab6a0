"""How to reach an API and as whom: from inside a cluster, or as a kubeconfig says.

The client library reads both and keeps a token fresh that says when it ends. What it leaves to us:
certificates are read once, into memory, so that none of its temporary files has to outlive the
reading; and a plugin that fails says so instead of leaving us nameless.

Imports `kubernetes`: only for who asks a cluster.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import urllib3
import yaml
from kubernetes import config as kube_config
from kubernetes.client import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import incluster_config

from gascity.errors import ConfigError
from gascity_kubernetes.bounded import within
from gascity_kubernetes.problems import ApiSilent
from gascity_kubernetes.settings import Settings

_CONNECTIONS = 64
KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
)
"""A peer that vanished without a word is noticed after half a minute."""


@dataclass(frozen=True, slots=True)
class Access:
    """One way to one API: its address, a pool of connections, and who we are there."""

    host: str
    pool: urllib3.PoolManager
    tls: ssl.SSLContext | None
    proxy: Mapping[str, Any]  # Any: they are options of websocket-client
    server_name: str
    _configuration: Any  # Any: the library has no types
    _asks_a_plugin: bool
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def headers(self, deadline: float) -> dict[str, str]:
        """Return who we are as headers, with a token that has not expired.

        Raises ApiSilent when a token has to be fetched and cannot be. A plugin that fetches it is
        a program that may hang, and the library waits for it without a limit: we do not.
        """
        if not self._asks_a_plugin:
            return self._headers(deadline)
        try:
            with_plugin = partial(self._headers, deadline)
            return within(deadline - time.monotonic(), with_plugin)
        except TimeoutError:
            raise ApiSilent(f"no credentials for {self.host} came in time") from None

    def _headers(self, deadline: float) -> dict[str, str]:
        if not self._reading.acquire(timeout=max(deadline - time.monotonic(), 0.001)):
            raise TimeoutError
        try:
            with _complaints(listen=self._asks_a_plugin) as said:
                token = self._configuration.get_api_key_with_prefix(
                    "BearerToken", alias="authorization"
                )
        except (kube_config.ConfigException, OSError, ValueError) as problem:
            raise ApiSilent(f"no credentials for {self.host}: {_line(problem)}") from problem
        finally:
            self._reading.release()
        if said:
            raise ApiSilent(f"no credentials for {self.host}: {said[-1]}")
        return {"authorization": token} if token else {}

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self.pool.clear()


def load_access(settings: Settings, *, timeout: float) -> Access:
    """Return the way to the API: of the cluster we run in, else of the kubeconfig.

    Raises ConfigError, in one sentence, when there is none that can be used, and ApiSilent when
    a plugin of the kubeconfig does not answer in time.
    """
    try:
        return within(timeout, lambda: _load(settings))
    except TimeoutError:
        raise ApiSilent(f"no credentials came within {timeout:g} s") from None


def _load(settings: Settings) -> Access:
    configuration = Configuration()
    with tempfile.TemporaryDirectory(prefix="gc-kube-") as folder, _complaints() as complaints:
        try:
            if is_in_cluster():
                kube_config.load_incluster_config(client_configuration=configuration)
            else:
                _read_kubeconfig(settings, configuration, folder)
            tls = _tls(configuration) if configuration.host.startswith("https") else None
        except (kube_config.ConfigException, OSError, ValueError, yaml.YAMLError) as problem:
            raise _unusable(settings, _line(problem)) from problem
        except (TypeError, AttributeError, KeyError) as problem:
            # The library believes that a kubeconfig has the form of one.
            raise _unusable(settings, "it has not the form of one") from problem
    if complaints:
        raise _unusable(settings, complaints[-1])
    return Access(
        host=configuration.host,
        pool=_pool(configuration, tls),
        tls=tls,
        proxy=_proxy(configuration),
        server_name=configuration.tls_server_name or "",
        _configuration=configuration,
        _asks_a_plugin=configuration.refresh_api_key_hook is not None and not is_in_cluster(),
    )


def is_in_cluster() -> bool:
    """Whether this process runs in a pod that was given an account."""
    return bool(os.environ.get(incluster_config.SERVICE_HOST_ENV_NAME)) and os.path.isfile(
        incluster_config.SERVICE_TOKEN_FILENAME
    )


def _read_kubeconfig(settings: Settings, configuration: Any, folder: str) -> None:  # noqa: ANN401
    path = settings.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    found = [one for one in path.split(os.pathsep) if os.path.isfile(os.path.expanduser(one))]
    if not found:
        raise ConfigError(
            f"no Kubernetes cluster is known here: there is no file {path}",
            hint="[session.kubernetes] kubeconfig or KUBECONFIG names the file that says where",
        )
    kube_config.load_kube_config(
        config_file=path,
        context=settings.context or None,
        client_configuration=configuration,
        persist_config=False,
        temp_file_path=folder,
    )


def _tls(configuration: Any) -> ssl.SSLContext:  # noqa: ANN401  the library has no types
    context = urllib3.util.create_urllib3_context()
    if configuration.verify_ssl:
        context.verify_mode = ssl.CERT_REQUIRED
        context.check_hostname = configuration.assert_hostname is not False
        if configuration.ssl_ca_cert:
            context.load_verify_locations(cafile=configuration.ssl_ca_cert)
        else:
            context.load_default_certs()
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


def _pool(configuration: Any, tls: ssl.SSLContext | None) -> urllib3.PoolManager:  # noqa: ANN401
    """Return the library's own pool, with its proxies, but with certificates from memory."""
    configuration.connection_pool_maxsize = _CONNECTIONS
    pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager
    options = pool.connection_pool_kw
    for name in ("ca_certs", "ca_cert_data", "cert_file", "key_file"):
        options.pop(name, None)
    if tls is not None:
        options["ssl_context"] = tls
    options["socket_options"] = list(KEEPALIVE)
    return pool


def _proxy(configuration: Any) -> Mapping[str, Any]:  # noqa: ANN401  the library has no types
    if not configuration.proxy:
        return {}
    from kubernetes.stream import ws_client  # noqa: PLC0415  few are behind a proxy

    options: dict[str, Any] = ws_client.websocket_proxycare(
        {}, configuration, configuration.host, None
    )
    return options


@contextlib.contextmanager
def _complaints(*, listen: bool = True) -> Iterator[list[str]]:
    """Collect what the library complains of, in this thread, to the root logger and to it alone.

    That a plugin failed is told nowhere else. Collects nothing unless it is to `listen`.
    """
    lines: list[str] = []
    if not listen:
        yield lines
        return
    thread = threading.get_ident()

    class Collect(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            if record.thread != thread or record.levelno < logging.ERROR:
                return True
            lines.append(_line(record.getMessage()))
            return False

    root, collect, handler = logging.getLogger(), Collect(), logging.NullHandler()
    root.addFilter(collect)
    root.addHandler(handler)  # a root without any would get one that prints
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.removeFilter(collect)


def _unusable(settings: Settings, why: str) -> ConfigError:
    if is_in_cluster():
        return ConfigError(f"the account of this pod cannot be used: {why}")
    of = f' with context "{settings.context}"' if settings.context else ""
    return ConfigError(f"the kubeconfig cannot be used{of}: {why}")


def _line(problem: object) -> str:
    return " ".join(str(problem).split())[:300]
