"""All that imports DVC and Hydra. It takes and gives this project's own types."""
