"""All that is read: facts, scenarios, jobs, series, metered files, fits."""
