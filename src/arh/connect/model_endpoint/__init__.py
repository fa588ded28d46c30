"""The run's model served to an agent over HTTP, in the forms of three providers."""
