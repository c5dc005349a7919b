"""What all pages are made of: sections, components, figures, templates and the document."""
