"""All that knows the integer program: tables of options and fleet, the plan, its ledger."""
