"""What loader, runner and evaluators share: assertions, effects, texts, finding rules."""
