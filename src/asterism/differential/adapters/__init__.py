"""What each library under test and each converter is to us: plug-ins, and the ways to run them."""
