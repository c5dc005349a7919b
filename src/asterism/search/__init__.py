"""Search strategies that more than one method uses."""
