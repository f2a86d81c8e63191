"""LLM tuning: a Llama tuned by torchtune's stock recipes, measured around them.

Read `recipe.py` for the one place that knows torchtune's recipes, `config.py` for how a spec
becomes a recipe's configuration. Importing this package imports neither torch nor torchtune.
"""
