"""Mutation operators: MEMO's own, those of its later version, and the older methods' ones."""
