"""The tools, one module per toolset. What they return is data for the model, never instructions."""
