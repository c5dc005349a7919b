"""DeepImportance (Gerasimou et al., ICSE 2020): do the tests exercise the neurons that matter?"""
