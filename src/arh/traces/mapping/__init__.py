"""What the readers of all formats share: fields of an object to the steps of a trace."""
