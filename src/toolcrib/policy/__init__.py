"""Deciding and asking: rules, approvers, trust."""
