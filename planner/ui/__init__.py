"""The pages of the app: each draws a document and computes nothing."""
