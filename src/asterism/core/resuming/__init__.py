"""Work that is cut into units and saved, so that a killed stage resumes."""
