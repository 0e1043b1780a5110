"""The one process that holds the Discord connection.

Gateway events and slash commands become signals and updates (`client`, `normalise`, `admission`,
`dispatch`, `commands`); the Discord task queue is served here (`history`, `typing_sessions`,
`delivery`). It calls no model and holds the only copy of nothing: it may die at any instant.
"""
