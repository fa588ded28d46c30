"""Other people's agents, connected as the agent under test."""
