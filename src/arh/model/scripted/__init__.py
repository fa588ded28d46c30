"""The scripted model: a script says what it answers to which conversation, and always the same."""
