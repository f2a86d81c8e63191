"""The report's sections, one file each; `gpubench.analysis.build` puts them in order."""
