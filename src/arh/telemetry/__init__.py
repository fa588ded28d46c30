"""What may leave a run, and what is told of it: redaction, spans and their export, logs."""
