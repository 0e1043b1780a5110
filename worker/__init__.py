"""The command line, and what it puts together: settings, connection, processes."""
