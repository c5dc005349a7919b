"""What people read: errors of one line, log lines and progress bars."""
