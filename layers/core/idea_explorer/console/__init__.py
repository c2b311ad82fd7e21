"""The console: one small page on the API, and the rendering of reports for it."""
