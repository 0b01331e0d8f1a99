"""Tables to fill in: the columns of each, then rows of example."""

from __future__ import annotations

TEMPLATES = {
    "sites": (
        ("Site", "Region", "Power cap (kW)", "Racks", "PUE", "Electricity price (USD/kWh)"),
        ("frankfurt", "aws/eu-central-1", "300", "20", "1.25", "0.14"),
    ),
    "fleet": (
        ("SKU", "Site", "Nodes", "In service", "Life (y)", "Paid (USD)"),
        ("h100-8", "frankfurt", "14", "2024-03-01", "6", "310000"),
    ),
    "market": (
        ("SKU", "Price (USD)", "Lead time (d)", "Supply"),
        ("b200-8", "420000", "100", "32"),
    ),
    "services": (
        (
            "Service",
            "Model",
            "Quarter",
            "Requests per day",
            "Tokens in",
            "Tokens out",
            "TTFT (s)",
            "TPOT (ms)",
        ),
        ("chat", "llama-3.1-70b", "2027 Q1", "1500000", "1200", "250", "2", "60"),
        ("chat", "llama-3.1-70b", "2027 Q2", "2000000", "1200", "250", "2", "60"),
    ),
    "regions": (
        ("Service", "Users in", "Share", "Busiest time (h)", "Latency"),
        ("chat", "Germany", "70 %", "17", "frankfurt 12 ms"),
        ("chat", "fr", "30 %", "18", ""),
    ),
    "pools": (
        ("Team", "Model", "GPU", "Quarter", "GPU hours"),
        ("fine-tuning", "llama-3-8b", "h100-8", "2027 Q1", "60000"),
        ("fine-tuning", "llama-3-8b", "h100-8", "2027 Q2", "80000"),
    ),
    "batch": (
        ("Project", "Model", "GPU", "Items per day", "Tokens in", "Tokens out", "Passes"),
        ("evaluations", "llama-3.1-8b", "h100-8", "43000", "300", "300", "24"),
    ),
    "training": (
        ("Run", "Model", "Tokens", "Earliest", "Deadline", "Nodes"),
        ("pretrain", "llama-3.1-8b", "1e12", "2027-01-01", "2027-06-30", "8, 16, 32"),
    ),
}
