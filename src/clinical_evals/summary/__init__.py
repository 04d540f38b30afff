"""Summaries of clinical dialogues: the rubric, its judges, and what code alone can check."""
