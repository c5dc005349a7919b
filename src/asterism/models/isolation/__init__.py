"""Foreign models in processes of their own."""
