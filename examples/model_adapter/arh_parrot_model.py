"""A model adapter of one's own: `--model parrot:NAME` once this folder is installed.

A real one asks a model here. This one looks up the account that the user names, and then repeats
what the user said: bad advice, in the right form.
"""

import json
import re

from arh.ports.sue import Model
from arh.records.decisions import Calls, Final, ModelReply, ModelRequest, Served, Usage
from arh.records.messages import ToolRequest
from arh.records.models import ModelSettings

ACCOUNT = re.compile(r"\bA-[0-9]{4}\b")


class Parrot:
    """One typed decision for each request; it keeps nothing between two of them."""

    def __init__(self, settings: ModelSettings) -> None:
        """Remember who is asked; a key would come from the environment, and stay here."""
        self.settings = settings

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the next decision, what it took, and who says so."""
        said = [message.content for message in request.messages if message.role == "user"]
        asked = any(message.requests for message in request.messages)
        account = ACCOUNT.search(said[-1]) if said else None
        if account and not asked:
            arguments = json.dumps({"account_id": account[0]})
            decision = Calls((ToolRequest("call-1", "get_account", arguments),))
        else:
            decision = Final(f"You said: {said[-1] if said else 'nothing'}")
        served = Served(model=self.settings.name, metered=True)
        return ModelReply(decision, Usage(10, 5), 1, self.settings.identity, served)


def make(settings: ModelSettings) -> Model:
    """Return the model that the settings name: the entry point."""
    return Parrot(settings)
