#!/bin/sh
# An agent in plain shell, with no model: it follows one procedure and says what came of it.
# Run it with: arh run scenarios/support/golden/billing-incident-001.jsonl --agent "sh examples/agents/support_agent.sh"

call() { # call TOOL ARGUMENTS: asks for one call and keeps the answer in $outcome
  printf '{"type":"call","id":"%s","tool":"%s","arguments":%s}\n' "$1" "$1" "$2"
  read -r outcome
  case $outcome in *'"status":"executed"'*) ;; *) final "I could not finish: $1 failed." ;; esac
}

field() { # field NAME: the text of a field of the last outcome
  printf '%s' "$outcome" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

final() {
  printf '{"type":"final","answer":"%s"}\n' "$1"
  exit 0
}

read -r task
account=$(printf '%s' "$task" | grep -o 'A-[0-9][0-9]*' | head -n 1)

call get_account "{\"account_id\":\"$account\"}"
region=$(field region)
call check_incident_status "{\"service\":\"billing\",\"region\":\"$region\"}"
incident=$(printf '%s' "$outcome" | grep -o 'EVT-[0-9][0-9]*' | head -n 1)
[ -n "$incident" ] || final "No incident is active, so nothing was changed."
call get_policy '{"topic":"billing_remediation"}'
call create_ticket "{\"account_id\":\"$account\",\"category\":\"billing_incident\",\"proposed_action\":\"credit_review\",\"incident_ref\":\"$incident\",\"summary\":\"Charged twice during $incident.\",\"idempotency_key\":\"sh-$account-$incident\"}"
ticket=$(printf '%s' "$outcome" | grep -o 'TK-[0-9][0-9]*' | head -n 1)
final "I opened ticket $ticket for account $account and referenced incident $incident."
