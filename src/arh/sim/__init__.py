"""The controlled environment: clock, streams, fault proxies, simulated user."""
