"""The services behind tools: where each is reached in this run, and the credential that it gets.

An address is asked for anew with each request, because the environment may put something between:
what a handler is given is the only way in which it learns where its service is. Credentials come
from the gateway's vault, and a reply that shows one is no reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from arh.ports.sue import Endpoint
from arh.records.tools import ToolManifest
from arh.records.transactions import Service
from arh.security.credentials import CredentialVault


@final
class Services:
    """The services of one run."""

    __slots__ = ("_endpoints", "_vault")

    def __init__(self, endpoints: Mapping[str, Endpoint], vault: CredentialVault) -> None:
        """Hold what tells each service's address, by its name."""
        self._endpoints = endpoints
        self._vault = vault

    def of(self, manifest: ToolManifest) -> Service:
        """Return the service of a tool.

        Raises:
            LookupError: The tool has none.
        """
        if manifest.service is None:
            raise LookupError("this tool's manifest names no service")
        named = manifest.credential
        credential = None if named is None else self._vault.get(named)
        return Service(self._endpoints[manifest.service](), credential)

    def exposed_in(self, text: str) -> bool:
        """Return whether the text shows a credential, in any usual spelling."""
        return bool(self._vault.names_in(text))


NO_SERVICES: Final = Services({}, CredentialVault({}))
