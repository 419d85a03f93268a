"""The addresses of this broker: those it is bound to, and those it tells clients.

An advertised port 0 is the port really bound; an advertised host that is empty is this machine's
name. Binding comes first in a start: a taken port is found before anything else is touched.
"""

import errno
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Final

from broker.data_directories import StartFailed
from broker.network.listener import SocketOptions, bind
from cluster.controller.messages import Endpoint as AdvertisedEndpoint
from config.listeners import Endpoint

_REMEDIES: Final = {
    errno.EADDRINUSE: "stop the process that has it, or choose another port",
    errno.EACCES: "choose a port above 1023",
    errno.EADDRNOTAVAIL: "no interface of this machine has that address: correct the host",
}

BoundSockets = dict[str, socket.socket]


def bind_listeners(
    endpoints: Sequence[Endpoint], options: SocketOptions, key: str = "listeners"
) -> BoundSockets:
    """A listening socket for each listener, by name. Raises StartFailed, with none left open."""
    sockets: BoundSockets = {}
    for endpoint in endpoints:
        try:
            sockets[endpoint.name] = bind(endpoint.host, endpoint.port, options)
        except OSError as error:
            for sock in sockets.values():
                sock.close()
            raise bind_refusal(endpoint.address, error, key) from error
    return sockets


def bind_refusal(address: str, error: OSError, key: str) -> StartFailed:
    """One line about an address that cannot be had."""
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
    remedy = _REMEDIES.get(error.errno or 0, "correct it")
    return StartFailed(f"cannot listen on {address} ({key}): {reason}; {remedy}")


def bound_text(sock: socket.socket) -> str:
    """host:port as really bound, an IPv6 host in brackets."""
    host, port = sock.getsockname()[:2]
    return Endpoint("", host, port).address


def advertised_endpoints(
    advertised: Sequence[Endpoint], sockets: BoundSockets, protocols: Mapping[str, str]
) -> dict[str, AdvertisedEndpoint]:
    """What clients of each listener are told."""
    endpoints = {}
    for name, host, port in advertised:
        sock = sockets.get(name)
        real_port = port or (sock.getsockname()[1] if sock is not None else 0)
        protocol = protocols.get(name, name)
        endpoints[name] = AdvertisedEndpoint(host or socket.gethostname(), real_port, protocol)
    return endpoints
