"""Reports on recorded traces, one file a sink: console, Markdown, JUnit, SARIF, HTML.

All are the same bytes for the same reports: nothing in them depends on the time, the machine or the
working folder. Whatever was recorded is untrusted, and is made safe once for its sink.
"""
