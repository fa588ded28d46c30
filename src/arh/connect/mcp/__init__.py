"""The gateway served to an agent as an MCP server, over streamable HTTP and stdio."""
