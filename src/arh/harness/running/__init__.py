"""Executes one planned run: sessions, schedule, control, watchdog."""
