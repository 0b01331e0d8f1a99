"""What is done with saved plans: compare, plan again, export."""
