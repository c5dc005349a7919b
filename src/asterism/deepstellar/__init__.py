"""DeepStellar: model-based coverage and fuzzing of recurrent networks.

Du, Xie, Li, Ma, Liu, Zhao: "DeepStellar: Model-Based Quantitative Analysis of Stateful Deep
Learning Systems", ESEC/FSE 2019.
"""
