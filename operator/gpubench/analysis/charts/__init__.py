"""What is drawn, as data; `gpubench.analysis.drawing` turns it into Vega-Lite."""
