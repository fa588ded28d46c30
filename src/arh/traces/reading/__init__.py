"""From what a user names to traces: files, documents, the format, recorded traffic."""
