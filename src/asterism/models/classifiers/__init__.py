"""Any supported model file as a classifier of images."""
