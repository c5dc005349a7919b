"""Models given as files, compared in several libraries or in two versions of one."""
